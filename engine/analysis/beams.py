"""A recorded beam search followed again without a model: what became of each token that its beams held.

Round k records the tree of all beams when those that live are k tokens long. What a step made of it shows twice: in the
tokens that the round emits with the tree of the round after it, and in the log-probabilities that were compared.
"""

import math
from collections.abc import Iterator, Mapping

from engine.analysis.divergence import near
from engine.trace.events import Node, Round
from engine.trace.store import Trace

RULE = "beams"
EQUAL = 1e-9  # of one number that two rounds wrote down


def fates(trace: Trace, event: Round) -> list[str | None]:
    """The state of each node that the text and the next round's tree give; None where the trace ends before it shows.

    A settled token is emitted (accepted); an open one is in the next tree (discarded); one that every beam has left is
    in neither (rejected).
    """
    emitted = [token.token for token in event.tokens]
    after = _after(trace, event)
    children = _children(after)
    shows = after is not None or _done(event)
    # places: -1 is the root of the next tree, lower numbers count back along the emitted tokens that lead there
    places: list[int | None] = []
    for node in event.nodes:
        above = places[node.parent] if node.parent >= 0 else -1 - len(emitted)
        if above is not None and above < -1:
            places.append(above + 1 if emitted[above + 1] == node.token else None)
        else:
            places.append(None if above is None else children.get((above, node.token)))
    found = [_state(place) for place in places]
    if not shows:
        return [state if state == "accepted" else None for state in found]
    cut = after is None  # a response may end before all that has settled is emitted
    return [None if cut and _dropped(node) else state for node, state in zip(event.nodes, found, strict=True)]


def faults(trace: Trace, event: Round) -> Iterator[str]:
    """Recorded numbers of a round that do not follow from those of its tree and of the next."""
    leaves, width = _leaves(event), event.extras.get("beams")
    if width is not None and len(leaves) != width:
        yield f"says {width} live beams and holds {len(leaves)}"
    yield from _summed(trace, event)
    after = _after(trace, event)
    if after is None:
        yield from _rated(trace, event)
        return
    if not after.extras.get("ended") and sum(node.parent < 0 for node in after.nodes) == 1:
        yield "leaves open what all beams of the next round begin with"
    yield from _compared(trace, event, after)


def compared(event: Round) -> int:
    """Beams of a round whose best continuation was recorded beside the last that goes on."""
    return sum({"best", "last"} <= (node.reason or {}).keys() for node in event.nodes)


def _compared(trace: Trace, event: Round, after: Round) -> Iterator[str]:
    """Which beams go on: those whose best next token is no less probable than the last of the N that were kept."""
    text = tuple(token.token for token in event.tokens)
    below, lowest = dict[tuple[int, ...], float](), math.inf
    for path, leaf in _paths(after).items():
        score = after.nodes[leaf].score if leaf >= 0 else _settled(trace, after)
        if score is None:
            return
        above = (*text, *path)[:-1]
        below[above] = max(score, below.get(above, score))
        lowest = min(score, lowest)
    for path, leaf in _paths(event).items():
        reason = (event.nodes[leaf].reason or {}) if leaf >= 0 else {}
        best, last = reason.get("best"), reason.get("last")
        if best is None or last is None:
            continue
        where, score = f"the beam at node {leaf}", below.get(path)
        if not _same(last, lowest):
            yield f"{where} is compared with {last:g}, where the last that goes on has {lowest:g}"
        if score is None and best > last and not _same(best, last):
            yield f"{where} is left with {best:g}, though the last that goes on has {last:g}"
        if score is not None and best < last and not _same(best, last):
            yield f"{where} goes on with {best:g}, though the last that goes on has {last:g}"
        if score is not None and not _same(best, score):
            yield f"{where} goes on with {best:g}, but its best continuation has {score:g}"


def _summed(trace: Trace, event: Round) -> Iterator[str]:
    """Cumulative log-probabilities, up to what another pass over the same tokens may change."""
    for number, node in enumerate(event.nodes):
        above = event.nodes[node.parent].score if node.parent >= 0 else _settled(trace, event)
        share = _share(node)
        if node.score is None or above is None or not share:
            continue
        given = node.score - above
        if abs(given - math.log(share)) > near(trace) * max(1.0, abs(given)):
            yield f"the log-probability {given:g} of node {number} is not that of {share:g}"


def _rated(trace: Trace, event: Round) -> Iterator[str]:
    """The rating of the best response, from its last token's log-probability and its length."""
    rating = event.extras.get("rating")
    penalty = trace.head.knobs.get("length_penalty")
    if rating is None or not isinstance(penalty, int | float) or not trace.tokens or not event.tokens:
        return
    total, last = _settled(trace, event), event.tokens[-1]
    if event.path:
        total = event.nodes[event.path[-1]].score
    if last.node is None:  # beyond the tree
        share = dict(last.top_target or ()).get(last.token)
        total = total + math.log(share) if total is not None and share else None
    if total is None or trace.end is None or trace.end.reason == "stop":
        return
    found = total / len(trace.tokens) ** penalty
    if abs(found - rating) > near(trace) * max(1.0, abs(rating)):
        yield f"the rating {rating:g} is not {found:g}"


def _settled(trace: Trace, event: Round) -> float | None:
    """Log-probability of the response before a round; None where it was not recorded."""
    if event.start == 0:
        return 0.0
    token = trace.tokens[event.start - 1]
    return trace.rounds[token.round].nodes[token.node].score if token.node is not None else None


def _share(node: Node) -> float | None:
    """The target's raw probability; `p` is of the sampled distribution, which means nothing to a search."""
    first = dict(node.top_target or ()).get(node.token)
    if first is not None or node.margin is None or not node.top_target:
        return first
    return node.top_target[0][1] * math.exp(-node.margin)


def _after(trace: Trace, event: Round) -> Round | None:
    return trace.rounds[event.index + 1] if event.index + 1 < len(trace.rounds) else None


def _done(event: Round) -> bool:
    """Whether the search ended here: all but the best response is left."""
    return "rating" in event.extras


def _dropped(node: Node) -> bool:
    """Whether it lies behind the end of the text, where the search had settled or left it."""
    return node.state == "discarded" and (node.reason or {}).get("id") != "beam_open"


def _state(place: int | None) -> str:
    if place is None:
        return "rejected"
    return "accepted" if place < 0 else "discarded"


def _children(event: Round | None) -> Mapping[tuple[int, int], int]:
    nodes = event.nodes if event else []
    return {(node.parent, node.token): number for number, node in enumerate(nodes)}


def _leaves(event: Round) -> list[int]:
    """The nodes where live beams end, which are as long as the rounds before; -1 is the root."""
    depth = event.index - event.start
    return [-1] if depth == 0 else [i for i, node in enumerate(event.nodes) if node.depth == depth]


def _paths(event: Round) -> dict[tuple[int, ...], int]:
    """The tokens of each live beam beyond what has settled, and the node where it ends."""
    found = dict[tuple[int, ...], int]()
    for leaf in _leaves(event):
        path, at = list[int](), leaf
        while at >= 0:
            path.append(event.nodes[at].token)
            at = event.nodes[at].parent
        found[tuple(reversed(path))] = leaf
    return found


def _same(one: float, other: float) -> bool:
    return abs(one - other) <= EQUAL * max(1.0, abs(other))
