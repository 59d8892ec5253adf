"""The heads of the embedded target: their sizes, first weights and losses. Names of weights are those of the
checkpoints.

Dimension key: B rows, T tokens, R answer positions, D width, V vocabulary, V' draft vocabulary.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol
from zlib import crc32

import torch
from torch import Tensor

from engine.model import Model
from engine.training.features import Batch, Features

Params = dict[str, Tensor]


class Recipe(Protocol):
    """One kind of head in training."""

    config: dict[str, Any]  # of the checkpoint
    frozen: Params  # tensors that are written but not trained

    def start(self) -> Params:
        """First weights."""

    def loss(self, params: Params, batch: Batch) -> tuple[Tensor, dict[str, float]]:
        """Loss of a batch in nats, and numbers to report."""


@dataclass(frozen=True)
class TrainingContext:
    """What recipes stand on: the target's matrices and the cached texts."""

    model: Model
    features: Features
    seed: int
    device: str
    heads: int = 4  # of Medusa, blockwise and Hydra
    bottleneck: int = 64  # of a blockwise head: how wide its step is inside

    def embed(self, ids: Tensor) -> Tensor:
        """The target's embeddings."""
        return self.model.decoder.embed(ids)

    def head(self, states: Tensor) -> Tensor:
        """The target's logits of final-normed states."""
        flat = states.reshape(-1, states.shape[-1])
        return self.model.decoder.head(flat).view(*states.shape[:-1], -1)

    def matrix(self) -> Tensor:
        """The target's output matrix [V, D]."""
        return self.head(torch.eye(self.model.width, device=self.device)).T.contiguous()

    def noise(self, name: str, shape: tuple[int, ...], std: float = 0.02) -> Tensor:
        """Gaussian weights from the seed and the name."""
        rng = torch.Generator().manual_seed(crc32(f"{self.seed}/{name}".encode()))
        return torch.randn(*shape, generator=rng).mul_(std).to(self.device)

    def blank(self, names: dict[str, tuple[int, ...]]) -> Params:
        """Norms at one, biases and the matrices that end a residual branch at zero, other matrices small."""
        made: Params = {}
        for name, shape in names.items():
            if "norm" in name:
                made[name] = torch.ones(shape, device=self.device)
            elif name.endswith(("bias", "o_proj.weight", "down_proj.weight")):
                made[name] = torch.zeros(shape, device=self.device)
            else:
                made[name] = self.noise(name, shape)
        return made


@dataclass(frozen=True, slots=True)
class Rows:
    """Answer positions of a batch: row r of line b reads the pair at `at[b, r]`, predicts the token two places on."""

    at: Tensor  # [B, R]
    size: Tensor  # [B]

    def valid(self, ahead: int) -> Tensor:
        """Rows [B, R] whose prediction, `ahead` steps further, is still inside the text."""
        return self.at + 2 + ahead < self.size.unsqueeze(1)

    def take(self, x: Tensor, ahead: int) -> Tensor:
        """Entries of x [B, T, ...] at `at + ahead`, clamped to the text."""
        index = (self.at + ahead).clamp(max=x.shape[1] - 1)
        if x.dim() == 2:
            return x.gather(1, index)
        return x.gather(1, index.unsqueeze(-1).expand(-1, -1, x.shape[-1]))


def rows_of(batch: Batch) -> Rows:
    """From the pair whose prediction is the first answer token on: (last prompt token, state before it)."""
    first = batch.start - 2
    longest = int((batch.size - 2 - first).max())
    return Rows(first.clamp(min=0).unsqueeze(1) + torch.arange(longest, device=batch.ids.device), batch.size)


def soft_loss(logits: Tensor, wanted: Tensor, valid: Tensor) -> tuple[Tensor, float]:
    """Mean cross-entropy against softmax(wanted) where `valid`, and the share of equal first choices there."""
    n = valid.sum().clamp(min=1)
    each = -(wanted.softmax(-1) * logits.log_softmax(-1)).sum(-1)
    same = (logits.argmax(-1) == wanted.argmax(-1)) & valid
    return (each * valid).sum() / n, float(same.sum() / n)
