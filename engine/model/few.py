"""Few rows through a small network, in numpy: steps of a small draft model or of a draft head, and what they read anew.

Such a pass is some dozens of calls on few numbers each, and a call of torch costs several times what one of numpy does.
Its products are those of the torch forward where that has them in fp16 (`Product.few`): half of the bytes, which have
to be fetched anew behind each pass of the target. More rows (`FEW`), larger networks (`MOST`) and other types are
torch's, which does them faster or at all. The weights are those of the torch forward, and keys and values go to its
memory, so the two take turns as they like; what they give differs by rounding (tests/engine/model/test_few.py). Only
what proposes tokens is run so: a target's rows are the same sums however many there are, as far as that can be had,
since lossless methods hang on them.

Dimension key: T rows, D width, O = (H + 2K) C outputs of the projection before attention, H query heads, K key-value
heads, C channels a head, S slots, F inner width of the MLP.
"""

from collections.abc import Sequence
from functools import cache
from itertools import chain
from math import sqrt

import numpy as np
import torch
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController
from torch import Tensor

from engine.model.decoder import Rows
from engine.model.products import Array, Product
from engine.model.weights import Layer, Mlp

FEW = 16  # rows
MOST = 1 << 21  # elements of all matrices of a network, 4 MB in fp16
TABLE = 1 << 26  # most bytes of a table of what each token brings to the first product
Turns = NDArray[np.complex64]
ONE, NEVER = np.float32(1), np.float32(-np.inf)


def small(like: Tensor, products: Sequence[Product]) -> bool:
    """Whether few rows of this type go through a network of these products in numpy here."""
    elements = sum(product.inputs * product.outputs for product in products)
    return like.device.type == "cpu" and like.dtype == torch.float32 and elements <= MOST and _one_thread()


@cache
def _one_thread() -> bool:
    """Have numpy's products use one thread: another would be woken for each, and then stand in the way of torch's."""
    ThreadpoolController().select(internal_api="openblas").limit(limits=1)
    return True


def quiet() -> np.errstate:
    """As torch: what is no number says so by itself, and exp of a large one is infinite, as SiLU wants it."""
    return np.errstate(all="ignore")


def normed(x_TD: Array, eps: float) -> Array:
    """Rows over their length, without sqrt(D) and weights, which the next product holds; `eps` is D times the
    norm's."""
    if len(x_TD) == 1:
        return x_TD * np.float32(1 / sqrt(float(x_TD[0].dot(x_TD[0])) + eps))
    lengths = np.einsum("td,td->t", x_TD, x_TD)
    lengths += np.float32(eps)
    rows: Array = x_TD / np.sqrt(lengths, lengths)[:, None]
    return rows


def gated(both_T2F: Array) -> Array:
    """SiLU(gate) * up of both side by side [T, F]."""
    F = both_T2F.shape[1] // 2
    gate = both_T2F[:, :F]
    out = np.negative(gate)
    np.exp(out, out)
    np.add(out, ONE, out)
    np.divide(gate, out, out)
    np.multiply(out, both_T2F[:, F:], out)
    return out


def look(queries_THC: Array, kv_S2KC: Array, scale: np.float32, mask_TS: Array | None = None) -> Array:
    """Attention of T rows' queries over S slots, each of K keys, then K values [T, H * C]. The additive mask says which
    slots a row sees; without one it is all up to its own, the last of the slots being the rows'."""
    (T, H, C), (S, both) = queries_THC.shape, kv_S2KC.shape[:2]
    K, G = both // 2, 2 * H // both
    keys, values = kv_S2KC[:, :K].transpose(1, 2, 0), kv_S2KC[:, K:].transpose(1, 0, 2)
    scores = np.matmul(_by_head(queries_THC.reshape(T, K, G, C)), keys)
    scores *= scale
    if mask_TS is not None or T > 1:
        by_row = scores.reshape(K, T, G, S)
        if mask_TS is not None:
            by_row += mask_TS[:, None]
        else:
            for t in range(1, T):
                by_row[:, t - 1, :, S - T + t :] = NEVER
    scores -= np.maximum.reduce(scores, -1, keepdims=True)
    np.exp(scores, out=scores)
    out = np.matmul(scores, values)
    out /= np.add.reduce(scores, -1, keepdims=True)
    return _by_head(out.reshape(K, T, G, C)).reshape(T, H * C)


def _by_head(x_ABGC: Array) -> Array:
    """Rows of the queries of a group, by what came second before [B, A * G, C]."""
    A, B, G, C = x_ABGC.shape
    turned: Array = (x_ABGC if A == 1 or B == 1 else x_ABGC.swapaxes(0, 1)).reshape(B, A * G, C)
    return turned


