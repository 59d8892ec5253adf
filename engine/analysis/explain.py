"""Why a draft token was accepted or rejected, or where a token came from, in the terms of the rule in force."""

import operator
from collections.abc import Mapping

from engine.analysis.canvas import cell_words, iteration_words
from engine.analysis.comparisons import comparisons
from engine.analysis.decisions import greedy
from engine.analysis.reasons import SENTENCES, by_threshold
from engine.analysis.scene import Scene, share
from engine.analysis.words import Pieces, count, number, quoted
from engine.errors import ConfigError, shown
from engine.threshold import Threshold
from engine.trace import outcome
from engine.trace.events import Node, Round, RunStarted, Token


def why(
    head: RunStarted,
    event: Round,
    node: int | Node | None = None,
    token: int | Token | None = None,
    pieces: Mapping[int, str] | None = None,
    thresholds: Mapping[str, Threshold] | None = None,
) -> str:
    """The sentence for a node (itself or its index in the round), a token (itself or its position), or the round.
    Where a text is written in place, a node's index is that of a place of the canvas.

    `pieces` gives the text of ids that earlier rounds mentioned; the round's own come on top. `thresholds`
    gives what rules declare, by the rule's name (`engine.rules.THRESHOLDS`); a sentence about a threshold names the
    comparisons from there.

    Raises:
        IndexError: the round has no such node or position. ConfigError: no head or round of a trace.
    """
    if not isinstance(head, RunStarted) or not isinstance(event, Round):
        wrong = event if isinstance(head, RunStarted) else head
        raise ConfigError(
            f"A sentence is about the head of a trace and one of its rounds, `trace.head` and `trace.rounds[0]`, not "
            f"{shown(wrong)}."
        )
    known, declared = _Texts(event, pieces or {}), (thresholds or {}).get(head.rule)
    if isinstance(node, int) and event.canvas is not None:
        return cell_words(event, node, known)
    if node is not None:
        index = event.nodes.index(node) if isinstance(node, Node) else _place(node, 0, len(event.nodes), "node")
        return _node(Scene(head, event, index, known, declared))
    if token is not None:
        first, emitted = event.start, event.tokens
        one = token if isinstance(token, Token) else emitted[_place(token, first, len(emitted), "position") - first]
        return _token(head, event, one, known, declared)
    return " ".join(filter(None, (_round(event), _beside(event), _adapted(head, event))))


def _place(given: object, first: int, count: int, what: str) -> int:
    """A node's index or a token's position, of those that the round has.

    Raises:
        IndexError: it has no such one.
    """
    try:
        place = operator.index(given)  # type: ignore[arg-type]
    except TypeError:
        place = -1
    if not first <= place < first + count:
        has = f"from {first} to {first + count - 1}" if count else "none"
        raise IndexError(f"The round has no {what} {shown(given)}: it has {has}.")
    return place


def _beside(event: Round) -> str:
    """What the target read besides the draft."""
    read = outcome.beside(event)
    return f"In the same pass it read a window of {count(read, 'token')}, of which no rule decides." if read else ""


def _adapted(head: RunStarted, event: Round) -> str:
    """What of the draft's shape the model made another."""
    return head.extras.get("adapted", "") if event.drafted else ""


def _node(scene: Scene) -> str:
    node = scene.node
    kind = str((node.reason or {}).get("id", ""))
    if node.state == "discarded" and kind not in ("untested", "beam_open", "block_behind"):
        if kind:  # it was tested and held, but the response had ended before it
            return f"Dropped: {scene.piece} was checked, but the response ends before it."
        kind = "untested"
    return SENTENCES.get(kind, by_threshold)(scene) + _barred(scene) + _mapped(scene)


def _barred(scene: Scene) -> str:
    """That a veto removed another token than the draft token before that was tested."""
    if not scene.reason.get("fired"):
        return ""
    token, said = scene.reason.get("remove"), comparisons(scene)
    if not isinstance(token, int):
        return ""
    return f" Before that a veto barred {scene.quote(token)}, the draft's first choice{f': {said}' if said else ''}."


def _mapped(scene: Scene) -> str:
    """That a draft model with another tokenizer drafted it, and how much of its distribution the target can read."""
    common = (scene.node.source or {}).get("common")
    if common is None:
        return ""
    return f" Its draft model has another tokenizer: {number(common)} of its distribution is on pieces that both have."


