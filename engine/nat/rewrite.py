"""RewriteNAT: a locator finds the tokens that are wrong, a revisor writes them anew (Geng, Feng and Qin 2021, "Learning
to Rewrite for Non-Autoregressive Neural Machine Translation", EMNLP 2021, 10.18653/v1/2021.emnlp-main.265).

The revisor is CMLM's network, and it may begin with weights of one, as the authors' does. The locator runs through the
same layers: the paper's has layers of its own, for which an embedded asset has no room, so a vector added to the inputs
tells the layers which of the two they are.
"""

from collections.abc import Iterator, Sequence
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from engine.nat.canvas import Canvas
from engine.nat.cmlm import Candidates, Cmlm, Pass
from engine.nat.network import Frozen, Shape
from engine.nat.system import PAD

ROUNDS = 2  # of writing and locating, in training


class RewriteNat(Cmlm):
    """Writes all tokens, then those again that it holds to be wrong."""

    KIND: ClassVar[str] = "rewrite_nat"

    def __init__(self, shape: Shape, frozen: Frozen, context: int = 512) -> None:
        super().__init__(shape, frozen, context)
        self.locating = nn.Parameter(torch.zeros(shape.width))
        self.locator = nn.Linear(shape.width, 1)

    def wrong(self, canvas_BT: Tensor, there_BT: Tensor, states_BZD: Tensor, seen_BZ: Tensor) -> Tensor:
        """Logits [B, T] that the token of a place is wrong; no place is empty."""
        x = self.embed(canvas_BT) + self.locating * self.frozen.stretch
        logits: Tensor = self.locator(self.decoder(x, there_BT, states_BZD, seen_BZ))
        return logits[..., 0]

    def loss(self, source_BZ: Tensor, target_BT: Tensor) -> Tensor:
        """Cross-entropy of the revisor, of the locator and of the length, over a text's way of being written.

        The revisor fills an empty canvas with draws of its own; the locator is asked which of all tokens differ from
        the target's, and those are hidden for the next round. So both see texts as they meet them when they write,
        but for the locator's mistakes.
        """
        states, seen = self.encoded(source_BZ)
        there = target_BT != PAD
        canvas, hidden = torch.full_like(target_BT, self.mask), there
        tokens, places = list[Tensor](), list[Tensor]()
        for _ in range(ROUNDS):
            rows = self.decoder(self.embed(canvas), there, states, seen)[hidden]
            logits = self.frozen.logits(rows)
            tokens.append(F.cross_entropy(logits, target_BT[hidden], reduction="none"))
            shares = logits.detach().softmax(-1)
            shares[:, PAD] = 0.0
            canvas = canvas.masked_scatter(hidden, shares.multinomial(1)[:, 0])
            hidden = (canvas != target_BT) & there
            found = self.wrong(canvas, there, states, seen)
            places.append(F.binary_cross_entropy_with_logits(found[there], hidden[there].float(), reduction="none"))
            if not hidden.any():
                break
            canvas = canvas.masked_fill(hidden, self.mask)
        sizes = there.sum(1)
        return (torch.cat(tokens).mean() + torch.cat(places).mean()) * sizes.sum() + self.length_loss(
            states, seen, sizes
        )

    def write(self, source: Sequence[int], limit: int, iterations: int = 10, lengths: int = 5) -> Iterator[Canvas]:
        """Until the locator finds nothing, or the same places again, or `iterations` are over; see `Cmlm.write`."""
        return super().write(source, limit, iterations, lengths)

    def passes(self, among: Candidates, iterations: int) -> Iterator[Pass]:
        """Write all places, then those that are located; a text in which nothing new is located stays as it is."""
        last, fresh = self.blank(among), among.there
        going = fresh.any(1)
        for _ in range(iterations):
            last = self.predict(last, fresh, among)
            yield last
            found = self.locate(last.tokens, among)
            going = going & found.any(1) & (found != fresh).any(1)
            fresh = found & going[:, None]
            if not going.any():
                return

    @torch.inference_mode()
    def locate(self, tokens_BT: Tensor, among: Candidates) -> Tensor:
        """Places whose token is more likely wrong than right [B, T]."""
        return (self.wrong(tokens_BT, among.there, among.states, among.seen) > 0) & among.there
