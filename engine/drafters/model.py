"""A smaller causal model as the drafter: Leviathan et al. 2023 (2211.17192), Chen et al. 2023 (2302.01318).

Dimension key: N drafted, V common vocabulary.
"""

from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import Tensor

from engine.config import Knob
from engine.draft import EMPTY, Draft, chain
from engine.parts import ChainShape, Context, Kit, Knobs, Outcome
from engine.sampling import distribution, first_argmax, pick


class ModelDrafter:
    """Drafts a chain token by token: argmax when greedy, else a draw from its own processed distribution."""

    NAME: ClassVar[str] = "model"
    KNOBS: ClassVar[tuple[Knob, ...]] = ()
    SHAPES: ClassVar[tuple[str, ...]] = ("chain",)
    NEEDS: ClassVar[tuple[str, ...]] = ("draft",)
    DISTRIBUTIONS: ClassVar[bool] = True
    WANTS: ClassVar[tuple[str, ...]] = ()
    taps: tuple[int, ...] = ()

    def __init__(self, kit: Kit, knobs: Knobs) -> None:
        self.session = kit.session("draft")
        self.stops = frozenset(kit.target.tokenizer.stop_ids)

    def begin(self, tokens: Sequence[int]) -> None:
        """Prefill: all of the prompt but its last token."""
        if 1 < len(tokens) <= self.session.capacity:
            self.session.forward(tokens[:-1])

    def propose(self, context: Context, shape: ChainShape) -> Draft:
        """A chain of at most `shape.limit()` tokens, and at most `context.room`; a token that ends the text ends it."""
        tokens, rows, distributions = list(context.tokens), [], []
        start = len(tokens)
        limit = min(shape.limit(), context.room, context.space, self.session.capacity - start)
        while len(tokens) - start < limit:
            row = self.session.forward(tokens).logits
            if not shape.more(len(tokens) - start, row[0]):
                break
            rows.append(row)
            token, q = self._next(row, context)
            distributions.append(q)
            tokens.append(token)
            if token in self.stops:  # nothing can follow
                break
        return shape.keep(self._chain(tokens[start:], rows, distributions, context)) if rows else EMPTY

    def _next(self, row: Tensor, context: Context) -> tuple[int, Tensor | None]:
        if context.sampling.greedy:
            return int(first_argmax(row)), None
        q = distribution(row, context.sampling)[0]
        return pick(q, context.streams.uniform("draft")), q

    def _chain(
        self, tokens: list[int], rows: list[Tensor], distributions: list[Tensor | None], context: Context
    ) -> Draft:
        drawn = [q for q in distributions if q is not None]
        logits = torch.cat(rows)
        return chain(
            tokens,
            draw="point" if context.sampling.greedy else "sample",
            distributions=torch.stack(drawn) if drawn else None,
            logits=logits,
            scores=_scores(logits, tokens) if context.full else None,
            sources=tuple({"kind": "model", "role": "draft"} for _ in tokens) if context.full else None,
        )

    def observe(self, outcome: Outcome) -> None:
        """Nothing: the session finds by itself which of its slots still hold."""


def _scores(logits: Tensor, tokens: list[int]) -> tuple[float, ...]:
    """Cumulative log-probability of a chain, nats."""
    logp = torch.log_softmax(logits.float(), -1)
    return tuple(logp[torch.arange(len(tokens)), tokens].cumsum(0).tolist())
