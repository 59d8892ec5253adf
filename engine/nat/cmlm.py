"""CMLM: a conditional masked language model that writes by mask-predict (Ghazvininejad et al. 2019, 1904.09324)."""

from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from engine.nat.network import Frozen, Shape
from engine.nat.system import PAD, System

LONGEST = 128  # lengths that are told apart


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
        length = F.cross_entropy(self.lengths(states, seen), sizes.clamp(max=LONGEST) - 1, reduction="sum")
        return tokens * share + length


def hide(sizes_B: Tensor, width: int) -> Tensor:
    """Places to hide [B, width]: for each row a number drawn evenly from 1 to its size, and so many random places."""
    order = torch.rand(len(sizes_B), width)
    order = order.masked_fill(torch.arange(width) >= sizes_B[:, None], 2.0).argsort(1).argsort(1)  # rank of a place
    most = (torch.rand(len(sizes_B)) * sizes_B).long() + 1
    return order < most[:, None]
