"""A head's decoder block as drafting runs it: few framework calls, since a level of a tree has few rows.

Fused products over transposed weights, rotary positions as one complex product in place, norms whose weights live in
the next product, one write to a preallocated cache. `engine.heads.block` is the same block as training runs it; a test
compares them. Dimension key: T rows, D width, I input width of the attention, O = (H + 2K) C its output width, H query
heads, K key-value heads, C channels a head, S slots.
"""

from collections.abc import Callable, Mapping
from functools import cached_property, lru_cache
from typing import Any, Protocol

import torch
import torch.nn.functional as F
from torch import Tensor

from engine.heads.block import Spec, rope
from engine.model.devices import aligned
from engine.model.few import TABLE, Block, small
from engine.model.few import Turns as FewTurns
from engine.model.products import Array, Product
from engine.model.splitkv import attention
from engine.model.weights import interleave, transposed, turn
from engine.sampling import NARROW

STEP = 256  # positions that a table of rotations is rounded up to
FOLDING = (torch.float32, torch.float64)  # types wide enough to multiply a norm's weights into a product


class Norm:
    """An RMS norm. Where the type is wide enough its weights live in the product that follows (`into`)."""

    def __init__(self, weight_D: Tensor, eps: float) -> None:
        self.shape, self.eps, self.weight = weight_D.shape, eps, weight_D
        self.folds = weight_D.dtype in FOLDING
        self._small = self.folds and weight_D.device.type == "cpu"  # rows over their length, without sqrt(D)
        D = weight_D.shape[0]
        self.few_eps = eps * D  # what `engine.model.few.normed` adds
        self._eps = torch.full((1, 1), self.few_eps, dtype=weight_D.dtype, device=weight_D.device)
        self._factors = weight_D * D**0.5

    def __call__(self, x_TD: Tensor) -> Tensor:
        """The rows normed [T, D], but for what `into` has put into the next product."""
        if not self._small:
            return F.rms_norm(x_TD, self.shape, None if self.folds else self.weight, self.eps)
        length = torch.linalg.vector_norm(x_TD, 2, -1, True)
        return x_TD * torch.addcmul(self._eps, length, length).rsqrt_()

    def whole(self, x_TD: Tensor) -> Tensor:
        """The rows normed [T, D], weights included."""
        if not self._small:
            return F.rms_norm(x_TD, self.shape, self.weight, self.eps)
        return self(x_TD).mul_(self._factors)

    @cached_property
    def few_factors(self) -> Array:
        """What a row that it normed is multiplied by [D], where nothing folds them into a product."""
        factors: Array = self._factors.numpy()
        return factors

    @property
    def _scale(self) -> Tensor | None:
        """What the rows [T, D] have yet to be multiplied by."""
        return (self._factors if self._small else self.weight) if self.folds else None

    def product(self, weight_DO: Tensor) -> Product:
        """The product that reads the normed rows."""
        return Product(weight_DO, self._scale)

    def into(self, weight_DO: Tensor) -> Tensor:
        """Its weights [D, O], for one that is made by other means."""
        scale = self._scale
        return weight_DO if scale is None else weight_DO * scale.unsqueeze(1)


class Spoken:
    """What tokens bring to a product: a row [O] each, from a table that is made once where it is small."""

    def __init__(
        self, embed: Callable[[Tensor], Tensor], norm: Norm | None, weight_DO: Tensor, bias_O: Tensor | None, vocab: int
    ) -> None:
        """`vocab` counts the ids; 0 makes no table."""
        self.embed, self.norm, self.weight, self.bias, self.vocab = embed, norm, weight_DO, bias_O, vocab
        self.small = self.fits(vocab, weight_DO)

    @staticmethod
    def fits(vocab: int, weight_DO: Tensor) -> bool:
        """Whether there is a table."""
        return 0 < vocab * weight_DO.shape[1] * weight_DO.element_size() <= TABLE

    def __call__(self, ids_T: Tensor) -> Tensor:
        """Rows [T, O] of these ids."""
        return F.embedding(ids_T, self._table) if self.small else self._made(ids_T)

    def _made(self, ids_T: Tensor) -> Tensor:
        x = self.embed(ids_T)
        x = x if self.norm is None else self.norm(x)
        return torch.mm(x, self.weight) if self.bias is None else torch.addmm(self.bias, x, self.weight)

    def few(self, ids_T: Tensor) -> Array:
        """Those of few ids [T, O], where there is a table."""
        rows: Array = self._array[ids_T.numpy()]
        return rows

    @cached_property
    def _array(self) -> Array:
        return self._table.numpy()

    @cached_property
    def _table(self) -> Tensor:
        return self._made(torch.arange(self.vocab, device=self.weight.device))


