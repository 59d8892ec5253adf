import pytest

from engine.analysis.verdict import verdict, worthwhile
from engine.trace.events import RunEnded
from engine.trace.metrics import metrics
from engine.trace.store import Trace
from tests.engine.analysis.made import CAT, DOG, HAS, SAT, ar, chain, head, sd


def run(states: list[str], draft: float = 0.3, verify: float = 10.0, other: float = 0.5) -> Trace:
    """Rounds of three guesses with these states; `draft` ms a step."""
    rounds, start = [], 0
    for index, letters in enumerate(states):
        event = chain(
            index, start, letters, [CAT, HAS, SAT][: len(letters)], DOG, "correction" if "r" in letters else "bonus"
        )
        event.draft_ms, event.verify_ms, event.other_ms = draft * len(letters), verify, other
        start += event.emitted
        rounds.append(event)
    return Trace([head(), *rounds, RunEnded("limit", 1.0, 1e6, "")])


def test_it_pays_off() -> None:
    said = verdict(run(["aaa"] * 8), ar([1] * 8))
    assert said.cause == "pays off" and said.speedup == pytest.approx((32 / 0.0912) / 100)
    assert (
        said.text
        == "SD is 3.5x faster than AR here (cpu, float32): 4.0 tokens a target call; a draft step costs 0.03 of one."
    )


def test_without_a_baseline_no_quotient_is_claimed() -> None:
    said = verdict(run(["aaa"] * 8))
    assert said.speedup is None and said.call_ratio is None
    assert said.text == "SD here (cpu, float32): 4.0 tokens a target call; a draft step costs 0.03 of one."


def test_acceptance_falls() -> None:
    said = verdict(run(["ard"] * 9 + ["aar"]), ar([1] * 8))  # marginals 1, 0.1, 0; a step costs 0.06 tokens
    assert (said.cause, said.worth) == ("acceptance falls", 2)
    assert said.text.endswith("; acceptance falls after position 2.")
    costly = verdict(run(["ard"] * 9 + ["aar"], draft=2.0), ar([1] * 8))  # now a step costs 0.25 tokens
    assert (costly.cause, costly.worth) == ("acceptance falls", 1)
    never = verdict(run(["rdd"] * 8), ar([1] * 8))
    assert never.text.endswith("; acceptance is too low from the first position on.") and never.worth == 0


def test_overhead() -> None:
    said = verdict(run(["aaa"] * 8, other=10.0))
    assert said.cause == "overhead-bound" and said.other_share == pytest.approx(10 / 20.9)
    assert said.text.endswith("; overhead-bound: 48% of the time is in neither model.")


def test_draft_too_costly() -> None:
    said = verdict(run(["aar"] * 8, draft=8.0), ar([1] * 8))
    assert said.cause == "draft too costly" and said.speedup == pytest.approx(3 / 34.5 * 10)
    assert "1.15x slower than AR" in said.text and said.text.endswith(
        "the draft is too costly: it takes 70% of the time."
    )


def test_target_call_too_costly() -> None:
    said = verdict(run(["aar"] * 8, verify=40.0), ar([1] * 8, ms=10.0))
    assert said.cause == "target call too costly" and said.call_ratio == pytest.approx(4.0)
    assert said.text.endswith("a target call over the draft costs 4.00 plain ones.")


def test_inactive_and_plain() -> None:
    rare = run(["aaa"] + [""] * 19)
    assert verdict(rare).cause == "speculation inactive"
    assert verdict(rare).text.endswith("speculation inactive: 5% of the calls had a draft.")
    plain = verdict(ar([1] * 8), ar([1, 2]))
    assert plain.cause == "plain decoding" and plain.text == "AR here (cpu, float32): one token a target call."


def test_too_early() -> None:
    said = verdict(Trace([head(dtype="torch.bfloat16", device="cuda")]))
    assert said.cause == "too early" and said.text == "SD here (cuda, bfloat16): no token yet."
    few = verdict(run(["rdd"] * 7))
    assert few.cause == "too early" and few.text.endswith("a draft step costs 0.03 of one.")


def test_slow_although_every_position_pays() -> None:
    said = verdict(run(["aaa"] * 8, draft=2.0, verify=10.0, other=2.0), ar([1] * 8, ms=2.0))
    assert said.cause == "target call too costly"
    same_call = verdict(run(["aaa"] * 8, draft=2.5, verify=2.0, other=1.0), ar([1] * 8, ms=2.0))
    assert same_call.cause == "draft too costly" and same_call.speedup is not None and same_call.speedup < 1


def test_worth_is_zero_when_nothing_was_timed() -> None:
    assert worthwhile(metrics(ar([1]))) == 0
    assert worthwhile(metrics(sd())) == 3


def test_even() -> None:
    assert verdict(run(["aaa"] * 8), ar([1] * 8, ms=2.85)).text.startswith(
        "SD is as fast as AR here (cpu, float32): 4.0 tokens"
    )


def test_the_larger_of_two_costs_is_named() -> None:
    said = verdict(run(["aar"] * 8, draft=8.0, verify=10.0, other=13.0))
    assert said.other_share > 0.25 and said.cause == "draft too costly"
