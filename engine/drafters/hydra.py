"""Hydra: heads that read the draft tokens before them, filled level by level into a static tree (2402.05109;
docs/methods/hydra.md).

Dimension key: P parents of a level, D width, V vocabulary.
"""

from collections.abc import Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor

from engine.config import Knob
from engine.draft import EMPTY, Draft
from engine.heads.follow import Follower
from engine.heads.hydra import HydraHead
from engine.parts import Context, Kit, Knobs, Outcome
from engine.sampling import wide
from engine.trees.template import Template


class Hydra:
    """Each parent of a level gets its own list of draft tokens, from the prefix embedding and its path's embeddings."""

    NAME: ClassVar[str] = "hydra"
    KNOBS: ClassVar[tuple[Knob, ...]] = ()
    SHAPES: ClassVar[tuple[str, ...]] = ("static_tree",)
    NEEDS: ClassVar[tuple[str, ...]] = ("hydra",)
    DISTRIBUTIONS: ClassVar[bool] = True
    WANTS: ClassVar[tuple[str, ...]] = ()
    DECODER_ONLY: ClassVar[str] = "its extra layer reads the target's states of every token before."
    taps: tuple[int, ...] = ()

    def __init__(self, kit: Kit, knobs: Knobs) -> None:
        self.head: HydraHead = kit.assets["hydra"]
        self.vocab, self.device = kit.vocab, kit.target.device
        self.memory = self.head.memory(kit.capacity)
        self.follower = Follower()
        self._prefix: Tensor | None = None  # prefix embedding before the root [1, D]

    def begin(self, tokens: Sequence[int]) -> None:
        self.memory.length, self._prefix = 0, None
        self.follower.begin(len(tokens))

    def propose(self, context: Context, shape: Any) -> Draft:
        """The shape's template, filled; empty while there is no state yet."""
        self._read(context)
        if self._prefix is None or context.room < 1 or context.space < 1:
            return EMPTY
        tree: Template = shape.template(context)
        depth = min(tree.depth, self.head.heads)
        return self._fill(tree.cut(len(tree), depth), self._prefix, context) if depth else EMPTY

    def _read(self, context: Context) -> None:
        last = context.last
        fresh = self.follower.fresh(last, context.path, len(context.tokens), None if last is None else last.last)
        if fresh is None:
            return
        m, start = len(fresh), self.memory.length
        self.memory.reserve(start + m)
        mask = None
        if start and m > 1:
            mask = fresh.new_zeros(m, start + m)
            mask[:, start:].fill_(-torch.inf).triu_(1)
        self._prefix = self.head.prefix(self.memory, fresh, mask, start == 0 and m > 1)[-1:]

    def _fill(self, tree: Template, prefix: Tensor, context: Context) -> Draft:
        root = self.head.target.embed(torch.tensor(context.tokens[-1:], device=self.device))
        inputs, rows = (
            torch.cat((prefix, root), -1),
            {-1: 0},
        )  # rows: node of the draft -> its row of the level's inputs
        tokens: list[int] = []
        parents: list[int] = []
        sums: list[float] = []
        group: list[int] = []
        logits: list[Tensor] = []
        place, first = {-1: -1}, 0
        for level in range(tree.depth):
            x = wide(self.head.logits(inputs, level)[:, : self.vocab])
            top = x.topk(min(tree.width, x.shape[1]), -1)
            scores, ids = (top.values - x.logsumexp(-1, keepdim=True)).tolist(), top.indices.tolist()
            for i in (i for i, d in enumerate(tree.depths) if d == level + 1):
                parent, rank = place.get(tree.parents[i], -2), tree.ranks[i]
                if parent == -2 or rank >= len(ids[0]):
                    continue  # a vocabulary smaller than the tree is wide
                row = rows[parent]
                place[i] = len(tokens)
                tokens.append(ids[row][rank])
                parents.append(parent)
                sums.append((sums[parent] if parent >= 0 else 0.0) + scores[row][rank])
                group.append(first + row)
            logits.append(x)
            first += len(x)
            expanded = [
                place[i] for i, d in enumerate(tree.depths) if d == level + 1 and tree.kids[i + 1] and i in place
            ]
            if not expanded or level + 1 == tree.depth:
                break
            under = torch.tensor([rows[parents[n]] for n in expanded], device=self.device)
            inner = self.head.target.embed(torch.tensor([tokens[n] for n in expanded], device=self.device))
            inputs, rows = torch.cat((inputs[under], inner), -1), {n: r for r, n in enumerate(expanded)}
        made = Draft(tuple(tokens), tuple(parents), scores=tuple(sums))
        if not context.full:
            return made
        return Draft(
            made.tokens,
            made.parents,
            group=tuple(group),
            logits=torch.cat(logits),
            scores=made.scores,
            sources=tuple({"kind": "head", "index": d, "level": d} for d in made.depths),
        )

    def observe(self, outcome: Outcome) -> None:
        """Nothing: states are read off the next context."""
