"""DFlash drafters: a few layers that fill a whole block of masks in one pass, beside the target's own states
(2602.06036).

The block is the round's root and masks behind it. All its rows see one another, and in every layer the states of the
committed tokens before the root: some of the target's layers, mixed by `fc` and normed, whose keys and values each
layer makes with its own matrices. Embeddings and output head are the target's, unless a checkpoint brings its own.
Names and arithmetic are those of the published checkpoints (github.com/z-lab/dflash, model.py).

Dimension key: T committed rows, B rows of a block, D width, F width of the mixed states, V vocabulary, L layers, H
query heads, K key-value heads, C channels a head, O = (H + 2K) C columns of their projection.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import torch
import torch.nn.functional as F
from torch import Tensor

from engine.heads.block import Spec, shapes
from engine.heads.eagle import names
from engine.heads.lean import LeanBlock, Norm, Spoken, Turns, look
from engine.model.decoder import Decoder
from engine.model.products import Product
from engine.model.weights import interleave, transposed


@dataclass(frozen=True, slots=True)
class DflashSpec:
    """What a drafter's configuration says."""

    block: Spec  # of each layer
    layers: int
    taps: tuple[int, ...]  # the target's layers whose inputs are mixed
    target_width: int
    size: int  # rows of a block as it was trained, the root included
    mask: int  # the id whose embedding stands for a token that is not known
    vocab: int  # of the target
    draft_vocab: int = 0  # rows of an output head of its own; 0 is the target's
    own_embedding: bool = False


def name(i: int) -> str:
    """What the names of a layer's tensors begin with."""
    return f"layers.{i}"


def wanted(spec: DflashSpec) -> dict[str, tuple[int, ...]]:
    """Name and shape of every tensor that a checkpoint must hold."""
    D, C = spec.block.width, spec.block.channels
    named: dict[str, tuple[int, ...]] = {
        "fc.weight": (D, len(spec.taps) * spec.target_width),
        "hidden_norm.weight": (D,),
        "norm.weight": (D,),
    }
    for at in map(name, range(spec.layers)):
        named |= {f"{at}.input_layernorm.weight": (D,), **shapes(spec.block, at, D)}
        named |= {f"{at}.self_attn.{n}_norm.weight": (C,) for n in ("q", "k")}
    if spec.own_embedding:
        named["embed_tokens.weight"] = (spec.vocab, D)
    if spec.draft_vocab:
        named["lm_head.weight"] = (spec.draft_vocab, D)
    if spec.draft_vocab not in (0, spec.vocab):
        named |= {"d2t": (spec.draft_vocab,), "t2d": (spec.vocab,)}
    return named


class DflashHead:
    """A block's way through a drafter. Of the weights only products are kept, so that no matrix is held twice."""

    def __init__(self, spec: DflashSpec, weights: Mapping[str, Tensor], target: Decoder, card: dict[str, Any]) -> None:
        self.spec, self.target, self.card = spec, target, card
        self.names = names(weights)
        self._embedding, self._norm = weights.get("embed_tokens.weight"), weights["norm.weight"]
        self._lean = _Lean(self, weights)

    def memory(self, capacity: int) -> "Committed":
        """An empty cache for one run."""
        return Committed(self.spec, capacity, self._norm)

    def read(self, memory: "Committed", states_TF: Tensor) -> None:
        """Keys and values of the next T committed tokens in every layer, from the target's states there."""
        lean = self._lean
        keys, values = lean.context(lean.norm(lean.mixture(states_TF))).chunk(2, -1)
        memory.write(keys, values, lean.norms)

    @property
    def uncaptured(self) -> str:
        """See `Spec.uncaptured`."""
        return self.spec.block.uncaptured

    def block(self, root: int, masks: int) -> Tensor:
        """The ids [1 + masks] of a block: the root, and masks behind it."""
        ids = torch.full((1 + masks,), self.spec.mask, device=self._norm.device)
        ids[:1] = root  # a fill: one place by its number would be an upload
        return ids

    def fill(self, memory: "Blocks", ids_B: Tensor) -> Tensor:
        """Raw logits [B - 1, V] of the tokens behind the root of a block, which follows the committed tokens."""
        x = self.embed(ids_B)
        for i, layer in enumerate(self._lean.layers):
            x = layer.block.close(x, memory.attend(i, layer.projected(x, ids_B), layer.norms))
        return self._logits(F.rms_norm(x[1:], self._norm.shape, self._norm, self.spec.block.eps))

    def embed(self, ids_B: Tensor) -> Tensor:
        """Embeddings [B, D]: its own where its checkpoint has them, else the target's."""
        return self.target.embed(ids_B) if self._embedding is None else F.embedding(ids_B, self._embedding)

    def _logits(self, states_BD: Tensor) -> Tensor:
        """Raw logits [B, V]; an id that its own vocabulary lacks has none (minus infinity)."""
        head = self._lean.head
        if head is None:
            return self.target.head(states_BD)
        logits = head(states_BD)
        if self.names is None:
            return logits
        return logits.new_full((len(logits), self.spec.vocab), -torch.inf).index_copy_(1, self.names, logits)


