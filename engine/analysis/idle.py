"""A threshold that lies beyond every number it is compared with: the rule then changes nothing, and that is said.

Derived from the declaration: a comparison that must hold is set against the extremes of the recorded numbers, or
against what such a number can be at all. app/static/idle.js computes the same under moved knobs; tests/vectors hold the
two together.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from engine.analysis.comparisons import NAMES
from engine.analysis.decisions import greedy, numbers
from engine.analysis.words import count, number, setting
from engine.config import KnobValue
from engine.threshold import (
    Absent,
    All,
    Any,
    Compare,
    Condition,
    Switch,
    Term,
    Threshold,
    bind,
    chosen,
    term,
)
from engine.trace.events import Node
from engine.trace.store import Trace

Knobs = Mapping[str, KnobValue]
ASKS = {">": "more than", ">=": "at least", "<": "less than", "<=": "at most"}
SHARES = ("overlap", "p", "q", "score", "confidence", "reward")
ENTROPIES = ("h", "h_draft", "h_target")


@dataclass(frozen=True, slots=True)
class Idle:
    """A comparison that the condition cannot do without, and that cannot hold."""

    name: str  # of the recorded number
    sign: str
    limit: float
    knob: str  # the knob that is the limit; empty where there is none
    extreme: float  # the number that comes closest: the largest for > and >=, else the smallest
    asked: int  # tested nodes that have the number; 0 where `extreme` is the end of what the number can be at all


def idle(threshold: Threshold, knobs: Knobs, nodes: Iterable[Node], vocab: int) -> Idle | None:
    """The first comparison that no node meets, or that none can; None where the condition may hold.

    `nodes` are those that the condition decides on, see `asked`.
    """
    seen = [numbers(node, threshold, knobs) for node in nodes]
    for one in necessary(threshold.condition, knobs):
        fixed = term(one, knobs, {})
        end = possible(fixed.name, one.sign, vocab)
        if end is not None and fixed.limit is not None and not _holds(one, end, fixed.limit):
            return Idle(fixed.name, one.sign, fixed.limit, fixed.knob, end, 0)
        found = [term(one, knobs, given) for given in seen]
        found = [t for t in found if t.name and t.value is not None and t.limit is not None]
        if found and not any(t.holds for t in found) and (limit := _same(found)) is not None:
            values = [t.value for t in found if t.value is not None]
            extreme = max(values) if one.sign in (">", ">=") else min(values)
            return Idle(found[0].name, one.sign, limit, found[0].knob, extreme, len(found))
    return None


def asked(threshold: Threshold, knobs: Knobs, nodes: Iterable[Node]) -> Iterator[Node]:
    """The tested nodes whose fate the condition decides: for an override those that the exact rule rejects, for a rule
    that decides alone those that are no exact match."""
    exact = bind(threshold.exact, knobs)
    plain = threshold.exact == All()
    for node in nodes:
        if node.state == "discarded" or (threshold.effect == "override" and node.state == "accepted"):
            continue
        if threshold.effect != "decide" or plain or exact(numbers(node, threshold, knobs)) is not True:
            yield node


def necessary(condition: Condition, knobs: Knobs) -> Iterator[Compare]:
    """The comparisons that must all hold for the condition to hold."""
    while isinstance(condition, Switch):
        condition = chosen(condition, knobs)
    if isinstance(condition, Compare):
        yield condition
    elif isinstance(condition, All) or (isinstance(condition, Any) and len(condition.parts) == 1):
        for part in condition.parts:
            yield from necessary(part, knobs)
    else:
        assert isinstance(condition, Absent | Any)


def possible(name: str, sign: str, vocab: int) -> float | None:
    """The largest (for > and >=) or the smallest that such a number can be; None where nothing bounds it."""
    upper = sign in (">", ">=")
    if name in SHARES:
        return 1.0 if upper else 0.0
    if name in ENTROPIES:
        return math.log(vocab) if upper else 0.0
    if name == "rank":
        return float(vocab) if upper else 1.0
    return 0.0 if name == "gap" and not upper else None


def said(trace: Trace, threshold: Threshold | None) -> str:
    """That the rule of a full trace cannot fire, with the numbers; empty where it may, or where nothing is known."""
    if threshold is None or (threshold.sampled_only and greedy(trace.head)):
        return ""
    knobs = trace.head.knobs
    nodes = asked(threshold, knobs, (node for event in trace.rounds for node in event.nodes))
    found = idle(threshold, knobs, nodes, trace.head.vocab)
    return sentence(found, threshold) if found else ""


def sentence(found: Idle, threshold: Threshold) -> str:
    """Which line no number reaches, and what follows."""
    name, unit = NAMES.get(found.name, (found.name, ""))
    bound = "at most" if found.sign in (">", ">=") else "at least"
    where = f"at the {count(found.asked, 'tested draft token')}" if found.asked else "in any text"
    so = {
        "veto": "nothing is vetoed",
        "override": "no rejected draft token is accepted",
        "decide": "nothing is accepted" if threshold.exact == All() else "only exact matches are accepted",
    }[threshold.effect]
    asks = f"{found.knob or 'the rule'} asks for {ASKS[found.sign]} {setting(found.limit)}"
    extreme = f"{number(found.extreme, found.limit)}{unit}"
    here = " here" if found.asked else ""
    return f"The threshold cannot fire{here}: {name} is {bound} {extreme} {where}, and {asks}, so {so}."


def _holds(one: Compare, left: float, right: float) -> bool:
    return bool(bind(Compare(left, one.sign, right, one.tolerance), {})({}))


def _same(found: list[Term]) -> float | None:
    limits = {one.limit for one in found}
    return limits.pop() if len(limits) == 1 else None
