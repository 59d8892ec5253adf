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
from engine.heads.graphs import levels_of
from engine.heads.hydra import HydraHead
from engine.parts import Context, Kit, Knobs, Outcome
from engine.sampling import read, sent, wide
from engine.trees.template import Template


class Hydra:
    """Each parent of a level gets its own list of draft tokens, from the prefix embedding and its path's embeddings."""

    NAME: ClassVar[str] = "hydra"
    TITLE: ClassVar[str] = "Hydra"
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
        self.levels = levels_of(kit.target.decoder, self.head)
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
        self._prefix = self.head.prefix(self.memory, fresh)

    def _logits(self, inputs_PE: Tensor, level: int) -> Tensor:
        """Raw logits [P, V] of one head."""
        head, vocab = self.head, self.vocab

        def work(inputs: Tensor) -> Tensor:
            return head.logits(inputs, level)[:, :vocab]

        return work(inputs_PE) if self.levels is None else self.levels.rows(level, work, inputs_PE)

    def _fill(self, tree: Template, prefix: Tensor, context: Context) -> Draft:
        """Level by level on the device; where each node stands is known from the template alone."""
        root = self.head.target.embed(sent(context.tokens[-1:], self.device))
        inputs, row, base = torch.cat((prefix, root), -1), {-1: 0}, [0]  # row: of each parent in its level's inputs
        width = min(tree.width, self.vocab)
        logits, values, choices = list[Tensor](), list[Tensor](), list[Tensor]()
        for level in range(tree.depth):
            x = wide(self._logits(inputs, level))
            top = x.topk(width, -1)
            logits.append(x)
            values.append(top.values - x.logsumexp(-1, keepdim=True))
            choices.append(top.indices)
            base.append(base[-1] + x.shape[0])
            inner = [
                i
                for i, d in enumerate(tree.depths)
                if d == level + 1 and tree.kids[i + 1] and tree.parents[i] in row and tree.ranks[i] < width
            ]
            if not inner or level + 1 == tree.depth:
                break
            rows = [row[tree.parents[i]] for i in inner]
            chosen = [r * width + tree.ranks[i] for r, i in zip(rows, inner, strict=True)]
            under, places = sent((rows, chosen), self.device)
            tokens_P = top.indices.flatten()[places]
            inputs = torch.cat((inputs[under], self.head.target.embed(tokens_P)), -1)
            row |= {i: r for r, i in enumerate(inner)}
        scores, ids = read(torch.cat(values), torch.cat(choices))
        tokens, parents, sums, group = list[int](), list[int](), list[float](), list[int]()
        place = {-1: -1}
        for i, (above, rank, depth) in enumerate(zip(tree.parents, tree.ranks, tree.depths, strict=True)):
            if above not in place or rank >= width:
                continue  # a vocabulary smaller than the tree is wide
            place[i], parent = len(tokens), place[above]
            group.append(base[depth - 1] + row[above])
            tokens.append(ids[group[-1] * width + rank])
            parents.append(parent)
            sums.append((sums[parent] if parent >= 0 else 0.0) + scores[group[-1] * width + rank])
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
