"""A recorded run decided again without a model: do its decisions follow, and what would other thresholds give?"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from engine.analysis import beams, blocks, canvas
from engine.analysis.decisions import Decision, acceptance, bars, decider, greedy, numbers, overlap
from engine.analysis.words import count, quoted
from engine.config import KnobValue
from engine.errors import ConfigError, shown, unknown
from engine.threshold import OVERLAP_N, Threshold, settings, taken_at, terms
from engine.trace import outcome
from engine.trace.events import Node, Round
from engine.trace.outcome import REJECTED
from engine.trace.store import Trace
from engine.trace.sums import as_trace

LARGEST = 1e300  # of a moved knob
LIMIT = 1e-6  # of a threshold that was computed from the knobs and is so again
CLOSE = 1e-6  # of two recorded numbers that must be equal; they may come from sums in another order


@dataclass(frozen=True, slots=True)
class Replay:
    """How many decisions were recomputed, how many could not be, and a sentence for each that disagrees."""

    checked: int
    unknown: int
    faults: list[str] = field(default_factory=list)
    told: str = ""  # what was recomputed from what, in words

    @property
    def agrees(self) -> bool:
        """True when nothing disagrees."""
        return not self.faults


@dataclass(frozen=True, slots=True)
class WhatIf:
    """How far a run stays the same under other thresholds. Without a change all of it does."""

    decisions: int  # unchanged ones, up to the first change
    text: str
    round: int | None = None
    node: int | None = None
    pos: int | None = None  # position in the response from which the run would differ
    was: str = ""
    now: str = ""

    @property
    def changed(self) -> bool:
        """Whether some decision would fall the other way."""
        return self.round is not None


UNDECLARED = ("exact", beams.RULE, blocks.RULE, "canvas")  # rules that are known here without a declared threshold


def replay(trace: Trace, threshold: Threshold | None) -> Replay:
    """Recompute every decision of a full trace from its recorded numbers; `threshold` is what the run's rule declares:
    `engine.rules.THRESHOLDS.get(trace.head.rule)`.

    Raises:
        ConfigError: no trace, or one that was recorded lightly and has no decisions.
    """
    as_trace(trace)
    if trace.head.rule == beams.RULE:
        return _followed(trace)
    if any(map(outcome.in_place, trace.rounds)):
        return _written(trace)
    if any(map(blocks.tested_whole, trace.rounds)):
        return _blocks(trace)
    if threshold is None and trace.head.rule not in UNDECLARED:
        return _undeclared(trace)
    checked, missing, faults = 0, 0, []
    decide = decider(trace.head, trace.head.knobs, threshold)
    for event, index, node in _tested(trace):
        decision = decide(node)
        checked, missing = checked + (decision is not None), missing + (decision is None)
        if decision is not None and decision.state != node.state:
            faults.append(f"Round {event.index}, node {index}: recorded {node.state}, recomputed {decision.state}.")
        faults += [f"Round {event.index}, node {index}: {fault}." for fault in _numbers(trace, node, threshold)]
    faults += [f"Round {event.index}: {fault}." for event in trace.rounds for fault in _emission(trace, event)]
    return Replay(checked, missing, faults, f"{count(checked, 'decision')} recomputed from the recorded numbers")


def _undeclared(trace: Trace) -> Replay:
    """A rule of which nothing is known here: it is no exact one, and no declaration says what it compares."""
    unknown = sum(1 for _ in _tested(trace))
    told = f"the rule {trace.head.rule!r} declares no threshold, so that its decisions cannot be recomputed"
    return Replay(0, unknown, [], told)


def _followed(trace: Trace) -> Replay:
    """A beam search: what the text and the next trees say of every node, and the log-probabilities compared."""
    _whole(trace)
    checked, missing, faults = 0, 0, []
    for event in trace.rounds:
        for index, (node, state) in enumerate(zip(event.nodes, beams.fates(trace, event), strict=True)):
            checked, missing = checked + (state is not None), missing + (state is None)
            if state is not None and state != node.state:
                faults.append(f"Round {event.index}, node {index}: recorded {node.state}, recomputed {state}.")
        faults += [f"Round {event.index}: {fault}." for fault in beams.faults(trace, event)]
    told = (
        f"{count(checked, 'token')} of the beams followed from round to round (settled is what was emitted, left is "
        f"what neither the text nor a beam of the next round holds), {_compared(trace)}"
    )
    return Replay(checked, missing, faults, told)


def _blocks(trace: Trace) -> Replay:
    """Chains that were tested as a whole: what every test of a round says of each of its draft tokens."""
    _whole(trace)
    checked, missing, faults = 0, 0, []
    for event in trace.rounds:
        for index, (node, state) in enumerate(zip(event.nodes, blocks.fates(event), strict=True)):
            checked, missing = checked + (state is not None), missing + (state is None)
            if state is not None and state != node.state:
                faults.append(f"Round {event.index}, node {index}: recorded {node.state}, recomputed {state}.")
        faults += [f"Round {event.index}: {fault}." for fault in blocks.faults(event)]
    told = f"{count(checked, 'decision')} recomputed from the recorded draws, block by block"
    return Replay(checked, missing, faults, told)


def _written(trace: Trace) -> Replay:
    """A text that was written in place: every canvas beside the one before, and the last beside the text."""
    _whole(trace)
    checked = canvas.compared(trace)
    told = (
        f"{count(checked, 'place')} followed from iteration to iteration (tokens change only where they are written, "
        "and the last canvas is the text); nothing was accepted or rejected"
    )
    return Replay(checked, 0, [*canvas.faults(trace)], told)


def _compared(trace: Trace) -> str:
    n = sum(map(beams.compared, trace.rounds))
    if not n:
        return "though not by which log-probabilities beams were left, for those are not in this recording"
    return f"and the log-probabilities of {count(n, 'beam')} compared with the last of each round that went on"


def what_if(trace: Trace, threshold: Threshold | None, /, **knobs: KnobValue) -> WhatIf:
    """Move the knobs that the rule compares with, up to the first decision that would change; beyond it the text
    differs. `threshold` is that of `replay`.

    Raises:
        ConfigError: a knob that is no threshold of this run, a value that is no number, no trace, or one that was
            recorded lightly.
    """
    as_trace(trace)
    movable = [name for name in (settings(threshold) if threshold else ()) if name in trace.head.knobs]
    for name, value in knobs.items():
        if name not in movable:
            raise ConfigError(unknown(f"threshold of {trace.head.method}", name, movable))
        if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= LARGEST:
            raise ConfigError(f"{name} must be a number of at most {LARGEST:g} in size, not {shown(value)}.")
    same = 0
    first, moved = (decider(trace.head, trace.head.knobs | given, threshold) for given in ({}, knobs))
    for event, index, node in _tested(trace):
        before, after = first(node), moved(node)
        if not _alike(trace, before, after, threshold):
            return _change(trace, same, event, index, before, after)
        same += 1
    return WhatIf(same, f"All {same} decisions stay as they are.")


def _whole(trace: Trace) -> None:
    if any(map(outcome.lightly, trace.rounds)):
        raise ConfigError("This trace was recorded lightly: its decisions were not kept. Record it in full.")


def _tested(trace: Trace) -> Iterator[tuple[Round, int, Node]]:
    _whole(trace)
    for event in trace.rounds:
        for index, node in enumerate(event.nodes):
            if node.state != "discarded":
                yield event, index, node


def _alike(trace: Trace, before: Decision | None, after: Decision | None, threshold: Threshold | None) -> bool:
    """Whether two decisions lead to the same text. A veto of a rejected token still moves the distribution drawn
    from."""
    if before is None or after is None or before.state != after.state:
        return before is after is None
    plain = threshold is None or (greedy(trace.head) and bars(threshold, trace.head.knobs) == "proposed")
    return plain or before.fired == after.fired


def _change(
    trace: Trace, same: int, event: Round, index: int, before: Decision | None, after: Decision | None
) -> WhatIf:
    node, was, now = event.nodes[index], _say(before), _say(after)
    pos = event.start + node.depth - 1
    piece = quoted(node.token, trace.pieces)
    text = f"{same} decisions stay; at position {pos} {piece} would be {now} instead of {was}"
    return WhatIf(same, text + ", and the text may differ from there.", event.index, index, pos, was, now)


def _say(decision: Decision | None) -> str:
    if decision is None:
        return "undecided"
    return "rejected with a penalty" if decision.fired and decision.state == "rejected" else decision.state


def _numbers(trace: Trace, node: Node, threshold: Threshold | None) -> Iterator[str]:
    """Recorded numbers that do not follow from others."""
    reason = node.reason or {}
    chance = acceptance(node)
    recorded = reason.get("ratio")
    if recorded is not None and chance is not None and abs(min(1.0, recorded) - chance) > CLOSE:
        yield f"the ratio {recorded:g} is not {chance:g}"
    if recorded is not None and node.accept_prob is not None and abs(min(1.0, recorded) - node.accept_prob) > CLOSE:
        yield f"the acceptance probability {node.accept_prob:g} is not the ratio {recorded:g}"
    if "u" in reason and node.u is not None and reason["u"] != node.u:
        yield "the draw of the decision is not the recorded one"
    yield from _limits(trace, node, threshold)
    common = overlap(node, taken_at(threshold, "overlap", trace.head.knobs, usual=OVERLAP_N))
    if common is not None and node.overlap is not None and abs(common - node.overlap) > CLOSE:
        yield f"the overlap {node.overlap:g} is not {common:g}"
    if greedy(trace.head) and node.margin is not None and node.top_target and node.p:
        margin = math.log(node.top_target[0][1] / node.p)
        if abs(margin - node.margin) > 1e-3 * max(1.0, margin):
            yield f"the margin {node.margin:g} is not {margin:g}"


def _limits(trace: Trace, node: Node, threshold: Threshold | None) -> Iterator[str]:
    """A limit that the decision wrote down, where another follows from the knobs."""
    if threshold is None:
        return
    knobs, names = trace.head.knobs, dict(threshold.limits)
    reason: dict[str, Any] = {**(node.reason or {})}
    for term in terms(threshold.condition, knobs, numbers(node, threshold, knobs)):
        told = reason.get(names.get(term.name, ""))
        if told is not None and term.limit is not None and abs(told - term.limit) > LIMIT * max(1.0, abs(term.limit)):
            yield f"the threshold {told:g} of {term.name} is not {term.limit:g}"


def _emission(trace: Trace, event: Round) -> Iterator[str]:
    """The token after a rejection, where the run is greedy and nothing was barred: the target's first choice."""
    ended = [node for node in event.nodes if node.depth == event.accepted + 1 and node.state in REJECTED]
    given = next((token.token for token in event.tokens if token.origin == "correction"), None)
    if given is None or not ended or not greedy(trace.head):
        return
    last, barred = ended[-1], any(node.state == "vetoed" for node in ended)
    if last.top_target and not barred and last.top_target[0][0] != given:
        yield f"emits {given} where the target's first choice is {last.top_target[0][0]}"
    if barred and any(node.token == given for node in ended if node.state == "vetoed"):
        yield f"emits {given}, which was vetoed"
