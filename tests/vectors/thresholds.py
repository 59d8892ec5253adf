"""Recorded nodes, knobs moved around the numbers that they are compared with, and what the declaration then says.

Of each rule's recording a few nodes are kept with the fields that its declaration reads. Expected outcomes come from Python's
evaluator; tests/static/rules.test.js asks app/static/rules.js the same. A run's first changed decision comes from
`engine.analysis.replay.what_if`, which recomputes the exact rule as well, and the page's replay must name the same node.
"""

import math
from collections.abc import Iterator
from dataclasses import asdict, fields, replace
from typing import Any as AnyType
from typing import cast

from engine.analysis.decisions import numbers
from engine.analysis.idle import asked, idle
from engine.analysis.replay import what_if
from engine.files.places import PRESETS
from engine.rules import RULES, THRESHOLDS
from engine.threshold import (
    OVERLAP_N,
    Absent,
    All,
    Any,
    Compare,
    Op,
    Recorded,
    Setting,
    Switch,
    Term,
    Threshold,
    bind,
    recorded,
    settings,
    terms,
)
from engine.trace.events import Node, Round
from engine.trace.records import Reason
from engine.trace.store import Trace, event_json
from tests.vectors import DIGITS

RUNS = {
    "entropy_veto": ("easd_helps-2-easd", "easd_hurts-2-easd"),
    "gap": ("cm_modes-1-cm_asd", "cm_modes-2-cm_asd", "translation-2-specdec"),
    "top_k": ("code-3-topk_lossy",),
    "judge": ("judge_style-2-autojudge",),
}
SWITCHES: dict[str, list[dict[str, AnyType]]] = {
    "entropy_veto": [
        {"ablation": "no_overlap"},
        {"ablation": "no_draft_entropy"},
        {"ablation": "target_entropy_only", "tau_entropy": 1.0},
        {"overlap_cmp": "gt", "tau_entropy": 0.5, "tau_overlap": 0.6},
        {"overlap_cmp": "ge", "tau_entropy": 0.5, "tau_overlap": 0.6},
        {"tau_entropy_draft": 0.3, "tau_entropy": 0.5, "tau_overlap": 0.4},
        {"entropy_temperature": 2.0},
        {"penalize": "argmax"},
    ],
    "gap": [{"threshold_mode": "text"}, {"tau_gamma": 0.0}],
    "top_k": [],
    "judge": [{"judge_threshold": -1.0}, {"judge_threshold": 1.01}],
}
MADE: dict[str, list[Node]] = {  # rules of which no case is recorded
    "typical": [
        Node(1, -1, 1, "accepted", p=0.0901, reason={"id": "typical_accept", "p": 0.0901, "threshold": 0.09, "h": 1.0}),
        Node(2, 0, 2, "rejected", p=0.09, reason={"id": "typical_reject", "p": 0.09, "threshold": 0.09, "h": 1.0}),
        Node(3, 1, 3, "rejected", p=0.01, reason={"id": "typical_reject", "p": 0.01, "threshold": 0.0149, "h": 3.0}),
        Node(4, 2, 4, "rejected", p=0.01, reason={"id": "typical_reject"}),
    ],
    "math": [
        Node(1, -1, 1, "relaxed", reason={"id": "heuristic_relaxed", "choice": 5, "found": None, "rank": 3}),
        Node(2, 0, 2, "rejected", reason={"id": "heuristic_refused", "choice": 5, "found": "7", "rank": 2}),
        Node(3, 1, 3, "accepted", reason={"id": "greedy_match", "choice": 3}),
    ],
    "reward": [
        Node(1, -1, 1, "accepted", reason={"id": "reward_accept", "reward": 0.83, "threshold": 0.7}),
        Node(2, 0, 2, "rejected", reason={"id": "reward_reject", "reward": 0.6999, "threshold": 0.7}),
        Node(3, 1, 3, "rejected", reason={"id": "reward_reject", "reward": 0.0, "threshold": 0.7}),
    ],
}
MOVES: dict[str, list[dict[str, AnyType]]] = {
    "typical": [{}, {"epsilon": 0.0899}, {"epsilon": 0.5}, {"delta": 0.2}, {"delta": 0.0}],
    "reward": [
        {},
        {"reward_threshold": 0.5},
        {"reward_threshold": 0.83},
        {"reward_threshold": 0.0},
        {"reward_threshold": 1.01},
    ],
    "math": [{}, {"math_k": 2}, {"math_k": 3}, {"math_k": 1}],
}
_A, _B = Recorded("a", field=""), Recorded("b", field="rank")
GRAMMAR = Threshold(
    "override",
    Any(
        (
            All(
                (Compare(Op("add", (_A, Setting("k"))), "<=", Op("max", (_B, 2)), tolerance=1e-9), Compare(_B, ">", 1))
            ),
            All((Absent(_A), Compare(_B, "<", 2))),
            Compare(Op("sub", (_B, Op("exp", (Setting("k"),)))), ">=", Op("known", (_A, 3)), tolerance=1e-9),
            Switch("mode", (("none", Any()), (2, Compare(_A, "<=", 0.3, tolerance=1e-9))), otherwise=All()),
        )
    ),
    says="every word of the grammar, as no rule uses them all",
)
SAMPLES = [
    Node(1, -1, 1, "rejected", rank=rank, reason=cast(Reason, {} if a is ... else {"a": a}))
    for rank in (None, 1, 4)
    for a in (..., None, 0.3 + 1e-10, 3.0, math.inf)
]
VOCAB = 1000  # of a made-up model: bounds entropies and ranks
KEPT = 8  # nodes a recording whose evaluation is written down


DECLARED = THRESHOLDS | {"grammar": GRAMMAR}


