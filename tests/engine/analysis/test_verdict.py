from typing import Any

import pytest

from engine.analysis.labels import labels
from engine.analysis.verdict import Shares, _cause, verdict, verdicts, verdicts_over, worthwhile
from engine.files.places import PRESETS
from engine.files.presets import Preset, list_presets
from engine.trace.events import RunEnded
from engine.trace.metrics import metrics
from engine.trace.store import Trace
from tests.engine.analysis.made import CAT, DOG, HAS, SAT, ar, chain, head, sd


def run(states: list[str], draft: float = 0.3, verify: float = 10.0, other: float = 0.5) -> Trace:
    """Rounds of three draft tokens with these states; `draft` ms a step."""
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
        == "SD is 3.51× faster than AR (once, cpu, float32): 4.00 tokens a target call; a draft step costs 0.03 of a call. "
        "Every draft position pays for itself, up to position 3 (accepted in 100 % of the 8 rounds with a draft)."
    )


def test_without_a_baseline_no_quotient_is_claimed() -> None:
    said = verdict(run(["aaa"] * 8))
    assert said.speedup is None and said.call_ratio is None
    assert said.line == "SD (cpu, float32): **4.00** tokens a target call; a draft step costs **0.03** of a call."
    assert said.unsaid == "no lane without a draft was run"


def test_plain_decoding_is_not_told_that_no_lane_without_a_draft_was_run() -> None:
    """It is one."""
    plain, ours = ar([1] * 8), run(["aaa"] * 8)
    for said in (verdict(plain), verdicts([plain], ["AR"])[0], verdicts([plain, ours], ["AR", "SD"])[0]):
        assert (said.speedup, said.unsaid) == (None, "it is the lane without a draft itself")


def test_acceptance_falls() -> None:
    said = verdict(run(["ard"] * 9 + ["aar"]), ar([1] * 8))  # marginals 1, 0.1, 0; a step costs 0.06 tokens
    assert (said.cause, said.worth) == ("acceptance falls", 2)
    assert said.why == (
        "Acceptance falls after position 2: position 3 is accepted in 0 % of the 10 rounds with a draft; "
        "its draft step pays from 5.5 % on."
    )
    costly = verdict(run(["ard"] * 9 + ["aar"], draft=2.0), ar([1] * 8))  # now a step costs 0.25 tokens
    assert (costly.cause, costly.worth) == ("acceptance falls", 1)
    never = verdict(run(["rdd"] * 8), ar([1] * 8))
    assert never.why.startswith("Acceptance is too low from the first position on: accepted in 0 % of the 8 rounds")
    assert never.worth == 0


def test_an_acceptance_just_below_what_pays_does_not_read_the_same() -> None:
    said = verdict(run(["aar"] * 4 + ["ard"] * 6, draft=3.55), ar([1] * 8))
    assert said.why == (
        "Acceptance falls after position 1: position 2 is accepted in 40.0 % of the 10 rounds with a draft; "
        "its draft step pays from 40.3 % on."
    )


def test_a_draft_that_is_hardly_ever_right_is_not_too_costly_but_wrong() -> None:
    """Were it free, nothing would be gained."""
    said = verdict(run(["rdd"] * 30 + ["ard"], draft=8.0), ar([1] * 8))
    assert said.cause == "acceptance falls" and said.draft_share > 0.6
    assert said.why == (
        "Acceptance is too low from the first position on: accepted in 3.2 % of the 31 rounds with a draft; "
        "its draft step pays from 24 % on."
    )
    dear = verdict(run(["rdd"] * 30 + ["ard"], draft=80.0, verify=1.0), ar([1] * 8))
    assert dear.why.endswith("its draft step pays from 34 % on.")


def test_without_times_of_target_calls_nothing_is_said_of_what_pays() -> None:
    """As in traces of others: a step of an unknown price does not pay from 0 % on."""
    said = verdict(run(["ard"] * 9 + ["aar"], verify=0.0))
    assert said.cause == "not timed" and said.cost_ratio is None
    assert said.why == "No times of the target's calls were recorded, so whether it pays is not known."
    never = verdict(run(["rdd"] * 8, verify=0.0))
    assert never.cause == "acceptance falls" and never.why.endswith("accepted in 0 % of the 8 rounds with a draft.")


