"""The EAGLE heads: one decoder layer that writes the target's next hidden feature from a token and the feature before
it.

EAGLE-1/2 (2401.15077, 2406.16858): features are the target's final-normed states, logits come from the target's own
head. EAGLE-3 (2503.01840): features mix the inputs of three target layers, the head has its own (possibly smaller)
vocabulary. Layouts as published (docs/methods/eagle2.md, docs/methods/eagle3.md). Dimension key: T rows, D width, F
feature width, V' draft ids.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from engine.heads.block import Block, Spec, shapes
from engine.heads.lean import LeanBlock, Memory, Norm, Slots, Spoken
from engine.model.decoder import Decoder
from engine.model.few import FEW, normed, quiet
from engine.model.few import Block as FewBlock
from engine.model.products import Product
from engine.model.weights import transposed

Kind = Literal["eagle2", "eagle3"]
SHALLOWEST = 7  # layers of a target in which those of `tapped` are three


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
    norm_output: bool = False  # its rows are normed before they go on, not for the logits alone (EAGLE-3.1)
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
        self.layer = "layers.0" if spec.kind == "eagle2" else "midlayer"
        self.names = names(weights)

    @cached_property
    def block(self) -> Block:
        """The layer as training runs it."""
        return Block(self.weights, self.layer, self.spec.block)

    @cached_property
    def lean(self) -> "Lean":
        """The head as drafting runs it."""
        return Lean(self)

    @property
    def uncaptured(self) -> str:
        """See `Spec.uncaptured`."""
        return self.spec.block.uncaptured

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
        return F.linear(self.taps(states_TF), self.weights["fc.weight"], self.weights.get("fc.bias"))

    def taps(self, states_TF: Tensor) -> Tensor:
        """What `fc` of EAGLE-3 mixes [T, F]: the taps as they are, or normed."""
        if not self.spec.norm_taps:
            return states_TF
        norm = self.weights["input_norm.weight"]
        return F.rms_norm(states_TF, norm.shape, norm, self.spec.block.eps)

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
        return self.lean.logits(hidden_TD)

    def unrolled_logits(self, hidden: Tensor) -> Tensor:
        """Those of EAGLE-3 as training makes them, for any leading dimensions and with gradients."""
        w = self.weights
        if not self.spec.norm_output:
            hidden = F.rms_norm(hidden, (self.width,), w["norm.weight"], self.spec.block.eps)
        return F.linear(hidden, w["lm_head.weight"])

    def run(
        self, memory: Slots, ids_T: Tensor, hidden_TD: Tensor, where: slice, at: int, mask: Tensor | None = None
    ) -> Tensor:
        """The head's next hidden rows [T, D], before any norm unless it has `norm_output`, after the target's tokens
        `ids_T`; keys and values go to the memory from slot `at`. See `Memory.attend` for `where` and `mask`."""
        return self.lean.run(memory, ids_T, hidden_TD, where, at, mask)

    def read(self, memory: Memory, ids_T: Tensor, states_TF: Tensor, at: int) -> Tensor:
        """The hidden row [1, D] after the last of some committed tokens with the target's features, which are written
        to the memory from slot and position `at` on. Of the others nothing but keys and values is ever asked, so only
        those are made."""
        hidden = states_TF if self.kind == "eagle2" else self.lean.mixture(self.taps(states_TF), self.lean.bias)
        return self.lean.run(memory, ids_T, hidden, slice(at, at + ids_T.shape[0]), at, None, last=True)


class Lean:
    """The products of a head, in which a token's own part is known beforehand: the input is a sum of what the token
    brings and what the hidden row does."""

    def __init__(self, head: EagleHead) -> None:
        w, eps = head.weights, head.spec.block.eps
        self.block = LeanBlock(w, head.layer, head.spec.block)
        self.regresses, self.norms_output = head.kind == "eagle2", head.spec.norm_output
        if self.regresses:
            token, hidden = transposed(w["fc.weight"]).chunk(2)
            self.hidden, self.qkv = Product(hidden), Product(self.block.qkv)
            self.spoken = Spoken(head.embed, None, token, w.get("fc.bias"), head.spec.vocab)
            return
        self.norm_token = Norm(w["midlayer.input_layernorm.weight"], eps)
        self.norm_hidden, self.norm_last = Norm(w["midlayer.hidden_norm.weight"], eps), Norm(w["norm.weight"], eps)
        self.normed = w["midlayer.hidden_norm.weight"] if head.spec.norm_first else None
        token, hidden = self.block.qkv.chunk(2)
        self.hidden = self.norm_hidden.product(hidden)
        self.mixture, self.bias = Product(transposed(w["fc.weight"])), w.get("fc.bias")
        self.spoken = Spoken(head.embed, self.norm_token, self.norm_token.into(token), self.block.bias, head.spec.vocab)
        last = transposed(w["lm_head.weight"])
        self.lm_head = Product(last) if self.norms_output else self.norm_last.product(last)

    def run(
        self,
        memory: Slots,
        ids_T: Tensor,
        hidden_TD: Tensor,
        where: slice,
        at: int,
        mask: Tensor | None,
        *,
        last: bool = False,
    ) -> Tensor:
        """See `EagleHead.run`, and with `last` `EagleHead.read`."""
        if ids_T.shape[0] <= FEW and self.few and isinstance(memory, Memory):
            return self._few(self.few, memory, ids_T, hidden_TD, where, at, mask, last=last)
        if self.regresses:
            x = self.hidden.onto(self.spoken(ids_T), hidden_TD)
            qkv = self.qkv(x, self.block.bias)
        else:
            x, qkv = hidden_TD, self.hidden.onto(self.spoken(ids_T), self.norm_hidden(hidden_TD))
            if self.normed is not None:
                x = F.rms_norm(x, self.normed.shape, self.normed, self.norm_hidden.eps)
        attended = memory.attend(qkv, where, at, mask, last=last)
        out = self.block.close(x[-1:] if last else x, attended)
        return self.norm_last.whole(out) if self.norms_output else out

    @cached_property
    def few(self) -> FewBlock | None:
        """The block for few rows, where the head is small and plain."""
        if not self.spoken.small or (self.regresses and self.block.bias is not None):
            return None
        if self.regresses:
            return self.block.few(self.hidden, self.qkv)
        return None if self.normed is not None or self.norms_output else self.block.few(self.hidden, self.lm_head)

    def _few(
        self,
        block: FewBlock,
        memory: Memory,
        ids_T: Tensor,
        hidden_TD: Tensor,
        where: slice,
        at: int,
        mask_TS: Tensor | None,
        *,
        last: bool,
    ) -> Tensor:
        """`run` for few rows."""
        (kv, turns), h, x = memory.arrays, hidden_TD.numpy(), self.spoken.few(ids_T)
        mask = None if mask_TS is None else mask_TS.numpy()
        with quiet():
            if self.regresses:
                x += self.hidden.few(h)
                return torch.from_numpy(block(x, self.qkv.few(x), kv, at, turns[where], mask, last=last))
            x += self.hidden.few(normed(h, self.norm_hidden.few_eps))
            return torch.from_numpy(block(h, x, kv, at, turns[where], mask, last=last))

    def logits(self, hidden_TD: Tensor) -> Tensor:
        """Raw logits [T, V'] of EAGLE-3's own output head."""
        if hidden_TD.shape[0] == 1 and self.few:
            return torch.from_numpy(self.lm_head.few(normed(hidden_TD.numpy(), self.norm_last.few_eps)))
        return self.lm_head(hidden_TD if self.norms_output else self.norm_last(hidden_TD))


def names(weights: Mapping[str, Tensor]) -> Tensor | None:
    """Target ids of the draft ids: id plus offset (d2t stores offsets)."""
    if "d2t" not in weights:
        return None
    offsets = weights["d2t"]
    return torch.arange(len(offsets), device=offsets.device) + offsets
