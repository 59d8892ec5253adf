"""Medusa heads (2401.10774): head i predicts the token i + 2 places after a final-normed state, from that state
alone.

Dimension key: T rows, D width, V vocabulary, n heads.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from engine.errors import AssetError, ModelMismatch
from engine.heads.files import check, count, fits, folder_of, place, read_config, read_weights
from engine.model import Model

FILES = ("medusa_lm_head.safetensors", "medusa_lm_head.pt")


def wanted(heads: int, layers: int, width: int, vocab: int) -> dict[str, tuple[int, ...]]:
    """Names and shapes of a checkpoint, as the published heads have them."""
    named: dict[str, tuple[int, ...]] = {}
    for i in range(heads):
        for j in range(layers):
            named |= {f"{i}.{j}.linear.weight": (width, width), f"{i}.{j}.linear.bias": (width,)}
        named[f"{i}.{layers}.weight"] = (vocab, width)
    return named


class MedusaHead:
    """Weights and pure functions."""

    uncaptured = ""

    def __init__(
        self, heads: int, layers: int, weights: Mapping[str, Tensor], card: dict[str, Any] | None = None
    ) -> None:
        self.heads, self.layers, self.weights, self.card = heads, layers, weights, card or {}

    def logits(self, state_TD: Tensor, head: int) -> Tensor:
        """Raw logits [T, V] of one head: blocks x + SiLU(W x + b), then its own output matrix."""
        x, w = state_TD, self.weights
        for j in range(self.layers):
            x = x + F.silu(F.linear(x, w[f"{head}.{j}.linear.weight"], w[f"{head}.{j}.linear.bias"]))
        return F.linear(x, w[f"{head}.{self.layers}.weight"])


def load_medusa(path: Path, target: Model) -> MedusaHead:
    """Medusa heads by folder or hub id. How many there are is read off the tensors: published configs name another
    number.

    Raises:
        AssetError: files, names or shapes are wrong. ModelMismatch: made for another target.
    """
    folder = folder_of(path, FILES)
    fits(folder, target)
    config = read_config(folder)
    found = read_weights(folder, FILES)
    layers = count(config, "medusa_num_layers", 1, most=max(1, len(found)))
    heads = len({name.split(".")[0] for name in found})
    first = found.get("0.0.linear.weight")
    last = found.get(f"0.{layers}.weight")
    if first is None or last is None or first.dim() != 2 or last.dim() != 2:
        raise AssetError("These are no Medusa heads: 0.0.linear.weight is missing.")
    if first.shape[-1] != target.width or last.shape[0] != target.vocab:
        raise ModelMismatch(
            f"The heads read states {first.shape[-1]} wide and write {last.shape[0]} tokens, but {target.name} has "
            f"{target.width} and {target.vocab}: they were made for another target."
        )
    weights = check(found, wanted(heads, layers, target.width, target.vocab))
    like = target.decoder.embed(torch.zeros(1, dtype=torch.long, device=target.device))
    return MedusaHead(heads, layers, place(weights, like), {"folder": folder.name})