def test_drafts_that_cost_nothing_and_are_hardly_ever_right_gain_little() -> None:
    """Each position earns more than its step, and all of them next to nothing: a beam search ends with such rounds."""
    said = verdict(run([*["r"] * 31, "a"], draft=0.0001))
    assert (said.cause, said.worth) == ("acceptance falls", 1)
    assert said.why == "Acceptance is too low: 1.03 tokens a target call, so even drafts without cost gain little."


def test_drafts_that_take_no_time_pay_wherever_one_is_accepted() -> None:
    said = verdict(run(["aar"] * 7 + ["aaa"], draft=0.0), ar([1] * 8))
    assert (said.cause, said.worth, said.cost_ratio) == ("pays off", 3, 0.0)
    assert said.why == (
        "Every draft position pays for itself, up to position 3 (accepted in 13 % of the 8 rounds with a draft)."
    )
    never = verdict(run(["aar"] * 8, draft=0.0), ar([1] * 8))
    assert (never.cause, never.worth) == ("acceptance falls", 2)


def test_a_draft_of_one_pass_pays_as_a_whole() -> None:
    """Its step is the pass, and no position is dearer than another, however seldom the last holds."""

    def block(states: list[str], draft: float) -> Trace:
        made = run(states, draft=draft)
        for event in made.rounds:
            event.extras["passes"] = 1
        return made

    said = verdict(block(["ard"] * 9 + ["aar"], draft=2.0), ar([1] * 8))
    assert (said.cause, said.worth) == ("pays off", 3)
    assert said.line.endswith("a draft step costs **0.60** of a call.")
    assert said.why == (
        "The draft pays for itself: one pass drafts up to 3 tokens in a row, of which 1.1 are accepted on average."
    )
    never = verdict(block(["rdd"] * 9 + ["ard"], draft=2.0), ar([1] * 8, ms=20.0))
    assert (never.cause, never.worth) == ("acceptance falls", 0)
    assert never.why == (
        "Acceptance is too low: of the up to 3 tokens in a row that one pass drafts 0.1 are accepted on average, "
        "less than the pass costs."
    )


def test_overhead() -> None:
    said = verdict(run(["aaa"] * 8, other=10.0))
    assert said.cause == "overhead-bound" and said.other_share == pytest.approx(10 / 20.9)
    assert said.why == "Overhead-bound: 48 % of its decoding time is in neither model."


def test_a_reward_model_has_a_share_of_its_own() -> None:
    def scored(other: float, reward: float, draft: float = 0.3) -> Trace:
        made = run(["aaa"] * 8, draft=draft, other=other)
        for event in made.rounds:
            event.extras["reward"], event.extras["early_ms"] = 0.9, reward
        return made

    said = verdict(scored(12.0, 10.0))
    assert said.cause == "reward model too costly"
    assert said.reward_share == pytest.approx(10 / 22.9) and said.other_share == pytest.approx(2 / 22.9)
    assert said.why == "Reward model too costly: reading 8 drafted steps takes it 44 % of the decoding time."
    assert said.line.endswith("a draft step costs **0.03** of a call; its reward model takes **44 %** of the time.")
    assert verdict(scored(12.0, 2.0)).cause == "overhead-bound"
    assert verdict(scored(12.0, 2.0)).why.endswith("44 % of its decoding time is in neither model.")
    assert verdict(scored(12.0, 10.0, draft=9.0)).cause == "draft too costly", "the larger of two costs is named"


def test_a_beam_search_is_no_speculation() -> None:
    """What its beams hold is the target's own: no position of a draft pays or does not."""
    searched = run(["aaa"] * 7 + ["ard"])
    searched.head.rule = "beams"
    for event in searched.rounds:
        event.extras["beams"] = 2
    said = verdict(searched, ar([1] * 8))
    assert (said.cause, said.cost_ratio, said.worth) == ("searched", None, 0)
    assert said.line.endswith(" tokens a target call.") and said.speedup
    assert (
        said.why == "A search, no speculation: 8 target calls for what the beams hold, 4 tokens at a time on average."
    )
    assert verdict(Trace([head(rule="beams")])).cause == "too early"


