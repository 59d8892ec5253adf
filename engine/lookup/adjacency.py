"""Token Recycling's adjacency: for each token, the target's first choices when it was last read (Luo et al. 2024,
2408.08696)."""

from collections.abc import Sequence

from torch import Tensor

from engine.lookup.bounded import Bounded
from engine.lookup.history import History
from engine.trace.records import Source
from engine.trees.template import Template


class Adjacency:
    """A row of `width` next-token candidates a token, best first; the last writer wins. Each row knows where its token
    was read."""

    def __init__(self, width: int, entries: int) -> None:
        self.width = width
        self._rows: Bounded[int, tuple[int, ...]] = Bounded(entries)
        self._places: dict[int, int] = {}

    def row(self, token: int) -> tuple[int, ...]:
        """Candidates after a token; empty when it was never read."""
        return self._rows.find(token) or ()

    def place(self, token: int) -> int | None:
        """Where a token was last read: a position of the history, or ~position of the root of a draft of which nothing
        was accepted there."""
        return self._places.get(token)

    def learn(self, tokens: Sequence[int], logits_NV: Tensor, places: Sequence[int] = ()) -> None:
        """Row i of the logits [N, V] was computed after tokens[i], read at places[i]; later rows overwrite earlier
        ones."""
        width = min(self.width, logits_NV.shape[-1])
        for token, row in zip(tokens, logits_NV.topk(width, dim=-1).indices.tolist(), strict=True):
            self._rows.put(token, tuple(row))
        self._places.update(zip(tokens, places, strict=False))

    def __len__(self) -> int:
        return len(self._rows)


def fill(adjacency: Adjacency, tree: Template, root: int, anything: bool = False) -> tuple[list[int], list[int]]:
    """Tokens and parents of a draft: a node of rank j takes the j-th candidate of its father's token.

    Where a father has no row there is nothing to draft; with `anything` rank j takes token j there (the reference fills
    with token 0, which would repeat among siblings).
    """
    tokens: list[int] = []
    parents: list[int] = []
    placed = [-1] * len(tree)
    for i, (parent, rank) in enumerate(zip(tree.parents, tree.ranks, strict=True)):
        above = -1 if parent < 0 else placed[parent]
        if parent >= 0 and above < 0:
            continue
        row = adjacency.row(root if parent < 0 else tokens[above])
        if not row and anything:
            row = tuple(range(adjacency.width))
        if rank >= len(row):
            continue
        placed[i] = len(tokens)
        tokens.append(row[rank])
        parents.append(above)
    return tokens, parents


def places_of(root: int, nodes: int, path: Sequence[int]) -> list[int]:
    """Where the root and each of the nodes of a round were read, for `Adjacency.learn`; `path` was accepted, the others
    were not."""
    places = [root] + [~root] * nodes
    for depth, node in enumerate(path, 1):
        places[node + 1] = root + depth
    return places


def sources_of(
    adjacency: Adjacency, history: History, tokens: Sequence[int], parents: Sequence[int], root: int
) -> tuple[Source, ...]:
    """For each node the row it was taken from, which entry of it, and where the row's token was last read."""
    return tuple(
        _source(adjacency, history, token, root if p < 0 else tokens[p])
        for token, p in zip(tokens, parents, strict=True)
    )


def _source(adjacency: Adjacency, history: History, token: int, row: int) -> Source:
    source: Source = {"kind": "adjacency", "row": row}
    known = adjacency.row(row)
    if token in known:
        source["choice"] = known.index(token) + 1
    place = adjacency.place(row)
    if place is None:
        return source
    return source | Source(kept=place >= 0) | history.place(place if place >= 0 else ~place)
