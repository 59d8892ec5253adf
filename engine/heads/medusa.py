"""Medusa heads (2401.10774): head i predicts the token i + 2 places after a final-normed state, from that state
alone.

Dimension key: T rows, D width, V vocabulary, n heads, B bottleneck.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from engine.errors import AssetError, ModelMismatch
from engine.heads.files import check, count, fits, folder_of, held, place, read_config, read_weights
from engine.model import Model

FILES = ("medusa_lm_head.safetensors", "medusa_lm_head.pt")
SHARED, BOTTLENECK = "shared_output", "bottleneck"  # of a configuration; published ones name neither


def wanted(heads: int, layers: int, width: int, vocab: int, bottleneck: int = 0) -> dict[str, tuple[int, ...]]:
    """Names and shapes of a checkpoint, as the published heads have them.

    With `vocab` 0 the heads have no output matrices, since they share the target's; a `bottleneck` narrows the blocks,
    and a second matrix `out` leads back to the width.
    """
    named: dict[str, tuple[int, ...]] = {}
    inner = bottleneck or width
    for i in range(heads):
        for j in range(layers):
            named |= {f"{i}.{j}.linear.weight": (inner, width), f"{i}.{j}.linear.bias": (inner,)}
            named |= {f"{i}.{j}.out.weight": (width, inner)} if bottleneck else {}
        named |= {f"{i}.{layers}.weight": (vocab, width)} if vocab else {}
    return named


def configuration(heads: int, width: int, vocab: int, bottleneck: int = 0) -> dict[str, Any]:
    """The configuration of heads of one block each; with a `bottleneck` they share the target's output matrix."""
    shared = {SHARED: True, BOTTLENECK: bottleneck} if bottleneck else {}
    return {
        "model_type": "medusa",
        "medusa_num_heads": heads,
        "medusa_num_layers": 1,
        "hidden_size": width,
        "vocab_size": vocab,
        **shared,
    }


class MedusaHead:
    """Weights and pure functions."""

    uncaptured = ""

    def __init__(
        self,
        heads: int,
        layers: int,
        weights: Mapping[str, Tensor],
        card: dict[str, Any] | None = None,
        output: Callable[[Tensor], Tensor] | None = None,
    ) -> None:
        """`output` makes logits of states [m, D] for heads without matrices of their own: the target's head."""
        self.heads, self.layers, self.weights, self.card, self.output = heads, layers, weights, card or {}, output
        self._blocks = [self._stacked(j) for j in range(layers)] if output else []

    def logits(self, state_TD: Tensor, head: int) -> Tensor:
        """Raw logits [T, V] of one head: blocks x + SiLU(W x + b), or x + U SiLU(W x + b) with a bottleneck, then an
        output matrix."""
        x, w = state_TD, self.weights
        for j in range(self.layers):
            inner = F.silu(F.linear(x, w[f"{head}.{j}.linear.weight"], w[f"{head}.{j}.linear.bias"]))
            back = w.get(f"{head}.{j}.out.weight")
            x = x + (inner if back is None else F.linear(inner, back))
        return F.linear(x, w[f"{head}.{self.layers}.weight"]) if self.output is None else self.output(x)

    def first(self, state_TD: Tensor, heads: int) -> Tensor:
        """Raw logits [T, heads, V] of the first heads; those that share an output matrix go through it together."""
        if self.output is None:
            return torch.stack([self.logits(state_TD, i) for i in range(heads)], 1)
        x = self.states(state_TD, heads)
        return self.output(x.flatten(0, 1)).view(*x.shape[:2], -1)

    def states(self, state_TD: Tensor, heads: int) -> Tensor:
        """What the first heads, if they share an output matrix, give to it [T, heads, D]."""
        x = state_TD.expand(heads, *state_TD.shape)
        for down, bias, back in self._blocks:
            inner = F.silu(torch.baddbmm(bias[:heads], x, down[:heads]))
            x = x + (inner if back is None else inner @ back[:heads])
        return x.transpose(0, 1)

    def _stacked(self, layer: int) -> tuple[Tensor, Tensor, Tensor | None]:
        """One block of all heads: [n, D, B], [n, 1, B] and, with a bottleneck, [n, B, D]."""

        def every(name: str) -> Tensor:
            return torch.stack([self.weights[f"{i}.{layer}.{name}"] for i in range(self.heads)])

        back = every("out.weight").mT.contiguous() if f"0.{layer}.out.weight" in self.weights else None
        return every("linear.weight").mT.contiguous(), every("linear.bias").unsqueeze(1), back


def load_medusa(path: Path, target: Model) -> MedusaHead:
    """Medusa heads by folder or hub id. How many there are is read off the tensors: published configs name
    fewer.

    Raises:
        AssetError: files, names or shapes are wrong. ModelMismatch: made for another target.
    """
    folder = folder_of(path, FILES)
    fits(folder, target)
    config = read_config(folder)
    found = read_weights(folder, FILES)
    layers = count(config, "medusa_num_layers", 1, most=max(1, len(found)))
    heads = len({name.split(".")[0] for name in found})
    shared, bottleneck = config.get(SHARED, False), count(config, BOTTLENECK) if BOTTLENECK in config else 0
    if not isinstance(shared, bool):
        raise AssetError(f"The head's config.json has {SHARED} = {shared!r}; it must be true or false.")
    first = found.get("0.0.linear.weight")
    last = found.get(f"0.{layers}.weight")
    if first is None or first.dim() != 2:
        raise AssetError("These are no Medusa heads: 0.0.linear.weight is missing.")
    if not shared and (last is None or last.dim() != 2):
        raise AssetError(
            f"These are no Medusa heads: 0.{layers}.weight is missing, and config.json does not say that they share "
            f"the target's output matrix ({SHARED})."
        )
    if first.shape[-1] != target.width:
        raise _foreign(f"read states {first.shape[-1]} wide", f"{target.width} wide", target)
    if last is not None and not shared and last.shape[0] != target.vocab:
        raise _foreign(f"write {last.shape[0]} tokens", f"{target.vocab} tokens", target)
    held(config, "medusa_num_heads", heads)
    names = wanted(heads, layers, target.width, 0 if shared else target.vocab, bottleneck)
    like = target.decoder.embed(torch.zeros(1, dtype=torch.long, device=target.device))
    weights = place(check(found, names), like)
    return MedusaHead(heads, layers, weights, {"folder": folder.name}, target.decoder.head if shared else None)


def _foreign(theirs: str, ours: str, target: Model) -> ModelMismatch:
    return ModelMismatch(f"The heads {theirs}, but {target.name} has {ours}: they were made for another target.")
