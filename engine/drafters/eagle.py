"""EAGLE-2 and EAGLE-3 drafters: a head writes features, a tree grows on them (2406.16858, 2503.01840;
docs/methods/eagle3.md).

Alignment: with committed tokens t_1 .. t_n (t_n is the root) the head has read the pairs (t_2, f_1) .. (t_n, f_{n-1})
at positions 0 .. n-2, and its last row predicts what follows t_n. After a round the target's own features replace
those that the head predicted: only committed pairs stay in its memory. Dimension key: R frontier rows, D head width, F
feature width.
"""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from torch import Tensor

from engine.config import Knob
from engine.draft import EMPTY, Draft
from engine.heads.eagle import EagleHead, tapped
from engine.heads.follow import Follower
from engine.heads.graphs import levels_of
from engine.heads.treemask import TreeMask, TreeMasks
from engine.parts import Context, Kit, Knobs, Outcome, TreeShape
from engine.sampling import sent
from engine.trees.growth import Growth, Plan


class Eagle2:
    """The head reads final-normed states and shares the target's output head."""

    NAME: ClassVar[str] = "eagle2"
    TITLE: ClassVar[str] = "EAGLE-2"
    KNOBS: ClassVar[tuple[Knob, ...]] = ()
    SHAPES: ClassVar[tuple[str, ...]] = ("dynamic_tree",)
    NEEDS: ClassVar[tuple[str, ...]] = ("eagle2",)
    DISTRIBUTIONS: ClassVar[bool] = True
    WANTS: ClassVar[tuple[str, ...]] = ()
    DECODER_ONLY: ClassVar[str] = "its head reads the target's features of every token before, and a source has none."
    taps: tuple[int, ...] = ()

    def __init__(self, kit: Kit, knobs: Knobs) -> None:
        self.head: EagleHead = kit.assets[self.NAME]
        self.vocab = kit.vocab
        ids = self.head.names
        self.names = None if ids is None else ids[: int((ids < kit.vocab).sum())]  # rising, so common ids come first
        self.columns = kit.vocab if self.names is None else len(self.names)
        self.levels = levels_of(kit.target.decoder, self.head)
        make, size = self.head.memory, kit.capacity
        self.memory = make(size) if self.levels is None else self.levels.memory(self, make, size)
        self.masks = TreeMasks()
        self.follower = Follower()
        self._next: Tensor | None = None  # the head's row after the last committed pair [1, D]

    def begin(self, tokens: Sequence[int]) -> None:
        self.memory.length, self._next = 0, None
        self.follower.begin(len(tokens))

    def propose(self, context: Context, shape: TreeShape) -> Draft:
        """The best nodes of a tree of the head's draft tokens; empty while there is no feature yet (a prompt of one
        token)."""
        self._read(context)
        plan = shape.plan(context)
        if self._next is None or plan.levels < 1 or plan.nodes < 1:
            return EMPTY
        return self._grow(context, shape, plan, self._next)

    def _read(self, context: Context) -> None:
        """Run the head over the pairs that were committed since the last round, with the target's own features."""
        last = context.last
        states = None if last is None else (last.taps if self.taps else last.last)
        first = self.follower.count
        fresh = self.follower.fresh(last, context.path, len(context.tokens), states)
        if fresh is None:
            return
        m, start = fresh.shape[0], self.memory.length
        self.memory.reserve(start + m)
        ids = sent(context.tokens[first + 1 : first + 1 + m], fresh.device)
        self._next = self.head.read(self.memory, ids, fresh, start)
        self.memory.length = start + m

    def _grow(self, context: Context, shape: TreeShape, plan: Plan, hidden: Tensor) -> Draft:
        grown = Growth(plan.width, hidden.device, self.names, self.vocab, plan.trust)
        tree_mask = self._mask(plan)
        onward: Callable[[Growth], Sequence[int] | None] | None = getattr(shape, "onward", None)
        logits, asked = self._logits(hidden), False
        while True:
            rows = shape.admit(grown, logits)
            if rows is not None:
                if not rows:
                    break
                index = sent(rows, hidden.device)
                grown.keep(index)
                tree_mask.select(index)
                hidden, logits = hidden.index_select(0, index), logits.index_select(0, index)
            grown.add(logits)
            if grown.levels == plan.levels and not asked:
                asked = True
                plan, tree_mask = self._settle(shape, grown, plan, tree_mask)
            if grown.levels >= plan.levels:
                break
            if onward is not None and (places := onward(grown)) is not None:
                if not places:
                    break
                grown.narrow(places)
            hidden, logits = self._step(grown, tree_mask, hidden)
        plan = plan if asked else shape.settle(grown, plan)
        extras = shape.report(grown, plan, context.full)
        draft = grown.draft(plan.nodes, full=context.full, spared=plan.spared, extras=extras)
        draft.extras["n_verify"] = len(draft) + 1
        if context.full:
            draft.extras["buffers_made"] = self.masks.made
            draft.extras["buffers_reused"] = self.masks.reused
        return draft

    def _logits(self, hidden: Tensor) -> Tensor:
        """Raw logits [R, V'] of the ids that the target shares."""
        return shared(self.head.logits(hidden), self.columns)

    def _settle(self, shape: TreeShape, grown: Growth, plan: Plan, tree_mask: TreeMask) -> tuple[Plan, TreeMask]:
        final = shape.settle(grown, plan)
        if final.levels <= plan.levels:
            return final, tree_mask
        wider = self._mask(final)
        wider.take(tree_mask)
        return final, wider

    def _mask(self, plan: Plan) -> TreeMask:
        stable = self.memory.length
        self.memory.reserve(stable + plan.levels * plan.width)
        return self.masks.get(plan.levels, plan.nodes, plan.width, self.memory.slots, self.memory.like, plan.reuse)

    def _step(self, grown: Growth, tree_mask: TreeMask, hidden: Tensor) -> tuple[Tensor, Tensor]:
        """Run the frontier: each node with its parent's feature, seeing the committed pairs and its own ancestors.
        Hidden rows [R, D] and the logits [R, V'] after them."""
        rows, stable, level, alone = grown.rows, self.memory.length, grown.levels - 1, grown.width == 1
        mask = None if alone else tree_mask.level(rows, level, stable)  # a chain sees all of itself
        where = slice(stable + level, stable + level + 1)
        at, before = stable + level * grown.width, hidden if alone else hidden.index_select(0, rows)
        head, columns = self.head, self.columns

        def work(memory: Any, ids: Tensor, before: Tensor) -> tuple[Tensor, Tensor]:
            out = head.run(memory, ids, before, where, at, mask)
            return out, shared(head.logits(out), columns)

        if self.levels is None:
            return work(self.memory, grown.fresh, before)
        return self.levels.step(self.memory, work, grown.fresh, before, where.start, at, mask)

    def observe(self, outcome: Outcome) -> None:
        """Nothing: features are read off the next context."""


def shared(logits: Tensor, columns: int) -> Tensor:
    """The first `columns` logits of each row."""
    return logits if logits.shape[1] == columns else logits[:, :columns]


class Eagle3(Eagle2):
    """The head reads tapped layer inputs (three, unless it says otherwise) and has its own output head."""

    NAME: ClassVar[str] = "eagle3"
    TITLE: ClassVar[str] = "EAGLE-3"
    NEEDS: ClassVar[tuple[str, ...]] = ("eagle3",)

    def __init__(self, kit: Kit, knobs: Knobs) -> None:
        super().__init__(kit, knobs)
        self.taps = self.head.spec.taps or tapped(kit.target.layers)
