"""A new threshold is one class and a card: decision, replay, what-if (here and in JavaScript), lines and sentences follow.

The three rules of this file exist nowhere else; nothing in engine/analysis or app/static knows their names, knobs or conditions.
"""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from engine.analysis.explain import why
from engine.analysis.replay import replay, what_if
from engine.config import Knob
from engine.lab import Lab
from engine.parts import ThresholdRule
from engine.rules import RULES, THRESHOLDS
from engine.threshold import All, Compare, Op, Recorded, Setting, Threshold
from engine.trace.events import Node
from engine.trace.records import Reason
from engine.trace.store import Trace, event_json
from tests.engine.toy import toy_lab


class CloseCall(ThresholdRule):
    """An override: keep a rejected token where the target is unsure and the token not far behind."""

    NAME = "close_call"
    KNOBS = (
        Knob("unsure", 1.2, "keep only where the target's entropy exceeds this", 0.0, 20.0, 0.05, "nats"),
        Knob("behind", 0.8, "keep only within this gap", 0.0, 50.0, 0.05, "nats"),
    )
    THRESHOLD = Threshold(
        "override",
        All(
            (
                Compare(Recorded("h_target"), ">", Setting("unsure")),
                Compare(Recorded("gap", field="margin"), "<=", Setting("behind")),
            )
        ),
        says="kept where the target's entropy exceeds unsure and the gap is at most behind",
    )


class Haste(ThresholdRule):
    """A veto: both models much too sure."""

    NAME = "haste"
    NEEDS = ("draft distributions",)
    KNOBS = (Knob("sure", 1.4, "veto where both entropies lie below this", 0.0, 20.0, 0.05, "nats"),)
    THRESHOLD = Threshold(
        "veto",
        All(
            (
                Compare(Recorded("h_target"), "<", Setting("sure")),
                Compare(Recorded("h_draft"), "<", Setting("sure")),
            )
        ),
        says="vetoed where both entropies lie below sure",
    )


class Slack(ThresholdRule):
    """Decides alone: a gap that may grow with the target's entropy."""

    NAME = "slack"
    KNOBS = (Knob("slack", 0.5, "allowed gap for each nat of entropy", 0.0, 20.0, 0.05),)
    THRESHOLD = Threshold(
        "decide",
        Compare(Recorded("gap", field="margin"), "<=", Op("mul", (Setting("slack"), Recorded("h_target")))),
        says="kept where the gap is at most slack times the entropy",
        exact=Compare(Recorded("rank", field=""), "<=", 1),
    )


NEW: dict[str, tuple[type[ThresholdRule], dict[str, tuple[float, ...]]]] = {
    "close_call": (CloseCall, {"unsure": (0.6, 1.3, 1.5), "behind": (0.1, 0.4, 3.0)}),
    "haste": (Haste, {"sure": (0.0, 1.2, 1.5, 5.0)}),
    "slack": (Slack, {"slack": (0.0, 0.2, 1.0, 5.0)}),
}


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name, (rule, _) in NEW.items():
        assert rule.THRESHOLD is not None
        monkeypatch.setitem(RULES, name, rule)
        monkeypatch.setitem(THRESHOLDS, name, rule.THRESHOLD)
    yield


def run(lab: Lab, name: str, temperature: float = 0.0, **knobs: Any) -> Trace:
    card = lab.compose(drafter="model", shape="chain", rule=name, **knobs)
    trace = lab.run(card, [0, 1, 2], max_new_tokens=60, temperature=temperature, seed=3)
    return Trace.loads(trace.to_bytes())


def judged(trace: Trace) -> list[Node]:
    return [node for event in trace.rounds for node in event.nodes if node.state != "discarded"]


@pytest.mark.parametrize("temperature", [0.0, 0.8])
@pytest.mark.parametrize("name", NEW)
def test_a_run_is_decided_and_replayed(name: str, temperature: float) -> None:
    trace = run(toy_lab(V=5, seed=2), name, temperature)
    found = replay(trace, THRESHOLDS[name])
    states = {node.state for node in judged(trace)}
    assert found.agrees and found.unknown == 0 and found.checked == len(judged(trace)), found.faults[:2]
    assert {"close_call": "relaxed", "haste": "vetoed", "slack": "relaxed"}[name] in states and len(states) > 1
    named = {"threshold_relaxed": "relaxed", "threshold_reject": "rejected"}
    told = [(named.get((node.reason or {}).get("id", "")), node.state) for node in judged(trace)]
    assert all(state in (None, found) for state, found in told)
    node = next(node for node in judged(trace) if node.state in ("relaxed", "vetoed"))
    node.state = "accepted" if node.state == "relaxed" else "relaxed"
    assert not replay(trace, THRESHOLDS[name]).agrees


@pytest.mark.parametrize("name", NEW)
def test_a_moved_knob_foretells_the_run(name: str) -> None:
    lab = toy_lab(V=5, seed=2)
    trace, changed = run(lab, name), 0
    for knob, places in NEW[name][1].items():
        for place in places:
            other = run(lab, name, **{knob: place})
            pairs = zip(trace.token_ids, other.token_ids, strict=False)
            seen = next((pos for pos, (a, b) in enumerate(pairs) if a != b), None)
            told = what_if(trace, THRESHOLDS[name], **{knob: place}).pos
            assert told == seen, (knob, place)
            changed += seen is not None
    assert changed


