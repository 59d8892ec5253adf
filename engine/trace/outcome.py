"""What became of one round's draft, from the nodes of a full trace or, for a light one, from what is left of it."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from engine.trace.events import Node, Round, RunEnded

ACCEPTED = ("accepted", "relaxed")
REJECTED = ("rejected", "vetoed")
CUT = ("stopped", "error")  # how a run ends that was not to end there


def whole(end: RunEnded | None) -> bool:
    """Whether a run came to its end, given the last event of its trace, if there is one: nobody stopped it, and nothing
    failed."""
    return end is not None and end.reason not in CUT


def called(event: Round) -> bool:
    """Whether the target was called; it is not where a reward model accepts a step, where the draft model writes alone,
    or where a text is written in place."""
    return event.fed > 0


def alone(event: Round) -> bool:
    """Whether the draft model wrote the round's tokens, and nobody was to check them."""
    return not event.drafted and bool(event.tokens) and all(token.origin == "draft" for token in event.tokens)


def in_place(event: Round) -> bool:
    """Whether the round is an iteration of a text that is written in place: nothing was drafted, nobody was asked."""
    return not event.drafted and not event.fed and "iteration" in event.extras


def bill(event: Round) -> None:
    """Move the time of a network that writes in place from the draft's to other time, of which `network_ms` then tells
    it: nothing is drafted. Older traces have it as the draft's; the time of the round stays what it was."""
    if in_place(event) and event.draft_ms and "network_ms" not in event.extras:
        event.extras["network_ms"] = event.draft_ms
        event.draft_ms, event.other_ms = 0.0, event.other_ms + event.draft_ms


def searched(event: Round) -> bool:
    """Whether the round is a step of a beam search: its nodes are what the beams hold, and no draft."""
    return "beams" in event.extras


def drafts(event: Round) -> int:
    """Draft tokens of the round; what beams hold is none."""
    return 0 if searched(event) else event.drafted


def kept(event: Round) -> int:
    """Draft tokens accepted; what all beams hold has settled, and nobody tested it."""
    return 0 if searched(event) else event.accepted


def beside(event: Round) -> int:
    """How many tokens the target read in the same pass that are no draft tokens (lookahead decoding's window)."""
    told = event.extras.get("beside")
    return told if isinstance(told, int) else 0


def lightly(event: Round) -> bool:
    """Whether the round's draft tokens, or the places of its canvas, were not recorded."""
    return event.canvas is None if in_place(event) else bool(event.drafted and not event.nodes)


def nodes(event: Round) -> int:
    """How many tokens the round holds besides those that it emits: of drafts, left out of them, or on a canvas."""
    return len(event.nodes) + len(event.pruned) + len(event.canvas or ())


def calls(rounds: Iterable[Round]) -> int:
    """Target calls."""
    return sum(map(called, rounds))


def tested(event: Round) -> Iterator[Node]:
    """The draft tokens that the rule looked at, none of them behind the end of the text (where older traces tell those
    that were rejected)."""
    deepest = event.emitted if _cut(event) else event.levels
    return (node for node in event.nodes if node.state != "discarded" and node.depth <= deepest)


def rejects(event: Round) -> bool:
    """Whether the walk ended at a rejected token; False where the draft held, or was cut by the run's end."""
    return event.drafted > 0 and any(token.origin == "correction" for token in event.tokens)


def rejected(event: Round) -> int | None:
    """Draft tokens rejected. Without nodes it follows for a chain (at most one), and is unknown for a tree."""
    if searched(event):
        return 0
    if event.nodes or not event.drafted:
        return sum(node.state in REJECTED for node in tested(event))
    if "reward" in event.extras:  # a step is accepted or rejected as a whole
        return event.drafted - event.accepted
    return int(rejects(event)) if event.levels == event.drafted else None


def _cut(event: Round) -> bool:
    """Whether the text ended at an accepted draft token: what the rule said of those behind it was never written."""
    return bool(event.tokens) and all(token.node is not None for token in event.tokens)


def penalised(event: Round) -> int | None:
    """Draft tokens whose entropy trigger fired (EASD), whatever became of them; None where no nodes were recorded."""
    if searched(event):
        return 0
    if event.nodes or not event.drafted:
        return sum(node.state == "vetoed" or _fired(node.reason or {}) for node in tested(event))
    return None


def _fired(reason: Mapping[str, Any]) -> bool:
    """A veto, or a test after one that barred another token than the draft token."""
    return reason.get("id") in ("veto", "threshold_veto") or bool(reason.get("fired"))


def tcr(event: Round) -> int | None:
    """Rank of the last accepted draft token by cumulative draft log-probability; 0 for none (HeteroSpec, sec. 3).

    For a chain this is the accepted length, recorded or not.
    """
    if event.tcr is not None:
        return event.tcr
    if not event.accepted or event.levels == event.drafted:
        return event.accepted
    return event.nodes[event.path[-1]].rank if event.nodes and event.path else None


def once(rounds: Iterable[Round]) -> bool:
    """Whether one pass of the drafter wrote each draft, whatever its length."""
    return any("passes" in event.extras for event in rounds)