def vectors() -> dict[str, AnyType]:
    """Every declaration, and what it says of recorded and made-up nodes under moved knobs."""
    declared = {rule: threshold.to_json() for rule, threshold in DECLARED.items()}
    return {"overlap_n": OVERLAP_N, "thresholds": declared, "cases": [*_recorded(), *_made()]}


def _recorded() -> Iterator[dict[str, AnyType]]:
    for rule, names in RUNS.items():
        for name in names:
            trace = Trace.load(PRESETS / "traces" / f"{name}.jsonl.gz")
            moves = [*_moves(rule, trace), *SWITCHES[rule]]
            case = _case(rule, name, trace.head.knobs, _telling(trace), moves)
            for move in case["moves"]:
                if set(move["moved"]) <= set(settings(THRESHOLDS[rule])):
                    found = what_if(trace, THRESHOLDS[rule], **move["moved"])
                    move["first"] = [found.round, found.node] if found.changed else None
            yield case


def _made() -> Iterator[dict[str, AnyType]]:
    for rule, nodes in MADE.items():
        knobs = {knob.name: knob.default for knob in RULES[rule].KNOBS}
        yield _case(rule, f"made up for {rule}", knobs, nodes, MOVES[rule])
    moves = [{"k": k, "mode": mode} for k in (-2.7, 0.0, 0.7) for mode in ("none", 2, "else")]
    yield _case("grammar", "every word of the grammar", {"k": 0.0, "mode": "none"}, SAMPLES, moves)


def _case(
    rule: str, name: str, knobs: dict[str, AnyType], nodes: list[Node], moves: list[dict[str, AnyType]]
) -> dict[str, AnyType]:
    threshold = DECLARED[rule]
    wanted = sorted({"reason", "state", *recorded(threshold, knobs).values()} - {""})
    return {
        "rule": rule,
        "name": name,
        "knobs": {key: value for key, value in sorted(knobs.items()) if key in _knobs_of(rule, knobs)},
        "nodes": [_read_by(node, wanted) for node in nodes],
        "moves": [_expected(rule, knobs, moved, nodes) for moved in moves],
    }


def _expected(rule: str, knobs: dict[str, AnyType], moved: dict[str, AnyType], nodes: list[Node]) -> dict[str, AnyType]:
    threshold, given = DECLARED[rule], knobs | moved
    seen = [numbers(node, threshold, given) for node in nodes]
    holds = [bind(threshold.condition, given)(one) for one in seen]
    found = idle(threshold, given, asked(threshold, given, nodes), VOCAB)
    return {
        "moved": moved,
        "holds": holds,
        "terms": [_plain(t) for t in terms(threshold.condition, given, seen[0])],
        "idle": asdict(found) if found else None,
    }


def _plain(term: Term) -> dict[str, AnyType]:
    infinite = {math.inf: "Infinity", -math.inf: "-Infinity"}
    return {name: infinite.get(value, value) for name, value in asdict(term).items()}


def _knobs_of(rule: str, knobs: dict[str, AnyType]) -> set[str]:
    return {knob.name for knob in RULES[rule].KNOBS} if rule in RULES else set(knobs)


def _read_by(node: Node, wanted: list[str]) -> dict[str, AnyType]:
    """A node as a file has it, with the fields that a declaration reads."""
    (plain,) = event_json(Round(0, 0, 1, 2, 1, 0, 1, [], 0, 0, 0, nodes=[node]))["nodes"]
    return {name: value for name, value in plain.items() if name in wanted}


def _moves(rule: str, trace: Trace) -> list[dict[str, AnyType]]:
    """Each knob of the condition just at, above and below numbers that were recorded, and as it was."""
    moves: list[dict[str, AnyType]] = [{}]
    own = settings(THRESHOLDS[rule])
    sole = own[0] if len(own) == 1 else ""
    seen = [term for node in _telling(trace) for term in _terms(rule, trace, node)]
    limits = {term.knob or sole: term.name for term in seen if term.knob or sole}
    for knob in own:
        at, whole = trace.head.knobs[knob], isinstance(trace.head.knobs[knob], int)
        if knob in limits:
            values = (_value(rule, trace, node, limits[knob]) for node in _telling(trace))
            found = sorted({value for value in values if isinstance(value, float | int)})
            steps = (-1, 0, 1) if whole else (-1e-6, 0.0, 1e-12, 1e-6)
            places = sorted({found[0], found[len(found) // 2], found[-1]}) if found else []
            moves += [{knob: _exact(place + step)} for place in places for step in steps]
        else:  # part of a calculated limit, or replaced by another knob
            moves += [{knob: _exact(at * share)} for share in (0.0, 0.3, 0.8, 1.5, 4.0)]
    return moves


def _terms(rule: str, trace: Trace, node: Node) -> AnyType:
    threshold = THRESHOLDS[rule]
    return terms(threshold.condition, trace.head.knobs, numbers(node, threshold, trace.head.knobs))


def _value(rule: str, trace: Trace, node: Node, name: str) -> AnyType:
    return numbers(node, THRESHOLDS[rule], trace.head.knobs).get(name)


def _telling(trace: Trace) -> list[Node]:
    """Tested nodes, those first that were not simply accepted, some of each state."""
    tested = [node for event in trace.rounds for node in event.nodes if node.state != "discarded"]
    return [_exact(node) for node in sorted(tested, key=lambda node: node.state == "accepted")[:KEPT]]


def _exact(value: AnyType) -> AnyType:
    """With the digits that a file of vectors keeps, so that what is expected follows from what is written."""
    if isinstance(value, Node):
        return replace(value, **{one.name: _exact(getattr(value, one.name)) for one in fields(value)})
    if isinstance(value, dict):
        return {key: _exact(item) for key, item in value.items()}
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value