def sentences(trace: Trace) -> dict[str, str]:
    """One sentence for each state."""
    said: dict[str, str] = {}
    for event in trace.rounds:
        for node in event.nodes:
            said.setdefault(node.state, why(trace.head, event, node=node, pieces=trace.pieces, thresholds=THRESHOLDS))
    return said


def test_the_sentence_names_each_comparison_with_its_numbers() -> None:
    lab = toy_lab(V=5, seed=2)
    said = sentences(run(lab, "close_call"))
    assert re.search(
        r"^Accepted although the target prefers `\w` \(0\.\d+\): the target's entropy \(1\.\d+ nats\) exceeds 1\.2 "
        r"and `\w` is 0\.\d+ nats behind, within 0\.8\.$",
        said["relaxed"],
    ), said["relaxed"]
    assert "nats) is not above 1.2" in said["rejected"] or "nats behind, above 0.8" in said["rejected"]
    said = sentences(run(lab, "haste"))
    assert re.search(
        r"^Vetoed: both entropies \(\d\.\d+, \d\.\d+ nats\) are below 1\.4; the target's next choice `\w` is",
        said["vetoed"],
    ), said["vetoed"]
    said = sentences(run(lab, "slack"))
    limit = r"(0\.\d+), at the target's entropy (\d\.\d+) nats"
    found = re.search(rf"`\w` is \d\.\d+ nats behind, above {limit}; the target's first choice", said["rejected"])
    assert found and abs(float(found[1]) - 0.5 * float(found[2])) < 0.01, said["rejected"]
    assert re.search(rf"nats behind, within {limit}\.$", said["relaxed"]), said["relaxed"]


def test_a_rule_of_its_own_making_gets_its_sentence_too() -> None:
    """Not a ThresholdRule: it words its reasons itself, and records a number that no other rule has."""

    mood = Threshold("decide", Compare(Recorded("mood"), ">=", Setting("calm")), says="kept when calm")
    trace = run(toy_lab(V=5, seed=2), "slack")
    trace.head.rule, trace.head.knobs = "mood", {"calm": 0.5}
    node = trace.rounds[0].nodes[0]
    node.state, node.reason = "rejected", cast(Reason, {"id": "mood_bad", "mood": 0.2})
    assert (
        why(trace.head, trace.rounds[0], node=node, thresholds={"mood": mood}) == "Rejected: mood (0.20) is below 0.5."
    )


SCRIPT = """
import { readFileSync } from "node:fs";
import { createStore } from "./app/static/store.js";
import { knobsOf, linesOf, movable, replay } from "./app/static/thresholds.js";
const { lane, moves, rows } = JSON.parse(readFileSync(0, "utf-8"));
const store = createStore();
store.load([lane]);
const run = store.runs.get(lane.key);
const firsts = moves.map((moved) => replay(run, { ...knobsOf(run), ...moved }).changed?.pos ?? null);
console.log(JSON.stringify({ firsts, lines: rows.map((row) => linesOf(run, row)), movable: movable(run) }));
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
@pytest.mark.parametrize("name", NEW)
def test_the_page_follows_without_a_line_of_javascript(name: str) -> None:
    lab = toy_lab(V=5, seed=2)
    trace = run(lab, name)
    card = lab.compose(drafter="model", shape="chain", rule=name).to_json()
    moves = [{knob: place} for knob, places in NEW[name][1].items() for place in places]
    rows = ["entropy", "gap"]
    lane = {"key": name, "card": card, "events": [event_json(event) for event in trace.events]}
    done = subprocess.run(
        ["node", "--input-type=module", "-e", SCRIPT],
        input=json.dumps({"lane": lane, "moves": moves, "rows": rows}),
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[3],
        timeout=60,
    )
    told = json.loads(done.stdout)
    assert told["firsts"] == [what_if(trace, THRESHOLDS[name], **moved).pos for moved in moves]
    assert told["movable"] == [knob.name for knob in RULES[name].KNOBS]
    lines = {
        "close_call": [[{"knob": "unsure", "value": 1.2}], [{"knob": "behind", "value": 0.8}]],
        "haste": [[{"knob": "sure", "value": 1.4}], []],
        "slack": [[], []],  # the limit is another one at each token
    }
    assert told["lines"] == lines[name]


def test_a_rule_without_distributions_to_compare_is_refused() -> None:
    with pytest.raises(Exception, match="drafter 'pld' has none"):
        toy_lab().compose(drafter="pld", shape="chain", rule="haste")


def test_a_declaration_of_an_unknown_number_is_refused() -> None:
    class Odd(ThresholdRule):
        NAME, KNOBS = "odd", ()
        THRESHOLD = Threshold("decide", Compare(Recorded("mood"), ">", 1), says="kept in a good mood")

    with pytest.raises(TypeError, match="mood"):
        Odd(None, {})  # type: ignore[arg-type]
