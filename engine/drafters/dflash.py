"""DFlash: a block of masks behind the round's root is filled in one pass, beside the target's own states (2602.06036;
docs/methods/dflash.md).

Alignment: with committed tokens t_1 .. t_n (t_n is the root) the drafter holds keys and values made from the target's
states f_1 .. f_{n-1}, and the root's embedding stands in the block itself. Only committed tokens stay in its memory.
"""

from collections.abc import Sequence
from typing import Any, ClassVar

from torch import Tensor

from engine.config import Knob
from engine.draft import EMPTY, Draft
from engine.heads.dflash import Committed, DflashHead
from engine.heads.follow import Follower
from engine.heads.graphs import levels_of
from engine.parts import ChainShape, Context, Kit, Knobs, Outcome, most_of, write_block


class Dflash:
    """A chain out of one pass, whose places do not know one another's tokens."""

    NAME: ClassVar[str] = "dflash"
    TITLE: ClassVar[str] = "DFlash"
    KNOBS: ClassVar[tuple[Knob, ...]] = ()
    SHAPES: ClassVar[tuple[str, ...]] = ("chain",)
    NEEDS: ClassVar[tuple[str, ...]] = ("dflash",)
    DISTRIBUTIONS: ClassVar[bool] = True
    WANTS: ClassVar[tuple[str, ...]] = ()
    ONE_PASS: ClassVar[bool] = True
    DECODER_ONLY: ClassVar[str] = "it reads the target's states of every token before, and a source has none."

    def __init__(self, kit: Kit, knobs: Knobs) -> None:
        self.head: DflashHead = kit.assets["dflash"]
        self.taps = self.head.spec.taps
        self.vocab = kit.vocab
        self.stops = frozenset(kit.target.tokenizer.stop_ids)
        self.levels, make = levels_of(kit.target.decoder, self.head), self.head.memory
        own = make(kit.capacity) if self.levels is None else self.levels.memory(self, make, kit.capacity)
        self.memory: Committed = own
        self.follower = Follower()

    def begin(self, tokens: Sequence[int]) -> None:
        self.memory.length = 0
        self.follower.begin(len(tokens))

    def propose(self, context: Context, shape: ChainShape) -> Draft:
        """A chain, up to the first token that ends the text; empty while there is no state yet (a prompt of one
        token)."""
        last = context.last
        fresh = self.follower.fresh(last, context.path, len(context.tokens), None if last is None else last.taps)
        if fresh is not None:
            self.head.read(self.memory, fresh)
        masks = min(most_of(shape), self.head.spec.size - 1)
        if masks < 1 or not self.memory.length or min(context.room, context.space) < 1:
            return EMPTY
        rows = self._filled(self.head.block(context.tokens[-1], masks))[:, : self.vocab]
        return write_block(context, shape, rows, self.stops, self._source)

    def _filled(self, ids_B: Tensor) -> Tensor:
        """Raw logits [B - 1, V] of a block's masks."""
        if self.levels is None:
            return self.head.fill(self.memory, ids_B)
        return self.levels.block(self.memory, self.head.fill, ids_B)

    @staticmethod
    def _source() -> dict[str, Any]:
        return {"kind": "head", "level": 1}

    def observe(self, outcome: Outcome) -> None:
        """Nothing: states are read off the next context."""