class _Texts:
    """Texts of ids: the round's own, then those of earlier rounds. Nothing is copied, for this is asked at every
    draft token."""

    def __init__(self, event: Round, earlier: Mapping[int, str]) -> None:
        self._event, self._earlier = event, earlier

    def get(self, token: int, /) -> str | None:
        """The text, None where no round gave it."""
        found = self._event.pieces.get(str(token), self._earlier.get(token))
        return (
            found if found is not None else next((one.piece for one in self._event.tokens if one.token == token), None)
        )


def _token(head: RunStarted, event: Round, token: Token, pieces: Pieces, declared: Threshold | None) -> str:
    own = quoted(token.token, pieces)
    given = share(token.top_target, token.token)
    if token.origin == "placed":
        return _placed(event, token, own, pieces)
    if token.node is not None and token.node < len(event.nodes):
        return _node(Scene(head, event, token.node, pieces, declared))
    if token.origin == "bonus":
        one = event.accepted == 1
        path = "the draft token was" if one else f"all {event.accepted} draft tokens on the path were"
        return f"Bonus: {own}{given} comes from the same target call, since {path} accepted.{_chosen(event)}"
    if token.origin == "correction":
        guilty = _refused(event)
        if guilty is not None:
            return f"Correction: {own}{given}. " + _node(Scene(head, event, guilty, pieces, declared))
        return f"Correction: {own}{given} replaces a draft token that the rule rejected."
    if token.origin == "target":
        way = "first choice" if greedy(head) else "own draw"
        why_not = "nothing was drafted" if event.drafted == 0 else "no draft token stands here"
        return f"Not drafted: {own}{given} is the target's {way}; {why_not}."
    if token.origin == "draft" and event.drafted == 0:
        return f"Written by the draft model alone: no target looked at {own}."
    verb = "accepted by a lossy rule" if token.origin == "relaxed" else "accepted"
    return f"Drafted: {own} was proposed and {verb}; this trace was recorded without the details."


def _placed(event: Round, token: Token, own: str, pieces: Pieces) -> str:
    """A token of a text that was written in place, and that nobody checked."""
    if event.canvas is None:
        said = f"Written in place: {own}. This trace was recorded without what its iterations left."
    else:
        said = cell_words(event, token.pos - event.start, pieces)
    return f"{said} No target looked at it."


def _refused(event: Round) -> int | None:
    """The last draft token rejected where the walk ended."""
    at = event.accepted + 1
    found = [i for i, node in enumerate(event.nodes) if node.state in outcome.REJECTED and node.depth == at]
    return found[-1] if found else None


def _round(event: Round) -> str:
    emitted = count(event.emitted, "token")
    if outcome.in_place(event):
        return iteration_words(event)
    if outcome.alone(event):
        return f"Round {event.index}: one call of the draft model gives {emitted}; the target was not asked."
    if not event.drafted:
        return f"Round {event.index}: nothing was drafted, so the target call gives {emitted}.{_chosen(event)}"
    if outcome.searched(event):
        settled = "none" if not event.accepted else str(event.accepted)
        held = f"the beams hold {count(event.drafted, 'token')} that had not settled, of which {settled} settled now"
        return f"Round {event.index}: {held}; the target call gives {emitted}."
    drafted = count(event.drafted, "draft token")
    if not event.fed:
        return f"Round {event.index}: {event.accepted} of {drafted} accepted; the target was not called."
    way = "the next one was rejected" if outcome.rejects(event) else "nothing on the way was rejected"
    told = f"Round {event.index}: {event.accepted} of {drafted} accepted, {way}; the target call gives {emitted}."
    return told + _chosen(event)


def _chosen(event: Round) -> str:
    """Why a draft that was chosen for speed has no branches, and why it ended where it did; empty where something else
    ended it."""
    least, following = event.extras.get("least"), event.extras.get("following")
    bring, must = event.extras.get("branches"), event.extras.get("branches_least")
    told = ""
    if bring is not None and must is not None:
        told = (
            f" It has no branches: by what is known so far they would bring {number(bring, must)} tokens, and their "
            f"time is worth {number(must, bring)}."
        )
    if least is None or following is None:
        return told
    what = "draft token" if event.levels == event.drafted else "level"
    return told + (
        f" Drafting stopped there: one more {what} could bring {number(following, least)} tokens, and its time "
        f"is worth {number(least, following)}."
    )