def test_draft_too_costly() -> None:
    said = verdict(run(["aar"] * 8, draft=8.0), ar([1] * 8))
    assert said.cause == "draft too costly" and said.speedup == pytest.approx(3 / 34.5 * 10)
    assert "1.15× slower than AR" in said.text
    assert said.why == "Draft too costly: it takes 70 % of the decoding time."


def test_target_call_too_costly() -> None:
    traces = run(["aar"] * 8, verify=40.0), ar([1] * 8, ms=10.0)
    said = verdict(*traces)
    assert said.cause == "target call too costly" and said.call_ratio == pytest.approx(4.0)
    assert said.why == "Target call too costly: over a draft of 3 tokens it takes as long as 4 plain ones."
    for event in traces[0].rounds:
        event.extras["beside"] = 59
    assert "over a draft of 3 tokens and a window of 59 it takes as long as 4 plain ones." in verdict(*traces).why


def test_inactive_and_plain() -> None:
    rare = run(["aaa"] + [""] * 19)
    assert verdict(rare).cause == "speculation inactive"
    assert verdict(rare).why == "Speculation inactive: 1 of its 20 target calls had a draft."
    plain = verdict(ar([1] * 8))
    assert plain.cause == "plain decoding"
    assert plain.text == "AR (cpu, float32): one token a target call. Nothing was drafted."


def test_too_early() -> None:
    said = verdict(Trace([head(dtype="torch.bfloat16", device="cuda")]))
    assert said.cause == "too early" and said.line == "SD (cuda, bfloat16): no token yet."
    few = verdict(run(["rdd"] * 7), ar([1] * 8))
    assert few.cause == "too early" and few.why == "Only 7 target calls: too few to name a cause."
    assert few.line.startswith("SD is **1.14×** slower than AR (once, "), "the ratio is told however few the rounds"


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
        "SD is as fast as AR (once, cpu, float32): 4.00 tokens"
    )


def test_the_larger_of_two_costs_is_named() -> None:
    said = verdict(run(["aar"] * 8, draft=8.0, verify=10.0, other=13.0))
    assert said.other_share > 0.25 and said.cause == "draft too costly"


def test_each_run_is_compared_with_the_first_fair_baseline() -> None:
    elsewhere = Trace([head(method="ar", title="AR", device="cuda"), *ar([1] * 8).rounds])
    ours = run(["aaa"] * 8)
    found = verdicts([elsewhere, ours, ar([1] * 8)], ["A", "B", "C"])
    assert found[1].line.startswith("B is **3.51×** faster than C (once")
    assert found[0].unsaid == "C has another device" and found[2].cause == "plain decoding"
    alone = verdicts([elsewhere, ours], ["A", "B"])[1]
    assert alone.speedup is None and alone.unsaid == "A has another device"


def test_of_many_lanes_in_turns_a_single_measurement_is_called_rough() -> None:
    lanes, names = [run(["aaa"] * 8), ar([1] * 8), run(["rdd"] * 8)], ["SD", "AR", "C"]
    for lane in lanes:
        lane.head.extras["lanes"] = 3
    said = [found.line for found in verdicts(lanes, names)]
    how = "(once, 3 lanes in turns, so only roughly, cpu, float32)"
    assert said[0].startswith(f"SD is **3.51×** faster than AR {how}: ") and f" slower than AR {how}: " in said[2]
    assert how in verdicts(lanes[:2], names[:2])[0].line, "also where two of them are opened"
    several = verdicts_over([[lane] * 2 for lane in lanes], names)[0].line
    assert "(median of 2 runs a side, " in several and "rough" not in several
    for lane in lanes:
        lane.head.extras["lanes"] = 2
    assert "(once, cpu" in verdicts(lanes, names)[0].line, "a pair disturbs no more than itself"
    for lane in lanes:
        del lane.head.extras["lanes"]
    assert "(once, cpu" in verdicts(lanes, names)[0].line, "they may have run one after another"


