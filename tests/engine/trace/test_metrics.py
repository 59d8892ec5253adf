import json
from dataclasses import replace
from typing import Any

import pytest

from engine.analysis.intervals import of_sums
from engine.analysis.names import NAMES
from engine.errors import ConfigError
from engine.files.places import PRESETS
from engine.trace.metrics import metrics, pooled
from engine.trace.store import Trace
from engine.trace.sums import Sums
from tests.engine.analysis.made import CAT, DOG, HAS, IS, LINE, SAT, ar, bush, chain, head, light, sd
from tests.typed import some

SECTION_6 = [
    "tokens",
    "rounds",
    "verify_tokens",
    "drafted",
    "accepted",
    "discarded",
    "tau",
    "accept_rate_drafted",
    "accept_rate_tested",
    "accept_by_depth",
    "accepted_histogram",
    "tcr_histogram",
    "penalised_rate",
    "prefill_s",
    "draft_s",
    "verify_s",
    "other_s",
    "tokens_per_s",
    "cost_ratio",
]


def test_counts_of_a_chain() -> None:
    found = metrics(sd())
    assert [found[name] for name in ("tokens", "rounds", "verify_tokens", "drafted")] == [7, 3, 12, 9]
    assert [found[name] for name in ("accepted", "rejected", "discarded")] == [5, 1, 3]
    assert found["tau"] == pytest.approx(7 / 3)
    assert found["accept_rate_drafted"] == pytest.approx(5 / 9)
    assert found["accept_rate_tested"] == pytest.approx(5 / 6)
    assert found["accepted_histogram"] == [0, 2, 0, 1]
    assert found["rollback_rate"] == pytest.approx(1 / 3)
    assert found["tcr_histogram"] == {"counts": [0, 2, 0, 1], "top_quarter": pytest.approx(2 / 3)}  # 1 <= 4 / 4


def test_rollbacks_are_counted_over_the_rounds_with_a_draft() -> None:
    """A plain step can roll nothing back: neither one at the beginning nor one between."""
    kept, rolled = chain(1, 1, "aa", [CAT, IS], DOG, "bonus"), chain(3, 5, "ar", [CAT, HAS], SAT)
    plain = ar([CAT, DOG, HAS, IS, LINE]).rounds
    found = metrics(Trace([head("sd"), plain[0], kept, replace(plain[4], index=2), rolled]))
    assert found["rounds"] == 4 and found["rollback_rate"] == 0.5
    assert found["accept_by_depth"]["marginal"] == [1.0, 0.5]
    assert metrics(ar([CAT, DOG]))["rollback_rate"] is None
    single = Trace([head("sd"), chain(0, 0, "r", [CAT], DOG), chain(1, 1, "a", [CAT], DOG, "bonus")])
    assert metrics(single)["rollback_rate"] == 0.5


def test_acceptance_by_depth_leaves_untested_draft_tokens_out() -> None:
    by_depth = metrics(sd())["accept_by_depth"]
    assert by_depth == {
        "depth": [1, 2, 3],
        "accepted": [3, 1, 1],
        "tested": [3, 2, 1],  # the third round ended with the run, its second draft token was never tested
        "marginal": [pytest.approx(1), pytest.approx(1 / 3), pytest.approx(1 / 3)],
        "conditional": [1.0, 0.5, 1.0],
    }


def test_a_light_chain_gives_the_same_numbers() -> None:
    full, small = metrics(sd()), metrics(light(sd()))
    unknown = {"penalised_rate", "penalised_per_tested"}
    assert {name: small[name] for name in small if name not in unknown} == {
        n: full[n] for n in full if n not in unknown
    }
    assert small["penalised_rate"] is None


def test_a_light_tree_says_what_it_cannot_know() -> None:
    found = metrics(light(bush()))
    assert [found[name] for name in ("rejected", "discarded", "accept_rate_tested")] == [None, None, None]
    assert found["accepted"] == 2
    assert found["tcr_histogram"]["top_quarter"] is None


def test_a_tree() -> None:
    found = metrics(bush())
    assert [found[name] for name in ("drafted", "accepted", "rejected", "discarded", "verify_tokens")] == [
        6,
        2,
        3,
        1,
        7,
    ]
    assert found["tcr_histogram"] == {"counts": [0, 0, 0, 1], "top_quarter": 0.0}  # 3 > 7 / 4
    assert found["accept_by_depth"]["tested"] == [1, 1, 1]
    assert found["rollback_rate"] == 1.0


