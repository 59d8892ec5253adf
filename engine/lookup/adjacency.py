"""Token Recycling's adjacency: for each token, the target's first choices when it was last read (Luo et al. 2024, 2408.08696)."""

from collections.abc import Sequence
from typing import Any

from torch import Tensor

from engine.lookup.bounded import Bounded
from engine.template import Template


class Adjacency:
    """A row of `width` next-token candidates a token, best first; the last writer wins."""

    def __init__(self, width: int, entries: int) -> None:
        self.width = width
        self._rows: Bounded[int, tuple[int, ...]] = Bounded(entries)

    def row(self, token: int) -> tuple[int, ...]:
        """Candidates after a token; empty when it was never read."""
        return self._rows.find(token) or ()

    def learn(self, tokens: Sequence[int], logits_NV: Tensor) -> None:
        """Row i of the logits [N, V] was computed after tokens[i]; later rows overwrite earlier ones."""
        width = min(self.width, logits_NV.shape[-1])
        for token, row in zip(tokens, logits_NV.topk(width, dim=-1).indices.tolist(), strict=True):
            self._rows.put(token, tuple(row))

    def __len__(self) -> int:
        return len(self._rows)


def fill(adjacency: Adjacency, tree: Template, root: int, anything: bool = False) -> tuple[list[int], list[int]]:
    """Tokens and parents of a draft: a node of rank j takes the j-th candidate of its father's token.

    Where a father has no row there is nothing to draft; with `anything` rank j takes token j there (the reference fills with
    token 0, which would repeat among siblings).
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


def sources_of(tokens: Sequence[int], parents: Sequence[int], root: int) -> tuple[dict[str, Any], ...]:
    """For each node the row it was taken from."""
    return tuple({"kind": "adjacency", "row": root if p < 0 else tokens[p]} for p in parents)