class LeanBlock:
    """The products of one block; what is normed before the attention is the caller's."""

    def __init__(self, weights: Mapping[str, Tensor], at: str, spec: Spec) -> None:
        self.spec, a, m = spec, f"{at}.self_attn", f"{at}.mlp"
        self.qkv = transposed(torch.cat(self._turning(weights, a, "weight")))
        biased = f"{a}.q_proj.bias" in weights
        self.bias = torch.cat(self._turning(weights, a, "bias")) if biased else None
        self.out, self.down = (
            Product(transposed(weights[f"{at}.{n}_proj.weight"])) for n in ("self_attn.o", "mlp.down")
        )
        self.norm = Norm(weights[f"{at}.post_attention_layernorm.weight"], spec.eps)
        both = torch.cat([weights[f"{m}.{n}_proj.weight"] for n in ("gate", "up")])
        self.gate_up = self.norm.product(transposed(both))

    def _turning(self, weights: Mapping[str, Tensor], a: str, kind: str) -> list[Tensor]:
        """Queries and keys with the two channels side by side that rotary positions turn together, and values."""
        q, k, v = (weights[f"{a}.{n}_proj.{kind}"] for n in ("q", "k", "v"))
        C = self.spec.channels
        return [interleave(q, self.spec.heads, C), interleave(k, self.spec.kv_heads, C), v]

    def few(self, *before: Product) -> Block | None:
        """The block for few rows, where it and the products `before` it are small."""
        if self.spec.dynamic > 1 or not small(self.norm.weight, [*before, self.out, self.gate_up, self.down]):
            return None
        sizes = self.spec.heads, self.spec.kv_heads, self.spec.channels
        return Block(*sizes, self.out, self.gate_up, self.down, self.norm.few_eps)

    def close(self, x_TD: Tensor, attended_TE: Tensor) -> Tensor:
        """The rest of the block after attention: output projection, residual, MLP, residual [T, D]."""
        x = self.out.onto(x_TD, attended_TE)
        gate, up = self.gate_up(self.norm(x)).chunk(2, -1)
        return self.down.onto(x, F.silu(gate).mul_(up))


class Slots(Protocol):
    """What a level asks of a memory."""

    def reserve(self, slots: int) -> None:
        """See `Memory.reserve`."""

    def attend(
        self, qkv_TO: Tensor, where: slice, at: int, mask: Tensor | None = None, /, *, last: bool = False
    ) -> Tensor:
        """See `Memory.attend`."""


