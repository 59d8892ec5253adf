"""Several runs a side: medians and ranges that can be checked by hand, and the verdict over all."""

import pytest

from engine.analysis.repeats import repeated, whole
from engine.trace.events import RunEnded
from engine.trace.store import Trace
from tests.engine.analysis.made import ar
from tests.engine.analysis.test_verdict import run


def plain(*ms: float) -> list[Trace]:
    return [ar([1] * 8, ms=one) for one in ms]


def failed() -> Trace:
    trace = run(["aaa"])
    trace.end = RunEnded("error", 0.0, 0.0, "", "out of memory")
    return trace


def test_median_and_range_of_each_number() -> None:
    drafted = [run(["aaa"] * 8), run(["aar"] * 8), run(["ard"] * 8)]  # 4, 3 and 2 tokens a call of 11.4 ms
    found = repeated({"ar": plain(10.0, 10.0, 20.0), "sd": drafted})["sd"]
    assert (found.runs, found.failed) == (3, 0) and found.tau is not None and found.accept_rate is not None
    assert (found.tau.median, found.tau.low, found.tau.high, found.tau.n) == (3.0, 2.0, 4.0, 3)
    assert (found.accept_rate.low, found.accept_rate.median, found.accept_rate.high) == pytest.approx((1 / 3, 2 / 3, 1))
    ratios = sorted(tokens / 11.4 * ms for tokens, ms in ((4, 10), (3, 10), (2, 20)))
    assert found.speedup is not None and found.speedup.n == 3
    assert (found.speedup.low, found.speedup.median, found.speedup.high) == pytest.approx(tuple(ratios))
    assert found.verdict is not None and found.verdict.speedup == pytest.approx(ratios[1])
    assert found.verdict.line.startswith(
        "SD is **3.51×** faster than AR (median of 3 runs a side, 2.63× to 3.51×, cpu, float32): **3.00** tokens"
    )


def test_the_verdict_tells_the_tokens_a_call_that_stand_beside_the_lane() -> None:
    """The median of 4, 4 and 2 tokens a call, not the 52 tokens of all over their 17 calls."""
    drafted = [run(["aaa"] * 4), run(["aaa"] * 5), run(["ard"] * 8)]
    found = repeated({"sd": drafted})["sd"]
    assert found.tau is not None and found.verdict is not None
    assert found.verdict.tau == found.tau.median == 4.0
    assert ": **4.00** tokens a target call" in found.verdict.line


def test_a_range_on_either_side_of_one_claims_no_gain() -> None:
    found = repeated({"ar": plain(2.0, 3.0, 4.0), "sd": [run(["aaa"] * 8)] * 3})["sd"]
    assert found.verdict is not None
    assert found.verdict.line.startswith(
        "SD has **1.05×** the speed of AR (median of 3 runs a side, 0.70× to 1.40×, so on either side of 1; cpu, float32)"
    )


def test_a_loss_is_told_as_a_loss_with_its_range_turned_round() -> None:
    found = repeated({"ar": plain(1.0, 2.0, 1.25), "sd": [run(["aaa"] * 8)] * 3})["sd"]
    assert found.verdict is not None
    assert "**2.28×** slower than AR (median of 3 runs a side, 1.43× to 2.85×" in found.verdict.line


def test_one_run_of_each_is_told_as_once() -> None:
    found = repeated({"ar": plain(10.0), "sd": [run(["aaa"] * 8)]})["sd"]
    assert found.verdict is not None and "(once, cpu" in found.verdict.line and found.verdict.spread is None
    assert found.speedup is not None and found.speedup.n == 1


def test_what_failed_counts_nowhere_nor_what_ran_beside_it() -> None:
    lanes = {
        "ar": [*plain(10.0), failed(), *plain(10.0)],
        "sd": [*[run(["aaa"] * 8)] * 2, failed()],
        "eagle": [failed()] * 3,
    }
    found = repeated(lanes)
    assert (found["sd"].runs, found["sd"].failed) == (2, 1)
    assert found["sd"].speedup is not None and found["sd"].speedup.n == 1, "its second run had a failed baseline"
    assert (found["eagle"].runs, found["eagle"].failed, found["eagle"].verdict) == (0, 3, None)
    alone = repeated({"sd": lanes["sd"]})["sd"]
    assert (
        alone.speedup is None
        and alone.verdict is not None
        and alone.verdict.unsaid == "no lane without a draft was run"
    )


def test_the_same_run_again_is_no_further_evidence_of_a_cause() -> None:
    same = repeated({"ar": plain(*[10.0] * 5), "sd": [run(["aaa"] * 2)] * 5})["sd"]
    assert same.texts == 1 and same.verdict is not None and same.verdict.cause == "too early"
    assert same.verdict.why == "Only 2 target calls: too few to name a cause."
    enough = repeated({"ar": plain(*[10.0] * 5), "sd": [run(["aaa"] * 8)] * 5})["sd"]
    assert enough.verdict is not None and enough.verdict.cause == "pays off"


def test_a_run_counts_once_it_has_rounds_and_an_end_of_its_own() -> None:
    ended = run(["aaa"])
    assert whole(ended)
    assert not whole(Trace([ended.head, *([ended.end] if ended.end else [])])), "no round"
    assert not whole(Trace([ended.head, *ended.rounds])), "no end"
    for reason, counts in (("error", False), ("stopped", False), ("limit", True), ("eos", True)):
        ended.end = RunEnded(reason, 0.0, 0.0, "")  # type: ignore[arg-type]
        assert whole(ended) is counts, reason


def test_a_number_that_no_run_has_is_none() -> None:
    found = repeated({"ar": plain(10.0, 20.0)})["ar"]
    assert found.accept_rate is None and found.speedup is None, "nothing was drafted, and there is no other lane"
    assert found.tau is not None and (found.tau.median, found.tau.n) == (1.0, 2)
    assert found.texts == 1


def test_a_speedup_of_one_run_has_no_range() -> None:
    found = repeated({"ar": plain(10.0), "sd": [run(["aaa"] * 8)]})["sd"]
    assert found.speedup is not None and found.speedup.low == found.speedup.high == found.speedup.median
    assert found.speedup.median == pytest.approx(4 / 11.4 * 10)