@pytest.mark.parametrize("case", [preset for preset in list_presets() if preset.traces], ids=lambda case: case.name)
def test_every_recorded_case_with_a_fair_baseline_states_its_ratio(case: Preset) -> None:
    traces = [Trace.load(PRESETS / path) for path in case.traces]
    plain = [trace for trace in traces if trace.head.method == "ar"]
    for trace, said in zip(traces, verdicts(traces, labels(traces)), strict=True):
        if any(event.drafted for event in trace.rounds) and plain:
            assert said.speedup is not None and ("×** " in said.line or "as fast as" in said.line), said.text


def test_without_a_baseline_the_target_call_stands_for_plain_decoding() -> None:
    """Four tokens for 11.4 ms of which the call takes 10; one token for the same gains nothing, yet no call is dear."""
    assert verdict(run(["aaa"] * 8)).cause == "pays off"
    assert verdict(run(["rdd"] * 8)).cause == "acceptance falls"
    assert verdict(run(["aar"] * 8, draft=9.0)).cause == "draft too costly"
    assert verdict(run(["aaa"] * 8), ar([1] * 8)).unsaid == ""


def test_shares_are_of_all_the_time() -> None:
    said = verdict(run(["aaa"] * 8, draft=1.0, verify=5.0, other=2.0), ar([1] * 8))
    assert (said.draft_share, said.other_share, said.reward_share) == pytest.approx((0.3, 0.2, 0.0))
    assert said.call_ratio == pytest.approx(0.5) and said.active == 1.0 and said.spread is None
    untimed = verdict(run(["aaa"] * 8, draft=0.0, verify=0.0, other=0.0))
    assert (untimed.draft_share, untimed.other_share, untimed.cause) == (0.0, 0.0, "not timed")


# a run of ten calls that pays: every number from which a cause is named, each case then moves some of them
PAYS: dict[str, Any] = {
    **{"iterations": 0, "tokens": 40, "rounds": 10, "drafted": 30, "tokens_per_s": 9.0, "cost_ratio": 0.1, "depths": 3},
    "tau": 4.0,
    **{"calls": 10, "gain": 1.5, "draft": 0.2, "reward": 0.0, "other": 0.1, "active": 1.0, "call": 1.0, "worth": 3},
}


@pytest.mark.parametrize(
    ("moved", "cause"),
    [
        ({}, "pays off"),
        ({"iterations": 1, "rounds": 0, "drafted": 0}, "written in place"),
        ({"rounds": 0, "drafted": 0, "calls": 0}, "draft alone"),
        ({"rounds": 0, "drafted": 0, "calls": 0, "tokens": 0}, "too early"),
        ({"calls": 7}, "too early"),
        ({"calls": 8}, "pays off"),
        ({"tokens_per_s": None}, "not timed"),
        ({"tokens_per_s": None, "calls": 7}, "too early"),
        ({"drafted": 0, "active": 0.0}, "plain decoding"),
        ({"active": 0.0999}, "speculation inactive"),
        ({"active": 0.1}, "pays off"),
        ({"other": 0.25}, "overhead-bound"),
        ({"other": 0.2499}, "pays off"),
        ({"other": 0.3, "draft": 0.3}, "pays off"),
        ({"reward": 0.26, "other": 0.01}, "reward model too costly"),
        ({"reward": 0.26, "other": 0.26}, "overhead-bound"),
        ({"gain": 0.9, "cost_ratio": 0.3}, "draft too costly"),
        ({"gain": 1.0, "cost_ratio": 0.3}, "pays off"),
        ({"gain": 0.8, "cost_ratio": 0.3, "call": 1.5}, "target call too costly"),
        ({"gain": 0.8, "cost_ratio": 0.3, "worth": 2}, "acceptance falls"),
        ({"tau": 1.0499}, "acceptance falls"),
        ({"tau": 1.05}, "pays off"),
        ({"gain": 0.9, "call": 1.5}, "target call too costly"),
        ({"gain": 1.0, "call": 9.0}, "pays off"),
        ({"gain": 0.9, "call": 9.0, "cost_ratio": 0.3}, "draft too costly"),
        ({"worth": 2}, "acceptance falls"),
        ({"worth": 2, "gain": 0.9, "call": 1.49, "cost_ratio": 0.29}, "acceptance falls"),
        ({"gain": 0.98}, "pays off"),
        ({"gain": 0.9799}, "draft too costly"),
        ({"gain": 0.9, "other": 0.21}, "overhead-bound"),
        ({"gain": 0.9, "other": 0.2}, "draft too costly"),
        ({"gain": 0.9, "reward": 0.21}, "reward model too costly"),
        ({"gain": 0.9, "cost_ratio": None}, "draft too costly"),
        ({"worth": 2, "cost_ratio": None}, "not timed"),
    ],
)
def test_the_cause_is_the_first_that_fits(moved: dict[str, Any], cause: str) -> None:
    at = PAYS | moved
    found = at | {"accept_by_depth": {"depth": list(range(at["depths"]))}}
    shares = Shares(at["draft"], at["reward"], 0.0, at["reward"] + at["other"])
    assert _cause(found, at["calls"], at["gain"], shares, at["active"], at["call"], at["worth"]) == cause


