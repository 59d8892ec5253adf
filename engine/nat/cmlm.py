"""CMLM: a conditional masked language model that writes by mask-predict (Ghazvininejad et al. 2019, 1904.09324)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from engine.nat.canvas import Canvas
from engine.nat.network import Frozen, Shape
from engine.nat.system import END, PAD, System, at_least_one

LONGEST = 128  # lengths that are told apart


@dataclass(frozen=True, eq=False, slots=True)
class Candidates:
    """Texts of several lengths that are written side by side: where each has places [B, T], and the source's states
    [B, Z, D] and mask [B, Z] for each."""

    there: Tensor
    states: Tensor
    seen: Tensor


@dataclass(frozen=True, eq=False, slots=True)
class Pass:
    """The candidates after an iteration, [B, T] each: ids, the probability that each was given when it was written,
    and whether that was now."""

    tokens: Tensor
    sure: Tensor
    fresh: Tensor


class Cmlm(System):
    """Predicts hidden tokens from those that stand, and the length of a text from its source."""

    KIND: ClassVar[str] = "cmlm"

    def __init__(self, shape: Shape, frozen: Frozen, context: int = 512) -> None:
        super().__init__(shape, frozen, context)
        self.length = nn.Linear(shape.width, LONGEST)

    def lengths(self, states_BZD: Tensor, seen_BZ: Tensor) -> Tensor:
        """Logits [B, LONGEST] over lengths 1 to LONGEST, from the mean state of the source."""
        mean = (states_BZD * seen_BZ[..., None]).sum(1) / seen_BZ.sum(1, keepdim=True)
        given: Tensor = self.length(mean)
        return given

    def filled(self, canvas_BT: Tensor, there_BT: Tensor, states_BZD: Tensor, seen_BZ: Tensor) -> Tensor:
        """Raw logits [B, T, V] of every place."""
        return self.frozen.logits(self.decoder(self.embed(canvas_BT), there_BT, states_BZD, seen_BZ))

    def loss(self, source_BZ: Tensor, target_BT: Tensor) -> Tensor:
        """Cross-entropy of a random number of hidden tokens, 1 to all (section 2.2), and of the length."""
        states, seen = self.encoded(source_BZ)
        there = target_BT != PAD
        sizes = there.sum(1)
        hidden = there & hide(sizes, target_BT.shape[1])
        logits = self.filled(target_BT.masked_fill(hidden, self.mask), there, states, seen)
        tokens = F.cross_entropy(logits[hidden], target_BT[hidden], reduction="sum")
        share = there.sum() / hidden.sum()  # as if every token had been asked
        return tokens * share + self.length_loss(states, seen, sizes)

    def length_loss(self, states_BZD: Tensor, seen_BZ: Tensor, sizes_B: Tensor) -> Tensor:
        """Cross-entropy of the lengths, summed."""
        return F.cross_entropy(self.lengths(states_BZD, seen_BZ), sizes_B.clamp(max=LONGEST) - 1, reduction="sum")

    def write(self, source: Sequence[int], limit: int, iterations: int = 4, lengths: int = 5) -> Iterator[Canvas]:
        """Mask-predict (section 3), over the `lengths` likeliest lengths at once; the canvases are those of the text
        whose tokens are given the largest mean log-probability, so all are known before the first one is shown.

        The end of a text stands at its last place alone, and no place takes the mask. Repeated tokens stay, as in the
        paper. A text longer than `limit` is cut there.

        Raises:
            ConfigError: a source longer than the encoder reads, or a knob below one.
        """
        at_least_one(iterations=iterations, lengths=lengths, limit=limit)
        among = self.candidates(source, lengths)
        passes = list(self.passes(among, iterations))
        best = int(surest(passes[-1].sure, among.there))
        size = min(int(among.there[best].sum()), limit)
        shown = [p for p in passes if p.fresh[best].any()]
        for i, p in enumerate(shown, 1):
            tokens, sure, fresh = (x[best, :size].tolist() for x in (p.tokens, p.sure, p.fresh))
            yield Canvas(tokens, sure, fresh, final=i == len(shown))

    @torch.inference_mode()
    def candidates(self, source: Sequence[int], lengths: int) -> Candidates:
        """The likeliest lengths of a source's text, likeliest first."""
        states, seen = self.read(source)
        told = self.lengths(states, seen)[0, : self.decoder.shape.places]
        sizes = told.topk(min(lengths, len(told))).indices + 1
        there = torch.arange(int(sizes.max()), device=sizes.device) < sizes[:, None]
        return Candidates(there, states.expand(len(sizes), -1, -1), seen.expand(len(sizes), -1))

    def passes(self, among: Candidates, iterations: int) -> Iterator[Pass]:
        """Predict all tokens, then again and again the n that were given the smallest probabilities: of N in iteration
        t, which counts from 0, n = N (T - t) / T, rounded down."""
        sizes = among.there.sum(1)
        last = self.blank(among)
        for t in range(iterations):
            fresh = lowest(last.sure.masked_fill(~among.there, torch.inf), sizes * (iterations - t) // iterations)
            if not fresh.any():
                return
            last = self.predict(last, fresh, among)
            yield last

    def blank(self, among: Candidates) -> Pass:
        """Nothing is written yet."""
        tokens = torch.full_like(among.there, self.mask, dtype=torch.long)
        return Pass(tokens, torch.zeros_like(tokens, dtype=torch.float), among.there)

    @torch.inference_mode()
    def predict(self, last: Pass, fresh_BT: Tensor, among: Candidates) -> Pass:
        """The likeliest tokens in place of those at `fresh_BT`, which are hidden."""
        hidden = last.tokens.masked_fill(fresh_BT, self.mask)
        logits = self.filled(hidden, among.there, among.states, among.seen).float()
        logits[..., PAD] = -torch.inf
        inner = F.pad(among.there[:, 1:], (0, 1))  # all places but the last of each text
        logits[..., END].masked_fill_(inner, -torch.inf)
        sure, tokens = logits.softmax(-1).max(-1)
        return Pass(torch.where(fresh_BT, tokens, last.tokens), torch.where(fresh_BT, sure, last.sure), fresh_BT)


def surest(sure_BT: Tensor, there_BT: Tensor) -> Tensor:
    """The row with the largest mean log-probability."""
    tiny = torch.finfo(sure_BT.dtype).tiny
    return (sure_BT.clamp(min=tiny).log() * there_BT).sum(1).div(there_BT.sum(1)).argmax()


def lowest(values_BT: Tensor, n_B: Tensor) -> Tensor:
    """True at the n smallest values of each row [B, T]; of equal ones the first are taken."""
    return values_BT.argsort(dim=1, stable=True).argsort(1) < n_B[:, None]


def hide(sizes_B: Tensor, width: int) -> Tensor:
    """Places to hide [B, width]: for each row a number drawn evenly from 1 to its size, and so many random places."""
    device = sizes_B.device
    order, places = torch.rand(len(sizes_B), width, device=device), torch.arange(width, device=device)
    order = order.masked_fill(places >= sizes_B[:, None], 2.0).argsort(1).argsort(1)  # rank of a place
    most = (torch.rand(len(sizes_B), device=device) * sizes_B).long() + 1
    return order < most[:, None]
