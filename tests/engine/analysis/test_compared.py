"""What lanes say about each other: names that differ, verdicts by key, pairs that part."""

import json
from dataclasses import asdict
from functools import cache
from typing import Any

import pytest

from engine.analysis.compared import compared
from engine.analysis.identities import identities
from engine.analysis.labels import labels, word
from engine.analysis.repeats import repeated
from engine.files.places import PRESETS
from engine.rules import THRESHOLDS
from engine.trace.events import RunEnded
from engine.trace.store import Trace
from tests.engine.analysis.made import ar, head


@cache
def load(name: str) -> Trace:
    return Trace.load(PRESETS / "traces" / f"{name}.jsonl.gz")


def recorded(*names: str) -> dict[str, Trace]:
    return {name: load(name) for name in names}


def cut(trace: Trace, rounds: int, reason: str) -> Trace:
    """The run as it stands when it ends after so many rounds."""
    kept = trace.rounds[:rounds]
    text = "".join(token.piece for event in kept for token in event.tokens)
    ms = sum(event.draft_ms + event.verify_ms + event.other_ms for event in kept)
    return Trace([trace.head, *kept, RunEnded(reason, 0.0, ms, text)])


def test_names_tell_runs_of_one_title_apart() -> None:
    first, fourth = recorded("fourth_try-0-stand", "fourth_try-1-stand").values()
    assert labels([first, fourth]) == ["STAND (trajectory 1)", "STAND (trajectory 4)"]
    assert labels([first]) == ["STAND"]
    assert labels([first, first]) == ["STAND (1)", "STAND (2)"]
    modes = recorded("cm_modes-0-ar", "cm_modes-1-cm_asd", "cm_modes-2-cm_asd")
    names = labels(list(modes.values()))
    assert (
        len(set(names)) == 3 and names[0] == "Autoregressive" and all(name.startswith("CM-ASD (") for name in names[1:])
    )


def test_lanes_are_compared_in_json_types() -> None:
    lanes = recorded("near_tie-0-ar", "near_tie-1-sd", "fourth_try-0-stand")
    found = json.loads(json.dumps(asdict(compared(lanes)), allow_nan=False))
    assert list(found["verdicts"]) == list(lanes)
    (pair,) = found["divergences"]  # the third answers another prompt
    assert pair["lanes"] == ["near_tie-0-ar", "near_tie-1-sd"] and pair["cause"] == "near-tie" and pair["pos"] == 5
    assert found["verdicts"]["fourth_try-0-stand"]["unsaid"] == (
        "Autoregressive (“English: Tomorrow the cheap …”, greedy) has another dtype"
    )


def test_a_lane_that_never_ran_is_left_out() -> None:
    (plain,) = recorded("near_tie-0-ar").values()
    assert list(compared({"plain": plain, "failed": Trace()}).verdicts) == ["plain"]


@pytest.mark.parametrize("case", ["all_methods", "crossed_canvas"])
@pytest.mark.parametrize("plain", [0, 2, 99])
@pytest.mark.parametrize("rounds", [0, 1, 2])
def test_every_method_compares_however_early_it_is_cut(case: str, rounds: int, plain: int) -> None:
    names = sorted(path.name.removesuffix(".jsonl.gz") for path in (PRESETS / "traces").glob(f"{case}-*"))
    lanes = {
        name: cut(whole, plain if whole.head.method == "ar" else rounds, "limit")
        for name, whole in recorded(*names).items()
    }
    found = json.loads(json.dumps(asdict(compared(lanes, THRESHOLDS)), allow_nan=False))
    assert list(found["verdicts"]) == [name for name, trace in lanes.items() if trace.rounds]
    assert not any(identities(cut(trace, rounds, "stopped")) for trace in lanes.values())
    again = repeated({name: [trace, trace] for name, trace in lanes.items()})
    assert not any(one.speedup and one.speedup.median == 0 for one in again.values())


def test_a_lane_without_a_token_has_no_speed() -> None:
    """A search over beams settles its first tokens after some calls."""
    plain, beam = recorded("all_methods-00-ar", "all_methods-33-beam").values()
    found = compared({"plain": plain, "beam": cut(beam, 2, "stopped")}).verdicts["beam"]
    assert (found.speedup, found.unsaid, found.cause) == (None, "it has no token yet", "too early")
    assert found.text == "Beam search (cpu, float32): no token yet. Only 2 target calls: too few to name a cause."
    against = compared({"plain": plain, "beam": cut(beam, 2, "stopped")}).verdicts["plain"]
    assert against.unsaid == "it is the lane without a draft itself"