class Memory:
    """Keys and values of a head: `length` stable rows of committed pairs, then whatever a tree writes beyond them."""

    def __init__(self, spec: Spec, capacity: int, like: Tensor) -> None:
        self.spec, self.length = spec, 0
        self.levels: dict[tuple[int, int], Any] = {}  # captured over these very slots (engine.heads.graphs)
        self._kv = like.new_zeros(capacity, 2 * spec.kv_heads, spec.channels)
        self._turns = Turns(spec, capacity, like)

    @property
    def slots(self) -> int:
        """Slots allocated."""
        return self._kv.shape[0]

    @property
    def like(self) -> Tensor:
        """A tensor of this memory's type and device."""
        return self._kv

    @cached_property
    def arrays(self) -> tuple[Array, FewTurns]:
        """Keys and values [S, 2K, C] and rotations of all positions [S, 1, C / 2], as arrays over the same memory."""
        return self._kv.numpy(), self._turns.table.numpy()

    @torch.inference_mode()
    def empty(self) -> None:
        """Begin anew, with nothing left in any slot."""
        self.length = 0
        self._kv.zero_()

    def reserve(self, slots: int) -> None:
        """Make room for that many slots in all."""
        if slots > self.slots:
            more = max(slots, 3 * self.slots // 2) - self.slots
            self._kv = F.pad(self._kv, (0, 0, 0, 0, 0, more))
            self._turns = Turns(self.spec, self.slots, self._kv)
            self.levels = {}
            self.__dict__.pop("arrays", None)

    def attend(
        self, qkv_TO: Tensor, where: slice, at: int, mask: Tensor | None = None, *, last: bool = False
    ) -> Tensor:
        """Attention of projected rows at positions `where`, whose keys and values go to slots from `at` on [T, H * C];
        with `last` that of the last row alone [1, H * C].

        The additive `mask` [T, at + T] says which slots a row sees; without one it is all up to its own.
        """
        T = qkv_TO.shape[0]
        qkv = self._turned(qkv_TO, where)
        self._kv[at : at + T] = qkv[:, self.spec.heads :]
        if last:
            qkv, mask = qkv[-1:], None if mask is None else mask[-1:]
        elif mask is None and at and T > 1:
            mask = later(T, at, qkv)
        return self._look(qkv, at + T, mask)

    def attend_at(self, qkv_TO: Tensor, where_T: Tensor, slots_T: Tensor, mask_TS: Tensor) -> Tensor:
        """The same with positions and slots of the rows in tensors, over the first S slots [T, H * C]."""
        qkv = self._turned(qkv_TO, where_T)
        self._kv.index_copy_(0, slots_T, qkv[:, self.spec.heads :])
        return self._look(qkv, mask_TS.shape[1], mask_TS)

    def _turned(self, qkv_TO: Tensor, where: slice | Tensor) -> Tensor:
        """Queries, keys and values [T, H + 2K, C], the first two rotated."""
        H, K = self.spec.heads, self.spec.kv_heads
        qkv = qkv_TO.view(qkv_TO.shape[0], H + 2 * K, self.spec.channels)
        self._turns(qkv[:, : H + K], where)
        return qkv

    def _look(self, qkv: Tensor, end: int, mask: Tensor | None) -> Tensor:
        """Attention of the queries over the slots before `end` [T, H * C]."""
        queries = qkv[:, : self.spec.heads]
        return look(queries, self._kv[:end], mask, causal=mask is None and qkv.shape[0] > 1)


def look(queries_THC: Tensor, kv_SKC: Tensor, mask: Tensor | None = None, *, causal: bool = False) -> Tensor:
    """Attention [T, H * C] over S slots of K keys and K values each; without a mask each row sees all of them."""
    (T, H, C), (S, both) = queries_THC.shape, kv_SKC.shape[:2]
    K = both // 2
    slots = kv_SKC.view(S, 2, 1, K, C).permute(1, 2, 3, 0, 4)
    if mask is not None and queries_THC.is_cuda:  # the fused kernel there has a mask or grouped queries, not both
        group = H // K
        rows = queries_THC.reshape(T, K, group, C).transpose(0, 1).reshape(1, K, T * group, C)
        by_row = mask.unsqueeze(1).expand(T, group, S).reshape(T * group, S)
        keys, values = slots.unbind(0)
        out = attention(rows, keys, values, aligned(by_row), C**-0.5)
        return out.view(K, T, group, C).transpose(0, 1).reshape(T, H * C)
    if K == 1:
        slots = slots.expand(2, 1, H, S, C)  # one head serves all queries without a copy
    keys, values = slots.unbind(0)
    queries = queries_THC.transpose(0, 1).unsqueeze(0)
    grouped = 1 < K < H
    mask = None if mask is None else aligned(mask)
    out = F.scaled_dot_product_attention(queries, keys, values, mask, is_causal=causal, enable_gqa=grouped)
    return out.transpose(1, 2).reshape(T, H * C)


class Turns:
    """Rotations of all positions: complex [S, 1, C/2] where type and device have such numbers, else cosines and
    sines. Where they depend on the length of the text, those beyond the context are made as it grows."""

    def __init__(self, spec: Spec, slots: int, like: Tensor) -> None:
        self.spec, self._like = spec, like.new_empty(0)
        kind = like.device.type
        self._complex = (like.dtype in FOLDING or kind == "cuda") and kind not in NARROW
        whole = -(-slots // STEP) * STEP  # so that runs of about one length share a table
        self._known = min(slots, spec.context) if spec.dynamic > 1 else whole
        self._table = first_rotations(spec, self._known, self._like.dtype, self._like.device, self._complex)

    @property
    def table(self) -> Tensor:
        """Rotations of all positions [S, 1, C / 2], where they are complex numbers."""
        return self._table[0]

    def __call__(self, x_THC: Tensor, where: slice | Tensor) -> None:
        """Turn queries and keys [T, heads, C] in place; pairs of channels lie side by side."""
        if isinstance(where, slice) and where.stop > self._known:  # the text ends with these rows
            turns = rotations(self.spec, where.start, where.stop, self._like.dtype, self._like.device, self._complex)
        else:
            turns = tuple(table[where] for table in self._table)
        pairs = x_THC.view(*x_THC.shape[:-1], x_THC.shape[-1] // 2, 2)
        turn(pairs, turns)


@lru_cache(maxsize=8)
@torch.inference_mode(False)
def first_rotations(
    spec: Spec, end: int, dtype: torch.dtype, device: torch.device, as_complex: bool
) -> tuple[Tensor, ...]:
    """`rotations` from the first position on: all runs of a head share them, and none writes to them."""
    return rotations(spec, 0, end, dtype, device, as_complex)


def rotations(
    spec: Spec, first: int, end: int, dtype: torch.dtype, device: torch.device, as_complex: bool
) -> tuple[Tensor, ...]:
    """Rotations [end - first, 1, C / 2] of a text of `end` positions from the `first` on: complex, or cosines and
    sines."""
    wide = torch.empty(0, dtype=dtype if dtype in FOLDING else torch.float32, device=device)
    half, (cos, sin) = spec.channels // 2, rope(spec, end, wide, first)
    cos, sin = cos[:, None, :half].contiguous(), sin[:, None, half:].contiguous()  # each angle once
    return (torch.complex(cos, sin),) if as_complex else (cos.to(dtype), sin.to(dtype))


def later(T: int, at: int, like: Tensor) -> Tensor:
    """Additive mask [T, at + T] of rows that come one after the other behind `at` slots that all of them see."""
    mask = like.new_zeros(T, at + T)
    mask[:, at:].fill_(-torch.inf).triu_(1)
    return mask