class _Layer:
    """The products of one layer."""

    def __init__(self, head: DflashHead, weights: Mapping[str, Tensor], i: int) -> None:
        spec, at = head.spec.block, name(i)
        self.block, self._norm = LeanBlock(weights, at, spec), Norm(weights[f"{at}.input_layernorm.weight"], spec.eps)
        q, k = (interleave(weights[f"{at}.self_attn.{n}_norm.weight"], 1, spec.channels) for n in ("q", "k"))
        self.keys = k.expand(spec.kv_heads, -1)  # what multiplies normed keys [K, C]
        self.norms = HeadNorms(torch.cat((q.expand(spec.heads, -1), self.keys)), spec.eps)
        known = i == 0 and Spoken.fits(head.spec.vocab, self.block.qkv)  # the first layer reads embeddings
        self._spoken = self._qkv = None
        if known:
            self._spoken = Spoken(head.embed, self._norm, self._norm.into(self.block.qkv), None, head.spec.vocab)
        else:
            self._qkv = self._norm.product(self.block.qkv)

    def projected(self, x_BD: Tensor, ids_B: Tensor) -> Tensor:
        """Queries, keys and values [B, O] of a block's rows."""
        if self._spoken is not None:
            return self._spoken(ids_B)
        assert self._qkv is not None
        return self._qkv(self._norm(x_BD))


class _Lean:
    """The products of a drafter; keys and values of committed tokens are made for all layers in one."""

    def __init__(self, head: DflashHead, weights: Mapping[str, Tensor]) -> None:
        spec = head.spec.block
        self.layers = [_Layer(head, weights, i) for i in range(head.spec.layers)]
        self.mixture = Product(transposed(weights["fc.weight"]))
        own = weights.get("lm_head.weight")
        self.head = None if own is None else Product(transposed(own))
        self.norm = Norm(weights["hidden_norm.weight"], spec.eps)
        sizes = [spec.heads * spec.channels, spec.kv_heads * spec.channels, spec.kv_heads * spec.channels]
        parts = [torch.split(layer.block.qkv, sizes, 1) for layer in self.layers]
        self.context = self.norm.product(torch.cat([p[1] for p in parts] + [p[2] for p in parts], 1))
        self.norms = HeadNorms(torch.cat([layer.keys for layer in self.layers]), spec.eps)


class HeadNorms:
    """RMS norms of queries and keys, head by head, as Qwen3 has them."""

    def __init__(self, weights_HC: Tensor, eps: float) -> None:
        self._norm = Norm(torch.ones_like(weights_HC[0]), eps)
        self._scale = self._norm.into(weights_HC.T).T.contiguous()

    def __call__(self, x_THC: Tensor) -> Tensor:
        """The rows normed [T, H, C], in a tensor of their own."""
        return self._norm(x_THC).mul_(self._scale)


class Blocks(Protocol):
    """What a block asks of a memory."""

    def attend(self, i: int, qkv_BO: Tensor, norms: HeadNorms, /) -> Tensor:
        """See `Committed.attend`."""


class Committed:
    """Keys and values of `length` committed tokens in every layer, and behind them those of the block being filled."""

    def __init__(self, spec: DflashSpec, capacity: int, like: Tensor) -> None:
        self.spec, self.length = spec, 0
        self.levels: dict[tuple[int, int], Any] = {}  # captured over these very slots (engine.heads.graphs)
        self._kv = like.new_zeros(spec.layers, capacity + spec.size, 2 * spec.block.kv_heads, spec.block.channels)
        self._turns = Turns(spec.block, self.slots, like)

    @property
    def slots(self) -> int:
        """Slots allocated."""
        return self._kv.shape[1]

    @property
    def like(self) -> Tensor:
        """A tensor of this memory's type and device."""
        return self._kv

    @torch.inference_mode()
    def empty(self) -> None:
        """As that of `Memory`."""
        self.length = 0
        self._kv.zero_()

    def reserve(self, slots: int) -> None:
        """Make room for that many slots in all."""
        if slots > self.slots:
            self._kv = F.pad(self._kv, (0, 0, 0, 0, 0, max(slots, 3 * self.slots // 2) - self.slots))
            self._turns = Turns(self.spec.block, self.slots, self._kv)
            self.levels = {}

    def write(self, keys_TE: Tensor, values_TE: Tensor, norms: HeadNorms) -> None:
        """The next T committed tokens, with keys and values of all layers side by side (E = L K C)."""
        start, T, L, K = self.length, keys_TE.shape[0], self.spec.layers, self.spec.block.kv_heads
        self.length = start + T
        self.reserve(self.length)
        keys = norms(keys_TE.view(T, L * K, -1))
        self._turns(keys, slice(start, self.length))
        for both, made in ((slice(0, K), keys), (slice(K, None), values_TE)):
            self._kv[:, start : self.length, both] = made.view(T, L, K, -1).transpose(0, 1)

    def attend(self, i: int, qkv_BO: Tensor, norms: HeadNorms) -> Tensor:
        """Attention [B, H C] of a block's rows in layer i over the committed tokens and over one another."""
        start, end = self.length, self.length + qkv_BO.shape[0]
        self.reserve(end)
        queries, kv = self._turned(qkv_BO, slice(start, end), norms)
        self._kv[i, start:end] = kv
        return look(queries, self._kv[i, :end])

    def attend_at(self, i: int, qkv_BO: Tensor, slots_B: Tensor, mask_BS: Tensor, norms: HeadNorms) -> Tensor:
        """The same with the slots of the rows in a tensor, over the first S slots [B, H C]."""
        queries, kv = self._turned(qkv_BO, slots_B, norms)
        self._kv[i].index_copy_(0, slots_B, kv)
        return look(queries, self._kv[i, : mask_BS.shape[1]], mask_BS)

    def _turned(self, qkv_BO: Tensor, where: slice | Tensor, norms: HeadNorms) -> tuple[Tensor, Tensor]:
        """Queries [B, H, C], and keys and values [B, 2K, C]; the first two normed and rotated."""
        H, K = self.spec.block.heads, self.spec.block.kv_heads
        qkv = qkv_BO.view(qkv_BO.shape[0], H + 2 * K, self.spec.block.channels)
        turned = norms(qkv[:, : H + K])
        self._turns(turned, where)
        return turned[:, :H], torch.cat((turned[:, H:], qkv[:, H + K :]), 1)
