"""Medusa: independent heads on the state before the root, filled into a static tree or a chain (2401.10774;
docs/methods/medusa.md).

Head d predicts depth d + 1 from the same state, so all nodes of a depth share one list of draft tokens. On a chain
this is blockwise parallel decoding (Stern et al. 2018). Dimension key: K heads, V vocabulary.
"""

from collections.abc import Sequence
from typing import Any, ClassVar

from torch import Tensor

from engine.config import Knob
from engine.draft import EMPTY, Draft, chain
from engine.heads.follow import Follower
from engine.heads.graphs import levels_of
from engine.heads.medusa import MedusaHead
from engine.parts import Context, Kit, Knobs, Outcome
from engine.parts.writing import asked
from engine.sampling import read, wide
from engine.trees.template import Template, chain_template


class Medusa:
    """K lists of draft tokens a round; the shape says which combinations are verified."""

    NAME: ClassVar[str] = "medusa"
    TITLE: ClassVar[str] = "Medusa"
    KNOBS: ClassVar[tuple[Knob, ...]] = ()
    SHAPES: ClassVar[tuple[str, ...]] = ("static_tree", "chain")
    NEEDS: ClassVar[tuple[str, ...]] = ("medusa",)
    DISTRIBUTIONS: ClassVar[bool] = True
    WANTS: ClassVar[tuple[str, ...]] = ()
    ONE_PASS: ClassVar[bool] = True
    taps: tuple[int, ...] = ()

    def __init__(self, kit: Kit, knobs: Knobs) -> None:
        self.head: MedusaHead = kit.assets["medusa"]
        self.vocab, self.target = kit.vocab, kit.target
        self.levels = levels_of(kit.target.decoder, self.head)
        self.follower = Follower()
        self._state: Tensor | None = None  # final-normed state before the root [1, D]

    def begin(self, tokens: Sequence[int]) -> None:
        self._state = None
        self.follower.begin(len(tokens), self.target.source_of(tokens))

    def propose(self, context: Context, shape: Any) -> Draft:
        """The draft tokens in the shape's template, or a chain of first draft tokens; empty while there is no state
        yet."""
        last = context.last
        fresh = self.follower.fresh(last, context.path, len(context.tokens), None if last is None else last.last)
        self._state = self._state if fresh is None else fresh[-1:]
        if self._state is None or context.room < 1 or context.space < 1:
            return EMPTY
        if shape.KIND == "chain":
            return self._chain(self._state, context, shape)
        tree: Template = shape.template(context)
        depth = min(tree.depth, self.head.heads)
        return self._fill(tree.cut(len(tree), depth), self._state, context.full) if depth else EMPTY

    def _logits(self, state: Tensor, heads: int) -> Tensor:
        head, vocab = self.head, self.vocab

        def work(state: Tensor) -> Tensor:
            return head.first(state, heads)[..., :vocab]

        logits = work(state) if self.levels is None else self.levels.rows(heads, work, state)
        return logits[0]

    def _chain(self, state: Tensor, context: Context, shape: Any) -> Draft:
        limit = min(shape.limit(), context.room, context.space, self.head.heads)
        if limit < 1:
            return EMPTY
        logits = self._logits(state, limit)
        n = asked(shape, logits)
        plain = self._fill(chain_template(n), state, True, logits[:n]) if n else EMPTY
        made = chain(plain.tokens, logits=plain.logits, scores=plain.scores, sources=plain.sources, extras=plain.extras)
        kept: Draft = shape.keep(made)
        return kept

    def _fill(self, tree: Template, state: Tensor, full: bool, logits_KV: Tensor | None = None) -> Draft:
        logits = self._logits(state, tree.depth) if logits_KV is None else logits_KV
        x = wide(logits)
        top = x.topk(min(tree.width, x.shape[1]), -1)
        scores, ids = read(top.values - x.logsumexp(-1, keepdim=True), top.indices)
        width = top.indices.shape[1]
        tokens: list[int] = []
        parents: list[int] = []
        sums: list[float] = []
        place = {-1: -1}
        for i, (parent, rank, depth) in enumerate(zip(tree.parents, tree.ranks, tree.depths, strict=True)):
            if rank >= width or parent not in place:
                continue  # a vocabulary smaller than the tree is wide
            place[i], at = len(tokens), (depth - 1) * width + rank
            tokens.append(ids[at])
            parents.append(place[parent])
            sums.append((sums[place[parent]] if parent >= 0 else 0.0) + scores[at])
        made = Draft(tuple(tokens), tuple(parents), scores=tuple(sums), extras={"passes": 1})
        if not full:
            return made
        return Draft(
            made.tokens,
            made.parents,
            group=tuple(d - 1 for d in made.depths),
            logits=logits,
            scores=made.scores,
            sources=tuple({"kind": "head", "index": d, "level": d} for d in made.depths),
            extras=made.extras,
        )

    def observe(self, outcome: Outcome) -> None:
        """Nothing: states are read off the next context."""
