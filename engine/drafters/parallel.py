"""A parallel drafter: a non-autoregressive model fills all draft tokens of a round in one pass (Xia et al. 2023,
2203.16487; docs/methods/specdec.md)."""

from collections.abc import Sequence
from typing import Any, ClassVar

from engine.config import Knob
from engine.draft import EMPTY, Draft
from engine.heads.parallel import ParallelModel
from engine.parts import ChainShape, Context, Kit, Knobs, Outcome, write_block


class Parallel:
    """Each token is taken or drawn from its own row; the rows do not know each other's tokens, which makes the draft
    cheap and its later tokens less sure."""

    NAME: ClassVar[str] = "parallel"
    TITLE: ClassVar[str] = "Parallel drafter"
    KNOBS: ClassVar[tuple[Knob, ...]] = ()
    SHAPES: ClassVar[tuple[str, ...]] = ("chain",)
    NEEDS: ClassVar[tuple[str, ...]] = ("parallel",)
    DISTRIBUTIONS: ClassVar[bool] = True
    WANTS: ClassVar[tuple[str, ...]] = ()
    ONE_PASS: ClassVar[bool] = True
    taps: tuple[int, ...] = ()

    def __init__(self, kit: Kit, knobs: Knobs) -> None:
        self.filler: ParallelModel = kit.assets["parallel"]
        self.session = self.filler.model.session(kit.capacity)
        self.session.vocab = min(self.session.vocab, kit.vocab)
        self.stops = frozenset(kit.target.tokenizer.stop_ids)

    def begin(self, tokens: Sequence[int]) -> None:
        """Prefill: all of the prompt but its last token."""
        if len(tokens) > 1 and self.session.left(tokens) >= 0:
            self.session.forward(tokens[:-1])

    def propose(self, context: Context, shape: ChainShape) -> Draft:
        """A chain out of one pass, up to the first token that ends the text."""
        left = min(self.filler.most, self.session.left(context.tokens))
        n = min(shape.limit(), context.room, context.space, left)
        if n < 1:
            return EMPTY
        rows = self.filler.rows(self.session, context.tokens, n)
        return write_block(context, shape, rows, self.stops, self._source)

    @staticmethod
    def _source() -> dict[str, Any]:
        return {"kind": "model", "role": "parallel"}

    def observe(self, outcome: Outcome) -> None:
        """Nothing: the session finds by itself which of its slots still hold."""
