"""GLAT+CTC: glancing training (Qian et al. 2021, 2008.07905) of connectionist temporal classification (Graves et al.
2006; for translation Libovicky and Helcl 2018, 1811.04719; the two together Gu and Kong 2021, 2012.15833).

The decoder has twice as many places as the source, each with a state of the source as its input, and writes a token
or the blank in each, all at once. What it says is what is left when repeats are merged and blanks dropped; training
sums over all alignments that say the text.

Dimension key: B rows, T places, M tokens of a text, S = 2 M + 1 labels (its tokens with blanks between), V vocabulary.
"""

from collections.abc import Iterator, Sequence
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from engine.nat.canvas import Canvas
from engine.nat.glancing import glance, spread
from engine.nat.system import END, PAD, System, at_least_one

TIMES = 2  # places for each of the source
SHARES = (0.5, 0.3)  # of the wrong places that are shown, at the start and at the end of training
NEVER = -1e9  # log-probability of what cannot be, finite so that differences of two are numbers


class GlatCtc(System):
    """Writes an alignment in one pass; the blank is `PAD`, which no text holds."""

    KIND: ClassVar[str] = "glat_ctc"

    def inputs(self, states_BZD: Tensor, seen_BZ: Tensor) -> tuple[Tensor, Tensor]:
        """Inputs [B, T, D] that know no token, and where there are any [B, T]."""
        return spread(states_BZD, seen_BZ, TIMES, self.decoder.shape.places)

    def scores(self, x_BTD: Tensor, there_BT: Tensor, states_BZD: Tensor, seen_BZ: Tensor) -> Tensor:
        """Log-probabilities [B, T, V] of every place."""
        logits = self.frozen.logits(self.decoder(x_BTD, there_BT, states_BZD, seen_BZ))
        return logits.float().log_softmax(-1)

    def loss(self, source_BZ: Tensor, target_BT: Tensor) -> Tensor:
        """Minus the log-probability of all alignments, some places of the likeliest one shown; a text that needs more
        places than there are counts nothing."""
        states, seen = self.encoded(source_BZ)
        x, there = self.inputs(states, seen)
        places, sizes = there.sum(1), (target_BT != PAD).sum(1)
        with torch.no_grad():
            first = self.scores(x, there, states, seen)
            path = align(first, target_BT, places, sizes)
            begin, end = SHARES
            shown = glance((first.argmax(-1) != path) & there, there, begin + (end - begin) * self.done)
        x = torch.where(shown[..., None], self.embed(path), x)
        scores = self.scores(x, there, states, seen).transpose(0, 1)
        return F.ctc_loss(scores, target_BT, places, sizes, blank=PAD, reduction="sum", zero_infinity=True)

    def write(self, source: Sequence[int], limit: int) -> Iterator[Canvas]:
        """The likeliest alignment, merged: one canvas, all of it fresh. A text longer than `limit` is cut there.

        Raises:
            ConfigError: a source longer than the encoder reads, or a limit below one.
        """
        at_least_one(limit=limit)
        with torch.inference_mode():
            states, seen = self.read(source)
            sure, tokens = self.scores(*self.inputs(states, seen), states, seen)[0].exp().max(-1)
        said = collapse(tokens.tolist(), sure.tolist())[:limit]
        yield Canvas([token for token, _ in said], [p for _, p in said], [True] * len(said), final=True)


def collapse(path: Sequence[int], sure: Sequence[float]) -> list[tuple[int, float]]:
    """The tokens that an alignment says, each with the highest probability in its run, up to the one that ends it."""
    said = list[tuple[int, float]]()
    before = PAD
    for token, p in zip(path, sure, strict=True):
        if token != PAD and token == before:
            said[-1] = (token, max(p, said[-1][1]))
        elif before == END:
            break
        elif token != PAD:
            said.append((token, p))
        before = token
    return said


def align(scores_BTV: Tensor, target_BM: Tensor, places_B: Tensor, sizes_B: Tensor) -> Tensor:
    """The likeliest alignment [B, T] that says each text (Viterbi); anything where a text needs more places than its
    row has."""
    width = scores_BTV.shape[1]
    labels = F.pad(target_BM[..., None], (1, 0), value=PAD).flatten(1)  # a blank before each token
    labels = F.pad(labels, (0, 1), value=PAD)
    skips = torch.zeros_like(labels, dtype=torch.bool)  # whether the blank before a label may be left out
    skips[:, 2:] = (labels[:, 2:] != PAD) & (labels[:, 2:] != labels[:, :-2])
    emitted = scores_BTV.gather(2, labels[:, None].expand(-1, width, -1))
    best = torch.full_like(emitted[:, 0], NEVER)
    best[:, :2] = emitted[:, 0, :2]
    steps = list[Tensor]()
    for t in range(1, width):
        one = F.pad(best, (1, 0), value=NEVER)[:, :-1]
        two = F.pad(best, (2, 0), value=NEVER)[:, :-2].masked_fill(~skips, NEVER)
        value, back = torch.stack([best, one, two]).max(0)
        there = (t < places_B)[:, None]
        best = torch.where(there, value + emitted[:, t], best)
        steps.append(back * there)
    ends = torch.stack([2 * sizes_B - 1, 2 * sizes_B], 1)
    at = ends.gather(1, best.gather(1, ends).argmax(1, keepdim=True))
    path = [at]
    for back in reversed(steps):
        at = at - back.gather(1, at)
        path.append(at)
    return labels.gather(1, torch.cat(path[::-1], 1))