def test_times() -> None:
    found = metrics(sd())
    assert found["draft_s"] == pytest.approx(0.009)
    assert found["verify_s"] == pytest.approx(0.030)
    assert found["other_s"] == pytest.approx(0.006)
    assert found["prefill_s"] == pytest.approx(0.005)
    assert found["tokens_per_s"] == pytest.approx(7 / 0.045)
    assert found["cost_ratio"] == pytest.approx(1.0 / 10.0)
    one_pass, own_tokens = sd(), sd()
    for event in one_pass.rounds:
        event.extras["passes"] = 1
    for event in own_tokens.rounds:
        event.extras["draft_tokens"] = 2 * event.levels  # of a model with a tokenizer of its own
    assert metrics(one_pass)["cost_ratio"] == pytest.approx(found["cost_ratio"] * sd().rounds[0].levels)
    assert metrics(own_tokens)["cost_ratio"] == pytest.approx(found["cost_ratio"] / 2)


def test_names_are_those_of_the_design_and_speedup_needs_a_baseline() -> None:
    found = metrics(sd())
    assert not set(SECTION_6) - set(found)
    assert "speedup" not in found
    assert set(found) <= {name.name for name in NAMES}
    assert "NaN" not in json.dumps(found)
    assert set(metrics(sd(), baseline=ar([1, 2]))) <= {name.name for name in NAMES}


def test_speedup_is_a_quotient_of_speeds() -> None:
    assert metrics(sd(), baseline=ar([1, 2, 3], ms=10.0))["speedup"] == pytest.approx((7 / 0.045) / 100)
    assert sd().metrics(baseline=ar([1], ms=10.0))["speedup"] == pytest.approx((7 / 0.045) / 100)
    assert metrics(ar([1, 2]), baseline=ar([1, 2]))["speedup"] == 1.0


def test_a_baseline_that_is_no_trace_is_told_as_given() -> None:
    with pytest.raises(ConfigError, match=r"A baseline is a trace, not 'ar\.jsonl'.*Trace\.load"):
        sd().metrics(baseline="ar.jsonl")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "changed",
    [
        {"device": "cuda"},
        {"dtype": "bfloat16"},
        {"models": {"target": {"id": "u"}}},
        {"extras": {"process": 7}},
        {"prompt_ids": [0, 0]},
        {"sampling": {"temperature": 1.0, "top_k": 0, "top_p": 1.0}},
        {"max_new_tokens": 1},
        {"stop": ["."]},
        {"record": "light"},
    ],
)
def test_a_baseline_from_elsewhere_is_refused(changed: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="another"):
        metrics(sd(), baseline=ar([1], **changed))


def test_runs_that_name_no_process_are_of_none() -> None:
    ours, theirs = sd(), ar([1], extras={"case": "first_look"})
    ours.head.extras = {"case": "first_look"}
    with pytest.raises(ConfigError, match="no known process"):
        metrics(ours, baseline=theirs)
    with pytest.raises(ConfigError, match="no known process"):
        metrics(sd(), baseline=theirs)


def test_the_lanes_of_every_recorded_case_still_compare() -> None:
    plain = sorted((PRESETS / "traces").glob("*-0-ar.jsonl.gz"))
    assert plain
    for path in plain:
        baseline = Trace.load(path)
        for lane in path.parent.glob(path.name.replace("-0-ar.jsonl.gz", "-[1-9]-*")):
            assert Trace.load(lane).metrics(baseline)["speedup"] > 0, lane.name


def test_a_speculative_baseline_is_refused() -> None:
    with pytest.raises(ConfigError, match="no baseline"):
        metrics(sd(), baseline=sd())


def test_pooling_sums_before_it_divides() -> None:
    found = pooled([sd(), bush()])
    assert found["accept_rate_drafted"] == pytest.approx(7 / 15)  # not the mean of 5/9 and 2/6
    assert found["tau"] == pytest.approx(10 / 4)
    both = pooled([sd(), sd()], [ar([1], ms=10.0), ar([1], ms=30.0)])
    own = (7 / 0.045) / 100
    assert both["speedup"] == pytest.approx(own * 2)  # the baselines make 2 tokens in 40 ms
    assert both["speedup_perprompt_mean"] == pytest.approx((own + 3 * own) / 2)