def test_positions_pay_that_earn_more_than_their_step() -> None:
    """Ten calls of 10 ms; a step is a tenth of a call, so at 100 tokens a second it is worth a tenth of a token."""
    found: dict[str, Any] = {"tokens_per_s": 100.0, "cost_ratio": 0.1, "verify_s": 0.1, "rounds": 10}
    found["accept_by_depth"] = {"marginal": [0.9, 0.2, 0.1, 0.5]}
    assert worthwhile(found) == 2, "the third earns what it costs, and no later one counts"
    assert worthwhile(found | {"tokens_per_s": 99.0}) == 4
    assert worthwhile(found, once=True) == 4
    together = found | {"accept_by_depth": {"marginal": [0.06, 0.04]}}
    assert worthwhile(together, once=True) == 0 and worthwhile(together | {"tokens_per_s": 99.0}, once=True) == 2
    assert worthwhile(found | {"tokens_per_s": None}) == worthwhile(found | {"cost_ratio": None}) == 0


def test_only_a_lane_that_drafted_nothing_and_changes_nothing_is_plain() -> None:
    """Which of two other lanes a run is compared with, and what is said where it is neither."""
    ours, empty, lossy = run(["aaa"] * 8), Trace([head("ar")]), ar([1] * 8, guarantee="lossy")
    names = ["SD", "A", "B"]
    assert verdicts([ours, empty, lossy], names)[0].unsaid == "no lane without a draft was run"
    assert verdicts([ours, run([""] * 7 + ["aaa"]), lossy], names)[0].unsaid == "no lane without a draft was run"
    far = [ar([1] * 8, device="cuda"), ar([1] * 8, dtype="float16")]
    assert verdicts([ours, *far], names)[0].unsaid == "A has another device", "the first that came near"
    pairs: list[list[Trace | None]] = [[ours, None], [None, ar([1] * 8)]]
    assert verdicts_over(pairs, names[:2])[0].unsaid == "A has no run beside its own"


def test_words_of_what_was_not_speculated() -> None:
    alone = verdict(run(["aaa"] * 8, draft=0.0, verify=0.0, other=0.0))
    assert (alone.cause, alone.why) == ("not timed", "No times were recorded, so whether it pays is not known.")
    untimed = verdict(run(["aaa"] * 8, draft=0.0, verify=0.0, other=0.0), ar([1] * 8))
    assert untimed.unsaid == "no times were recorded"
    assert verdict(run(["aaa"] * 8), ar([])).unsaid == "AR has no token yet"
    assert verdict(Trace([head()]), ar([1] * 8)).unsaid == "it has no token yet"
