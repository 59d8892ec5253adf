"""Every recorded case shows the point that its preset claims."""

from dataclasses import replace

import pytest

from engine.cases.claims import failures
from engine.cases.opening import opening, track
from engine.errors import ConfigError
from engine.files.places import PRESETS
from engine.files.presets import get_preset, list_presets
from engine.methods import CARDS
from engine.tasks import load_problems
from engine.trace.store import Trace

CASES = [preset for preset in list_presets() if preset.kind == "case"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_recording_bears_out_the_claims(case):
    traces = [Trace.load(PRESETS / path) for path in case.traces]
    assert [t.head.method for t in traces] == [lane.method for lane in case.lanes]
    assert all(t.head.prompt == case.prompt for t in traces)
    assert failures(case, traces) == []


@pytest.mark.thorough
def test_a_threshold_set_by_hand_is_labelled():
    """A lane that was recorded with other knobs than those calibrated for its pair says both values."""
    by_hand = set()
    for case in CASES:
        for trace in (Trace.load(PRESETS / path) for path in case.traces):
            calibrated = get_preset(case.pair).calibrated.get(trace.head.rule)
            for knob, value in calibrated.knobs.items() if calibrated else ():
                if (used := trace.head.knobs[knob]) != value:
                    by_hand.add(case.name)
                    assert (
                        "threshold set by hand to" in case.point
                        and f" {used:g} nats; calibrated: {value:g}" in case.point
                    )
    assert by_hand == {"easd_helps", "easd_hurts", "all_methods"}


def test_the_case_of_all_methods_has_them_all_in_the_order_of_the_catalogue():
    """The embedded pair runs every method that needs no source; after a new one: python -m engine cases record
    all_methods."""
    runnable = [card.name for card in CARDS if card.writer != "nat"]
    assert [lane.method for lane in get_preset("all_methods").lanes] == runnable


def test_there_are_enough_cases():
    assert len(CASES) >= 8
    assert all(case.point and case.traces for case in CASES)


def test_a_claim_that_does_not_hold_is_told():
    case = next(c for c in CASES if "same" in c.expect)
    traces = [Trace.load(PRESETS / path) for path in case.traces]
    assert failures(replace(case, expect={"differ": case.expect["same"]}), traces)
    with pytest.raises(ConfigError, match="same"):
        failures(replace(case, expect={"sme": [0, 1]}), traces)


def test_a_case_that_opens_at_a_token_that_it_does_not_have_is_refused():
    case = next(c for c in CASES if "lane" in c.opens)
    traces = [Trace.load(PRESETS / path) for path in case.traces]
    found = opening(case, traces)
    assert found and found.pos == case.opens["pos"] and opening(replace(case, opens={}), traces) is None
    gone, laneless = f"{case.name}: it opens at .* which its recording does not have", f"lane of {case.name}"
    for wrong, said in (
        ({"piece": "no such word"}, gone),
        ({"pos": 9999}, gone),
        ({"lane": f"{case.opens['lane']}:9"}, laneless),
        ({"lane": "no such method"}, laneless),
    ):
        with pytest.raises(ConfigError, match=said):
            opening(replace(case, opens={**case.opens, **wrong}), traces)
    thrown = next(c for c in CASES if c.name == "first_look")  # round 0 drafts this token too, behind a rejected one
    runs = [Trace.load(PRESETS / path) for path in thrown.traces]
    assert any(node.state == "discarded" and node.depth == 2 for node in runs[1].rounds[0].nodes)
    tested = opening(replace(thrown, opens={"lane": "sd", "pos": 1, "piece": " "}), runs)
    assert tested and (tested.round, tested.fields["state"]) == (1, "accepted")
    written = next(token for token in traces[0].tokens if token.piece.strip())  # plain decoding drafts nothing
    place = opening(replace(case, opens={"lane": "ar", "pos": written.pos, "piece": written.piece}), traces)
    assert place and place.to_json() == {"lane": 0, "round": written.pos, "node": None, "pos": written.pos}


def test_a_case_opens_with_a_track_that_its_recording_has():
    case = get_preset("crossed_verb")
    traces = [Trace.load(PRESETS / path) for path in case.traces]
    assert track(case, traces) == "node.confidence" and track(replace(case, opens={}), traces) == ""
    for wrong in ("node.judge", "node.state", "node.nothing", "reason.id", "reason.none", "round.bin"):
        with pytest.raises(ConfigError, match=f"crossed_verb: it opens with the track '{wrong}'"):
            track(replace(case, opens={"track": wrong}), traces)
    found = next(
        name for event in traces[2].rounds for node in event.nodes for name in node.reason or {} if name != "id"
    )
    assert track(replace(case, opens={"track": f"reason.{found}"}), traces) == f"reason.{found}"


BY_HAND = {"copying"}  # a solved task, asked again


@pytest.mark.thorough
@pytest.mark.parametrize("case", [c for c in CASES if c.name not in BY_HAND], ids=lambda case: case.name)
def test_a_searched_prompt_is_disclosed(case):
    """A prompt that is not the first held-out problem was chosen for what it shows, and the page says so."""
    held_out = [problem.prompt for problem in load_problems(case.task, "heldout", 400)]
    number = held_out.index(case.prompt) + 1 if case.prompt in held_out else None
    if number == 1:
        assert not case.searched
    elif number is None:
        assert case.searched
    else:
        assert case.searched == f"number {number} of the held-out {case.task}"
    assert case.searched in case.told


@pytest.mark.parametrize(("name", "false"), [("first_look", {"departs": [0, 1]}), ("sd_loses", {"slower": [0, 1]})])
def test_text_and_speed_are_claimed_of_the_lane_that_has_them(name, false):
    case = next(c for c in CASES if c.name == name)
    traces = [Trace.load(PRESETS / path) for path in case.traces]
    assert failures(replace(case, expect=false), traces)
