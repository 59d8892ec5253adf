"""The EAGLE heads: one decoder layer that writes the target's next hidden feature from a token and the feature before
it.

EAGLE-1/2 (2401.15077, 2406.16858): features are the target's final-normed states, logits come from the target's own
head. EAGLE-3 (2503.01840): features mix the inputs of three target layers, the head has its own (possibly smaller)
vocabulary. Layouts as published (docs/methods/eagle2.md, docs/methods/eagle3.md). Dimension key: T rows, D width, F
feature width, V' draft ids.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from engine.heads.block import Block, Memory, Spec, shapes
from engine.model.decoder import Decoder

Kind = Literal["eagle2", "eagle3"]


def tapped(layers: int) -> tuple[int, int, int]:
    """The target layers whose inputs EAGLE-3 reads: 2, L // 2 and L - 3, counted from 0."""
    return 2, layers // 2, layers - 3


@dataclass(frozen=True, slots=True)
class EagleSpec:
    """What a head's configuration says."""

    kind: Kind
    block: Spec
    target_width: int
    vocab: int
    draft_vocab: int
    bias: bool = True  # of EAGLE-2's fc
    qkv_bias: bool = False
    own_embedding: bool = False
    taps: tuple[int, ...] = ()  # the target's layers whose inputs EAGLE-3 reads
    fc_bias: bool = False  # of EAGLE-3's fc
    norm_first: bool = False  # the residual is the normed feature (speculators: norm_before_residual)
    norm_taps: bool = False  # the taps are normed before they are mixed (speculators: norm_before_fc)


def wanted(spec: EagleSpec) -> dict[str, tuple[int, ...]]:
    """Name and shape of every tensor that a checkpoint must hold."""
    D = spec.block.width
    if spec.kind == "eagle2":
        named: dict[str, tuple[int, ...]] = {"embed_tokens.weight": (spec.vocab, D), "fc.weight": (D, 2 * D)}
        named |= {"fc.bias": (D,)} if spec.bias else {}
        return named | shapes(spec.block, "layers.0", D, biased=spec.qkv_bias)
    wide = len(spec.taps or (0, 1, 2)) * spec.target_width
    named = {"fc.weight": (D, wide), "norm.weight": (D,), "lm_head.weight": (spec.draft_vocab, D)}
    named |= {"fc.bias": (D,)} if spec.fc_bias else {}
    named |= {"input_norm.weight": (wide,)} if spec.norm_taps else {}
    named |= {"midlayer.hidden_norm.weight": (D,), "midlayer.input_layernorm.weight": (D,)}
    if spec.draft_vocab != spec.vocab:
        named |= {"d2t": (spec.draft_vocab,), "t2d": (spec.vocab,)}
    if spec.own_embedding:
        named["embed_tokens.weight"] = (spec.vocab, D)
    return named | shapes(spec.block, "midlayer", 2 * D, biased=spec.qkv_bias)


class EagleHead:
    """A head's weights and its pure functions. `names` [V'] gives the target's id of each draft id, None when they are
    the same."""

    def __init__(
        self, spec: EagleSpec, weights: Mapping[str, Tensor], target: Decoder, card: dict[str, Any] | None = None
    ) -> None:
        self.spec, self.kind, self.width = spec, spec.kind, spec.block.width
        self.weights, self.target, self.card = weights, target, card or {}
        self.block = Block(weights, "layers.0" if spec.kind == "eagle2" else "midlayer", spec.block)
        self.names = names(weights)

    def memory(self, capacity: int) -> Memory:
        """An empty cache for one run."""
        return Memory(self.spec.block, capacity, self.weights["fc.weight"])

    def embed(self, ids_T: Tensor) -> Tensor:
        """Embeddings [T, D]: the head's own where its checkpoint has them, else the target's."""
        own = self.weights.get("embed_tokens.weight")
        return self.target.embed(ids_T) if own is None else F.embedding(ids_T, own)

    def feature(self, states_TF: Tensor) -> Tensor:
        """The head's hidden rows [T, D] from the target's: the taps mixed by `fc`, or the final-normed states as they
        are."""
        if self.kind == "eagle2":
            return states_TF
        if self.spec.norm_taps:
            norm = self.weights["input_norm.weight"]
            states_TF = F.rms_norm(states_TF, norm.shape, norm, self.spec.block.eps)
        return F.linear(states_TF, self.weights["fc.weight"], self.weights.get("fc.bias"))

    def mix(self, embedded_TD: Tensor, hidden_TD: Tensor) -> tuple[Tensor, Tensor]:
        """The residual [T, D] and the attention's input: `fc` of both (EAGLE-2), or both normed side by side [T, 2D]
        (EAGLE-3)."""
        w, D, eps = self.weights, self.width, self.spec.block.eps
        if self.kind == "eagle2":
            x = F.linear(torch.cat((embedded_TD, hidden_TD), -1), w["fc.weight"], w.get("fc.bias"))
            return x, x  # the first layer of an EAGLE-2 head has no input norm
        sides = (
            F.rms_norm(embedded_TD, (D,), w["midlayer.input_layernorm.weight"], eps),
            F.rms_norm(hidden_TD, (D,), w["midlayer.hidden_norm.weight"], eps),
        )
        return sides[1] if self.spec.norm_first else hidden_TD, torch.cat(sides, -1)

    def logits(self, hidden_TD: Tensor) -> Tensor:
        """Raw logits [T, V'] over the draft vocabulary."""
        if self.kind == "eagle2":
            return self.target.head(hidden_TD)
        w = self.weights
        return F.linear(
            F.rms_norm(hidden_TD, (self.width,), w["norm.weight"], self.spec.block.eps), w["lm_head.weight"]
        )

    def run(
        self,
        memory: Memory,
        ids_T: Tensor,
        hidden_TD: Tensor,
        where: slice,
        at: int,
        mask: Tensor | None = None,
        causal: bool = False,
    ) -> Tensor:
        """The head's next hidden rows [T, D], before any norm; keys and values go to the memory from slot `at`."""
        residual, x = self.mix(self.embed(ids_T), hidden_TD)
        return self.block.close(residual, memory.attend(self.block, x, where, at, mask, causal))


def names(weights: Mapping[str, Tensor]) -> Tensor | None:
    """Target ids of the draft ids: id plus offset (d2t stores offsets)."""
    if "d2t" not in weights:
        return None
    offsets = weights["d2t"]
    return torch.arange(len(offsets), device=offsets.device) + offsets