class Block:
    """A Llama-like block for few rows, from its attention on."""

    def __init__(
        self, heads: int, kv_heads: int, channels: int, out: Product, gate_up: Product, down: Product, eps: float
    ) -> None:
        """`gate_up` holds the weights of the norm before it; `eps` is that norm's, times D."""
        self.heads, self.rotated, self.channels, self.eps = heads, heads + kv_heads, channels, eps
        self.out, self.gate_up, self.down = out.few, gate_up.few, down.few
        self.scale = np.float32(channels**-0.5)

    def __call__(
        self,
        x_TD: Array,
        qkv_TO: Array,
        kv_S2KC: Array,
        at: int,
        turns: Turns,
        mask_TS: Array | None = None,
        *,
        last: bool = False,
    ) -> Array:
        """The block's output for the rows `x_TD` with these projections (which are turned in place), whose keys and
        values go to slots from `at` on [T, D]; with `last` that of the last row alone [1, D]. They see the slots up to
        their own, or those that the additive mask tells."""
        T = len(x_TD)
        qkv = qkv_TO.reshape(T, -1, self.channels)
        pairs = qkv[:, : self.rotated].view(np.complex64)
        pairs *= turns
        kv_S2KC[at : at + T] = qkv[:, self.heads :]
        if last and T > 1:
            x_TD, qkv, mask_TS = x_TD[-1:], qkv[-1:], None if mask_TS is None else mask_TS[-1:]
        x = self.out(look(qkv[:, : self.heads], kv_S2KC[: at + T], self.scale, mask_TS))
        x += x_TD
        y = self.down(gated(self.gate_up(normed(x, self.eps))))
        y += x
        return y


class Few:
    """A decoder of such blocks."""

    def __init__(
        self,
        embedding_VD: Tensor,
        blocks: Sequence[tuple[Product, Block]],
        norm_D: Tensor,
        lm_head: Product,
        eps: float,
    ) -> None:
        """Of each block the projection before its attention, and the rest of it; `norm_D` are the weights of the last
        norm times sqrt(D), `eps` is that of all norms times D."""
        self.embedding, self.norm, self.lm_head = embedding_VD.numpy(), norm_D.numpy(), lm_head.few
        self.blocks, self.eps = [(qkv.few, block) for qkv, block in blocks], eps
        self.spoken = _spoken(self.embedding, blocks[0][0], eps)  # [V, O], where it is small

    def run(self, ids_T: Array, at: int, caches: Sequence[Array], turns: Turns, want: int) -> Rows:
        """`LeanDecoder.run` of a chain of tokens in slots from `at` on, which are also their positions. `caches` are
        the keys and values of the blocks [S, 2K, C], `turns` are the rotations of the positions [T, 1, C / 2]."""
        x = self.embedding[ids_T]
        with quiet():
            known = None if self.spoken is None else self.spoken[ids_T]  # a copy, which a block turns in place
            for (qkv, block), kv in zip(self.blocks, caches, strict=True):
                x = block(x, qkv(normed(x, self.eps)) if known is None else known, kv, at, turns)
                known = None
            last = normed(x, self.eps)
            last *= self.norm
            return Rows(torch.from_numpy(self.lm_head(last[len(last) - want :])), torch.from_numpy(last), None)


def _spoken(embedding_VD: Array, qkv: Product, eps: float) -> Array | None:
    """What each token brings to the projection of the first block [V, O]; None where that is a large table."""
    if len(embedding_VD) * qkv.outputs * embedding_VD.itemsize > TABLE:
        return None
    rows: Array = normed(embedding_VD, eps) @ qkv.whole.numpy()
    return rows


def few_of(
    embedding_VD: Tensor,
    layers: Sequence[Layer],
    norm_D: Tensor,
    lm_head: Product,
    sizes: tuple[int, int, int],
    eps: float,
) -> Few | None:
    """What runs few rows through the layers of a decoder; None where they are not small, or have more to them than a
    `Block`: biases, norms of queries, sinks, norms after, experts, a rotation of their own. `sizes` are heads,
    key-value heads and channels, the rest is as for `Few`."""
    parts = list[tuple[Product, Product, Product, Product]]()
    for w in layers:
        more = (w.qkv_bias, w.q_norm, w.sinks, w.out_bias, w.norm_out, w.norm_end)
        if not isinstance(w.mlp, Mlp) or w.rope or any(one is not None for one in more):
            return None
        if w.mlp.gate_up_bias is not None or w.mlp.down_bias is not None:
            return None
        parts.append((w.qkv, w.out, w.mlp.gate_up, w.mlp.down))
    if not small(embedding_VD, [lm_head, *chain.from_iterable(parts)]):
        return None
    blocks = [(qkv, Block(*sizes, out, gate_up, down, eps)) for qkv, out, gate_up, down in parts]
    return Few(embedding_VD, blocks, norm_D, lm_head, eps)