def test_pooled_speeds_are_of_the_same_prompts() -> None:
    runs, plain = [sd(), sd()], [ar([1]), ar([1], prompt_ids=[5])]
    with pytest.raises(ConfigError, match="another prompt"):
        pooled(runs, plain)
    runs[1].head.prompt_ids = [5]
    assert pooled(runs, plain)["speedup"] > 0
    runs.append(runs[1])  # two answers to one prompt
    assert "speedup_perprompt_mean" not in pooled(runs, plain)
    for traces, baselines in ((runs, plain[:1]), (runs[1:2], plain)):
        with pytest.raises(ConfigError, match="another prompt"):
            pooled(traces, baselines)
    assert pooled(runs, [])["speedup"] is None


def test_nothing_to_pool() -> None:
    with pytest.raises(ConfigError):
        pooled([])


def test_one_run_alone_is_pooled_and_what_is_none_is_told() -> None:
    assert pooled(sd()) == pooled([sd()]) == metrics(sd())
    assert pooled(sd(), ar([CAT])) == metrics(sd(), ar([CAT]))
    wrong: Any
    for wrong in (5, None, "run.jsonl", [sd(), "run.jsonl"], sd().head):
        with pytest.raises(ConfigError, match=r"A trace is wanted, not (5|None|'run.jsonl'|RunStarted.*): `Trace.load"):
            pooled(wrong)


def test_plain_decoding_and_a_run_that_has_just_begun() -> None:
    found = metrics(ar([CAT, DOG]))
    assert (found["tau"], found["drafted"], found["accept_rate_drafted"], found["cost_ratio"]) == (1.0, 0, None, None)
    assert found["accept_by_depth"]["depth"] == []
    assert found["penalised_rate"] == 0
    begun = metrics(Trace([head()]))
    assert (begun["tokens"], begun["tau"], begun["tokens_per_s"], begun["prefill_s"]) == (0, None, None, None)


def test_penalties_count_vetoes_and_triggers_that_changed_nothing() -> None:
    rounds = [chain(0, 0, "avd", [CAT, HAS, SAT], DOG), chain(1, 2, "rdd", [CAT, HAS, SAT], LINE)]
    rounds[1].nodes[0].reason = {"id": "veto"}
    found = metrics(Trace([head("easd"), *rounds]))
    assert found["penalised_rate"] == pytest.approx(100 * 2 / 3)
    assert found["penalised_per_tested"] == pytest.approx(2 / 3)
    assert found["rejected"] == 2


def test_relaxed_counts_as_accepted() -> None:
    found = metrics(Trace([head("judge"), chain(0, 0, "axr", [CAT, HAS, SAT], DOG)]))
    assert (found["accepted"], found["rejected"], found["discarded"]) == (2, 1, 0)


def test_intervals() -> None:
    each = [Sums.of_run(trace) for trace in (sd(), bush())]
    found = of_sums(each, ["a", "b"])
    assert [some(span).n for span in found.values()] == [2] * 4, "prompts, not rounds or draft tokens"
    assert some(of_sums(each, ["a", "a"])["tau"]).n == 1
    assert of_sums([Sums.of_run(light(bush()))], ["a"])["accept_rate_tested"] is None


def test_rounds_without_a_draft_do_not_lower_acceptance() -> None:
    rounds = [chain(0, 0, "aaa", [CAT, HAS, SAT], DOG, "bonus"), chain(1, 4, "", [], DOG, "target")]
    found = metrics(Trace([head(), *rounds]))
    assert found["accept_by_depth"]["marginal"] == [1.0, 1.0, 1.0]
    assert found["accepted_histogram"] == [1, 0, 0, 1]
    assert found["tcr_histogram"]["counts"] == [0, 0, 0, 1]


def test_a_run_without_a_speed_is_no_part_of_the_mean_over_prompts() -> None:
    """Of two prompts one was not timed: the mean is the other's quotient; of none that was, nothing."""
    timed, untimed, plain, idle = sd(), sd(), ar([CAT] * 4), ar([CAT] * 4)
    for event in untimed.rounds:
        event.draft_ms = event.verify_ms = event.other_ms = 0.0
    own = metrics(timed, plain)["speedup"]
    assert pooled([timed, untimed], [plain, idle])["speedup_perprompt_mean"] == pytest.approx(own)
    assert pooled([untimed, untimed], [plain, idle])["speedup_perprompt_mean"] is None
    assert "speedup_perprompt_mean" not in pooled([timed], [plain])
