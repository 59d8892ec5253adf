"""A model that remembers rows: for evaluating many settings on one prompt, where most passes repeat.

A row is a function of the ids before it, so a remembered one is what the pass would give (up to the rounding of another
batch shape). The loop, the rules and all counts are the real ones; only times mean nothing. Dimension key: N nodes, V,
D.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import cast

import torch
from torch import Tensor

from engine.draft import EMPTY, Draft, chain
from engine.model import Forward, Model, Session
from engine.model.source import CrossDecoder, SourceSession

Rows = dict[tuple[int, ...], tuple[Tensor, Tensor]]  # ids -> logits [V], final-normed hidden [D]


class MemoSession(Session):
    """Runs only from the first unknown row on. Chains only; trees go through as they are."""

    rows: Rows

    @torch.inference_mode()
    def forward(self, tokens: Sequence[int], draft: Draft = EMPTY, *, checked: bool = False) -> Forward:
        if not draft.is_chain or self.taps:
            return super().forward(tokens, draft)
        ids, n = (*tokens, *draft.tokens), len(tokens)
        keys = [ids[: n + i] for i in range(len(draft) + 1)]
        first = next((i for i, key in enumerate(keys) if key not in self.rows), None)
        if first is not None:
            forward = super().forward(keys[first], chain(ids[n + first :]))
            if not len(forward.logits):
                return forward  # of a source alone there is no row
            self.rows.update(zip(keys[first:], zip(forward.logits, forward.hidden, strict=True), strict=True))
        logits, hidden = zip(*(self.rows[key] for key in keys), strict=True)
        return Forward(torch.stack(logits), torch.stack(hidden), None, 1)

    @property
    def onward(self) -> None:
        """Nothing reads ahead here: rows are found by ids."""
        return None


class MemoSourceSession(MemoSession, SourceSession):
    """The same over an encoder-decoder: the source is among the ids by which a row is found."""


@dataclass(eq=False)
class MemoModel(Model):
    """A model whose sessions share their rows; `forget` between prompts."""

    rows: Rows = field(default_factory=dict)

    def session(self, capacity: int, taps: Sequence[int] = (), slots: int = 0) -> Session:
        capacity = min(capacity, self.longest)
        session: MemoSession
        if self.seam:
            decoder, context = cast(CrossDecoder, self.decoder), (self.source_context, self.context)
            session = MemoSourceSession(decoder, self.seam, context, self.vocab, self.device, capacity, taps, slots)
        else:
            session = MemoSession(self.decoder, self.vocab, self.device, capacity, taps, slots)
        session.rows = self.rows
        return session

    def forget(self) -> None:
        """Drop all rows."""
        self.rows.clear()


def remembering(model: Model) -> MemoModel:
    """The same model, with memory."""
    return MemoModel(**{f.name: getattr(model, f.name) for f in fields(Model)})