def test_names_tell_trajectories_then_knobs_and_number_what_is_alike() -> None:
    def named(*knobs: dict[str, Any], **extras: Any) -> list[Trace]:
        return [Trace([head(knobs=given, extras=dict(extras))]) for given in knobs]

    assert labels(named({"a": 1})) == ["SD"]
    assert labels(named({"a": 1, "b": 2.0}, {"a": 1, "b": 0.25})) == ["SD (b 2)", "SD (b 0.25)"]
    assert labels(named({"a": True, "b": 1, "c": 1}, {"a": False, "b": 2, "c": 3})) == [
        "SD (a on, b 1)",
        "SD (a off, b 2)",
    ], "two knobs at most"
    three = [{"a": a, "b": b, "c": c} for a, b, c in ((1, 1, 1), (2, 1, 2), (3, 2, 2))]
    assert labels(named(*three)) == ["SD (a 1, b 1)", "SD (a 2, b 1)", "SD (a 3, b 2)"]
    assert labels(named(*three, {"a": 1, "b": 1, "c": 2}))[0] == "SD (a 1, b 1, c 1)", "more where two tell too few"
    assert labels(named({"a": 1}, {"a": 1}, {"a": 1})) == ["SD (1)", "SD (2)", "SD (3)"]
    assert labels(named({"a": 1}, {"a": 2}, {"a": 2})) == ["SD (a 1)", "SD (a 2, 1)", "SD (a 2, 2)"]
    drawn = [*named({"a": 1}, trajectory=0), *named({"a": 1}, trajectory=3), *named({"a": 1})]
    assert labels(drawn) == ["SD (trajectory 1)", "SD (trajectory 4)", "SD"]
    assert labels(named({"a": 1}, {"a": 2}, trajectory=3)) == ["SD (a 1)", "SD (a 2)"]
    assert word("text") == "text" and word(3) == "3" and word(0.5) == "0.5"
    assert word(-1) == "−1" and word(-0.5) == "−0.5" and word(1e-7) == "0.0000001" and word("a-1") == "a-1"


def test_a_run_that_goes_on_from_another_alone_says_so() -> None:
    """It was asked what the other was; as on the page (tests/static/columns.test.js)."""

    def after(*given: str) -> Trace:
        told: dict[str, Any] = {
            "prompt": "".join(("Once", *given)),
            "prompt_pieces": ["Once", *given],
            "extras": {"forced": len(given)},
        }
        return Trace([head(**told, prompt_ids=[0, *range(len(given))], max_new_tokens=8 - len(given))])

    own = Trace([head(prompt="Once")])
    assert labels([own, after(" Then")]) == ["SD", "SD (given “Then”)"]
    assert labels([own, after(" a", " Then"), after(" Then")]) == [
        "SD",
        "SD (given 2 tokens to “Then”)",
        "SD (given “Then”)",
    ]


def test_names_tell_prompts_from_where_they_part_and_targets() -> None:
    def named(**changed: Any) -> Trace:
        return Trace([head(**changed)])

    asked = [named(prompt=f"Ann has {n} apples. She sells all of them.") for n in (48, 66)]
    assert labels(asked) == ["SD (“… 48 apples. She sells all of …”)", "SD (“… 66 apples. She sells all of …”)"]
    assert labels([named(prompt="One"), named(prompt="One more")]) == ["SD (“One”)", "SD (“One more”)"]
    targets = [named(models={"target": {"id": name}}) for name in ("a/big/", "a/small")]
    assert labels(targets) == ["SD (target big)", "SD (target small)"]
    warm = {"temperature": 0.8, "top_k": 40, "top_p": 0.9}
    assert labels([named(), named(sampling={"temperature": 0.8})]) == ["SD (greedy)", "SD (temperature 0.8)"]
    assert labels([named(), named(sampling=warm)]) == ["SD (greedy)", "SD (temperature 0.8, top-p 0.9, top-k 40)"]


def test_lanes_keep_their_order_and_are_rough_only_where_they_took_turns() -> None:
    """Three lanes: two that agree, and one that writes another second token."""
    lanes = {"a": ar([1, 2, 3], title="A"), "b": ar([1, 2, 3], title="B"), "c": ar([1, 5, 3], title="C")}
    found = compared(lanes)
    assert [(pair.lanes, pair.pos, pair.tokens) for pair in found.divergences] == [
        (("a", "c"), 1, (2, 5)),
        (("b", "c"), 1, (2, 5)),
    ]
    assert found.divergences[0].text.startswith("At position 1 A has `dog`") and found.idle == {}
    assert "turns" not in found.verdicts["b"].line
    for trace in lanes.values():
        trace.head.extras["lanes"] = 3
    assert "3 lanes in turns" in compared(lanes).verdicts["b"].line
    assert "not known here" not in found.proofs["a"].decisions, "nothing was drafted"
