"""Draft: a tree of draft tokens, with the distributions they were drawn from. A chain is a tree with one branch.

Node i hangs under parents[i] < i, or under the root (-1), which is the last committed token. Dimension key: N nodes,
G groups (one per expanded parent; siblings share one), V vocabulary.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from engine.parents import depths_of, in_order, kids_of
from engine.trace.events import Cell
from engine.trace.records import Pruned, RoundExtras, Source

Draw = Literal["point", "sample", "without_replacement"]


class SparseDistributions:
    """Distributions with few entries: behaves as a [G, V] tensor that is indexed by group, one dense row at a time."""

    def __init__(self, entries: Sequence[Sequence[tuple[int, float]]], vocab: int) -> None:
        """`entries[g]` are the tokens of distribution g with their probabilities."""
        self.entries, self.vocab = entries, vocab
        self._last: tuple[int, Tensor] = (-1, torch.empty(0, dtype=torch.float32, device="cpu"))

    def __len__(self) -> int:
        return len(self.entries)

    def __getitem__(self, group: int) -> Tensor:
        """Distribution [V] in fp64, of that group; the last one asked for is kept, since siblings ask in turn."""
        if self._last[0] != group:
            row, few = torch.zeros(self.vocab, dtype=torch.float64, device="cpu"), self.entries[group]
            row[[token for token, _ in few]] = torch.tensor([p for _, p in few], dtype=torch.float64, device="cpu")
            self._last = (group, row)
        return self._last[1]


@dataclass(frozen=True, eq=False)
class Draft:
    """What a drafter proposes in one round.

    `draw` says how siblings came about: "point" (chosen, not drawn: q is one), "sample" (a single independent draw a
    parent), "without_replacement" (several, visited in draw order). `distributions[group[i]]` is the distribution that
    node i was drawn from (needed unless "point"); `logits[group[i]]` the drafter's raw logits there (for the trace, and
    for rules that look at them).
    """

    tokens: tuple[int, ...] = ()
    parents: tuple[int, ...] = ()
    draw: Draw = "point"
    group: tuple[int, ...] = ()
    distributions: Tensor | SparseDistributions | None = None  # [G, V]
    logits: Tensor | None = None  # [G, V]
    scores: tuple[float, ...] | None = None  # cumulative log-probability under the drafter, nats
    sources: tuple[Source, ...] | None = None
    pruned: tuple[Pruned, ...] = ()
    confidence: tuple[float, ...] | None = None  # per node, where a shape computed one
    extras: RoundExtras = field(default_factory=RoundExtras)  # numbers of this round for the trace, e.g. chosen k
    beside: "Draft | None" = None  # what the target reads in the same pass, and no rule decides on

    def __post_init__(self) -> None:
        if len(self.parents) != len(self.tokens) or not in_order(self.parents):
            raise ValueError("a draft needs one parent a token, each before its child")

    def __len__(self) -> int:
        return len(self.tokens)

    @cached_property
    def depths(self) -> tuple[int, ...]:
        """Depth of each node [N]; children of the root have 1."""
        return depths_of(self.parents)

    @cached_property
    def kids(self) -> tuple[tuple[int, ...], ...]:
        """Children of the root (entry 0) and of node i (entry i + 1), in proposal order."""
        return kids_of(self.parents)

    @property
    def steps(self) -> int:
        """Tokens that its drafter wrote: as many as there are, but where the drafter has a tokenizer of its own."""
        return self.extras.get("draft_tokens", len(self))

    @cached_property
    def read(self) -> "Draft":
        """What the target reads: the nodes, and behind them what is read beside them."""
        if self.beside is None:
            return self
        n = len(self)
        parents = (parent if parent < 0 else parent + n for parent in self.beside.parents)
        return Draft((*self.tokens, *self.beside.tokens), (*self.parents, *parents))

    @property
    def levels(self) -> int:
        """Depth of the deepest node; 0 for an empty draft."""
        return max(self.depths, default=0)

    @cached_property
    def is_chain(self) -> bool:
        """True when every node hangs under the one before."""
        return all(p == i - 1 for i, p in enumerate(self.parents))

    def ancestors(self) -> Tensor:
        """Mask [N, N], true where column j is node i itself or one of its ancestors."""
        n, above = len(self), np.array((*self.parents, -1))  # the last column stands for the root, its own parent
        mask, rows = np.zeros((n, n + 1), dtype=bool), np.arange(n)
        at = rows
        for _ in range(self.levels):
            mask[rows, at] = True
            at = above[at]
        return torch.from_numpy(mask[:, :n])

    def path_tokens(self, node: int) -> list[int]:
        """Tokens from the root's child down to `node`; empty for -1."""
        out: list[int] = []
        while node >= 0:
            out.append(self.tokens[node])
            node = self.parents[node]
        return out[::-1]

    @cached_property
    def ranks(self) -> tuple[int, ...]:
        """1-based rank of each node by descending score, ties by index; index order when there are no scores."""
        if self.scores is None:
            return tuple(range(1, len(self) + 1))
        order = sorted(range(len(self)), key=lambda i: (-self.scores[i], i))  # type: ignore[index]
        ranks = [0] * len(self)
        for rank, i in enumerate(order, 1):
            ranks[i] = rank
        return tuple(ranks)

    def cut(self, n: int) -> "Draft":
        """The first n nodes only. Prefix-closed, since parents come first."""
        if n >= len(self):
            return self
        return Draft(
            self.tokens[:n],
            self.parents[:n],
            self.draw,
            self.group[:n],
            self.distributions,
            self.logits,
            self.scores[:n] if self.scores else None,
            self.sources[:n] if self.sources else None,
            self.pruned,
            self.confidence[:n] if self.confidence else None,
            self.extras,
            self.beside,
        )


@dataclass(frozen=True, eq=False)
class CanvasDraft(Draft):
    """A text that is written in place, as it stands after an iteration: a chain with a cell a place.

    Only a `final` one is a text. No target reads any of them.
    """

    cells: tuple[Cell, ...] = ()
    final: bool = False


def chain(tokens: Sequence[int], **fields: Any) -> Draft:
    """A draft with one branch; group i is node i."""
    n = len(tokens)
    return Draft(tuple(tokens), tuple(range(-1, n - 1)), group=tuple(range(n)), **fields)


EMPTY = Draft()
