"""Hydra heads (2402.05109), variant "prefix-mlp" (Hydra++): each head also reads the tokens drafted before it.

One extra decoder layer over the target's final-normed states gives a prefix embedding; head i is an MLP over that
embedding and those of the root and the i draft tokens before. Tensor names are those of the published checkpoints
(`prefix_embeding_layer` is spelt so there), whose configuration says nothing of the layer: it is as the target's are.

Dimension key: T rows, D width, V vocabulary.
"""

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from engine.errors import AssetError, ModelMismatch, unknown
from engine.heads.block import Block, Spec, shapes
from engine.heads.files import block_of, check, count, fits, folder_of, held, place, read_config, read_weights
from engine.heads.lean import LeanBlock, Memory, Norm
from engine.model import Model
from engine.model.decoder import Decoder
from engine.model.products import Product
from engine.model.weights import transposed

FILES = ("hydra_lm_head.safetensors", "hydra_lm_head.pt")
PREFIX = "prefix_embeding_layer"
UNUSED = ("rotary_emb.inv_freq", f"{PREFIX}.embed_tokens.weight")


def wanted(spec: Spec, heads: int, layers: int, vocab: int) -> dict[str, tuple[int, ...]]:
    """Names and shapes of a checkpoint. Odd places in `hydra_mlp` are blocks, even ones were dropout."""
    D = spec.width
    named: dict[str, tuple[int, ...]] = {
        f"{PREFIX}.layers.0.input_layernorm.weight": (D,),
        f"{PREFIX}.norm.weight": (D,),
    }
    named |= shapes(spec, f"{PREFIX}.layers.0", D)
    for i in range(heads):
        for j in range(layers):
            at, wide = f"hydra_mlp.{i}.{2 * j + 1}", (i + 2) * D if j == 0 else D
            named |= {f"{at}.linear.weight": (D, wide), f"{at}.linear.bias": (D,)}
            if j == 0:
                named |= {f"{at}.res_connection.weight": (D, wide), f"{at}.res_connection.bias": (D,)}
        named |= {f"hydra_lm_head.{i}.1.weight": (vocab, D), f"hydra_lm_head.{i}.1.bias": (vocab,)}
    return named


class HydraHead:
    """Weights and pure functions."""

    uncaptured = ""

    def __init__(
        self,
        spec: Spec,
        heads: int,
        layers: int,
        weights: Mapping[str, Tensor],
        target: Decoder,
        card: dict[str, Any] | None = None,
    ) -> None:
        self.spec, self.heads, self.layers = spec, heads, layers
        self.weights, self.target, self.card = weights, target, card or {}
        self._products = dict[str, Product]()

    @cached_property
    def block(self) -> Block:
        """The prefix layer as training runs it."""
        return Block(self.weights, f"{PREFIX}.layers.0", self.spec)

    @cached_property
    def _lean(self) -> tuple[LeanBlock, Norm, Product]:
        """The prefix layer as drafting runs it, the norm before the attention, and the projection with its weights."""
        norm = Norm(self.weights[f"{PREFIX}.layers.0.input_layernorm.weight"], self.spec.eps)
        block = LeanBlock(self.weights, f"{PREFIX}.layers.0", self.spec)
        return block, norm, norm.product(block.qkv)

    def memory(self, capacity: int) -> Memory:
        """An empty cache for one run."""
        return Memory(self.spec, capacity, self.weights[f"{PREFIX}.norm.weight"])

    def normed(self, state_TD: Tensor, name: str) -> Tensor:
        """RMS norm with one of the prefix layer's weights."""
        return F.rms_norm(state_TD, (self.spec.width,), self.weights[f"{PREFIX}.{name}.weight"], self.spec.eps)

    def prefix(self, memory: Memory, states_TD: Tensor) -> Tensor:
        """Prefix embedding [1, D] of the last of new committed states; the keys and values of all of them join the
        memory."""
        (block, norm, qkv), at = self._lean, memory.length
        memory.length = end = at + states_TD.shape[0]
        memory.reserve(end)
        attended = memory.attend(qkv(norm(states_TD), block.bias), slice(at, end), at, last=True)
        return self.normed(block.close(states_TD[-1:], attended), "norm")

    def logits(self, inputs_TE: Tensor, head: int) -> Tensor:
        """Raw logits [T, V] of head i from (prefix embedding, root, i draft tokens) side by side, [T, (i + 2) D]."""
        x = inputs_TE
        for j in range(self.layers):
            at = f"hydra_mlp.{head}.{2 * j + 1}"
            kept = self._linear(x, f"{at}.res_connection") if j == 0 else x
            x = kept + F.silu(self._linear(x, f"{at}.linear"))
        return self._linear(x, f"hydra_lm_head.{head}.1")

    def _linear(self, x: Tensor, name: str) -> Tensor:
        """Rows through a linear layer, as drafting has them; batches of rows, as training does, without a product."""
        weight, bias = self.weights[f"{name}.weight"], self.weights[f"{name}.bias"]
        if x.dim() > 2:
            return F.linear(x, weight, bias)
        if name not in self._products:
            self._products[name] = Product(transposed(weight))
        return self._products[name](x, bias)


def load_hydra(path: Path, target: Model) -> HydraHead:
    """Hydra heads by folder or hub id.

    Raises:
        AssetError: files, names or shapes are wrong, or another variant. ModelMismatch: made for another target.
    """
    folder = folder_of(path, FILES)
    fits(folder, target)
    config = read_config(folder)
    found = read_weights(folder, FILES)
    arch = str(config.get("hydra_head_arch", "prefix-mlp"))
    if arch != "prefix-mlp":
        raise AssetError(unknown("Hydra head architecture", arch, ("prefix-mlp",)))
    heads = len({name.split(".")[1] for name in found if name.startswith("hydra_lm_head.")})
    first, last = found.get("hydra_mlp.0.1.linear.weight"), found.get("hydra_lm_head.0.1.weight")
    if first is None or last is None or first.dim() != 2 or last.dim() != 2:
        raise AssetError("These are no Hydra heads: hydra_mlp.0.1.linear.weight is missing.")
    if first.shape[0] != target.width or last.shape[0] != target.vocab:
        raise ModelMismatch(
            f"The heads read states {first.shape[0]} wide and write {last.shape[0]} tokens, but {target.name} has "
            f"{target.width} and {target.vocab}: they were made for another target."
        )
    held(config, "hydra_num_heads", heads)
    if config.get("hidden_state_offset"):
        raise AssetError(
            f"The heads read states {config['hidden_state_offset']} layers before the last; only 0 is known."
        )
    spec = block_of(config if "num_attention_heads" in config else {**target.config, **config}, target.width)
    layers = count(config, "hydra_num_layers", 1, most=max(1, len(found)))
    weights = check(found, wanted(spec, heads, layers, target.vocab), UNUSED)
    like = target.decoder.embed(torch.zeros(1, dtype=torch.long, device=target.device))
    return HydraHead(spec, heads, layers, place(weights, like), target.decoder, {"folder": folder.name})
