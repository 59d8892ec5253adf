"""A smaller causal model as the drafter: Leviathan et al. 2023 (2211.17192), Chen et al. 2023 (2302.01318).

A model with another tokenizer drafts the pieces that both know (token-level intersection, 2502.05202; see
`engine.model.bridge`).
"""

from collections.abc import Sequence
from typing import Any, ClassVar

from torch import Tensor

from engine.config import Knob
from engine.draft import Draft
from engine.model import BridgedSession
from engine.parts import ChainShape, Context, Kit, Knobs, Outcome, write_chain


class ModelDrafter:
    """Drafts a chain token by token: argmax when greedy, else a draw from its own processed distribution."""

    NAME: ClassVar[str] = "model"
    TITLE: ClassVar[str] = "Draft model"
    KNOBS: ClassVar[tuple[Knob, ...]] = ()
    SHAPES: ClassVar[tuple[str, ...]] = ("chain", "steps")
    NEEDS: ClassVar[tuple[str, ...]] = ("draft",)
    DISTRIBUTIONS: ClassVar[bool] = True
    WANTS: ClassVar[tuple[str, ...]] = ()
    taps: tuple[int, ...] = ()

    def __init__(self, kit: Kit, knobs: Knobs) -> None:
        self.session = kit.session("draft", proposes=True)
        self.stops = frozenset(kit.target.tokenizer.stop_ids)

    def begin(self, tokens: Sequence[int]) -> None:
        """Prefill: all of the prompt but its last token."""
        if len(tokens) > 1 and self.session.left(tokens) >= 0:
            self.session.forward(tokens[:-1])

    def propose(self, context: Context, shape: ChainShape) -> Draft:
        """A chain; see `write_chain`."""
        left = self.session.left(context.tokens)
        return write_chain(context, shape, left, self.stops, self._after, self._source, self.session.onward)

    def _after(self, tokens: list[int]) -> Tensor:
        return self.session.forward(tokens, checked=True).logits

    def _source(self) -> dict[str, Any]:
        source: dict[str, Any] = {"kind": "model", "role": "draft"}
        return source | {"common": self.session.common()} if isinstance(self.session, BridgedSession) else source

    def observe(self, outcome: Outcome) -> None:
        """Nothing: the session finds by itself which of its slots still hold."""
