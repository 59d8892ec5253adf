"""One row through a small network, in numpy: a step of a small draft model, or of a draft head.

Such a step is some dozens of calls on a few hundred numbers each, and a call of torch costs several times what one of
numpy does. Numpy's product of one row in fp32 also takes less than one with packed fp16, while the matrices stay in a
cache (`MOST`). More rows than one, larger networks and other types are torch's, which does them faster or at all. The
weights are those of the torch forward, and keys and values go to its memory, so the two take turns as they like; what
they give differs by rounding (tests/engine/model/test_single.py). Only what proposes tokens is run so: a target's rows
are the same sums however many there are, as far as that can be had, since lossless methods hang on them.

Dimension key: D width, O = (H + 2K) C outputs of the projection before attention, H query heads, K key-value heads, C
channels a head, S slots, F inner width of the MLP.
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
from engine.model.products import Product
from engine.model.weights import Layer, Mlp

MOST = 1 << 21  # elements of all matrices of a network, 8 MB in fp32
TABLE = 1 << 26  # most bytes of a table of what each token brings to the first product
Row = NDArray[np.float32]
Turn = NDArray[np.complex64]
ONE = np.float32(1)


def small(like: Tensor, products: Sequence[Product]) -> bool:
    """Whether a network of these products runs rows of this type one by one here."""
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


def normed(x_D: Row, eps: float) -> Row:
    """A row over its length, without sqrt(D) and weights, which the next product holds; `eps` is D times the norm's."""
    return x_D * np.float32(1 / sqrt(float(x_D.dot(x_D)) + eps))


def gated(both_2F: Row) -> Row:
    """SiLU(gate) * up of both side by side [F]."""
    F = len(both_2F) // 2
    gate = both_2F[:F]
    out = np.negative(gate)
    np.exp(out, out)
    np.add(out, ONE, out)
    np.divide(gate, out, out)
    np.multiply(out, both_2F[F:], out)
    return out


def look(queries_HC: Row, kv_S2KC: Row, scale: np.float32) -> Row:
    """Attention of one row's queries over all S slots, each of K keys, then K values [H * C]."""
    (H, C), K = queries_HC.shape, kv_S2KC.shape[1] // 2
    keys, values = kv_S2KC[:, :K].transpose(1, 2, 0), kv_S2KC[:, K:].transpose(1, 0, 2)
    scores = np.matmul(queries_HC.reshape(K, H // K, C), keys)
    scores *= scale
    scores -= np.maximum.reduce(scores, -1, keepdims=True)
    np.exp(scores, out=scores)
    out = np.matmul(scores, values)
    out /= np.add.reduce(scores, -1, keepdims=True)
    flat: Row = out.reshape(H * C)
    return flat


class Block:
    """A Llama-like block for one row, from its attention on."""

    def __init__(
        self, heads: int, kv_heads: int, channels: int, out: Product, gate_up: Product, down: Product, eps: float
    ) -> None:
        """`gate_up` holds the weights of the norm before it; `eps` is that norm's, times D."""
        self.heads, self.rotated, self.channels, self.eps = heads, heads + kv_heads, channels, eps
        self.out, self.gate_up, self.down = out.single, gate_up.single, down.single
        self.scale = np.float32(channels**-0.5)

    def __call__(self, x_D: Row, qkv_O: Row, kv_S2KC: Row, at: int, turn: Turn) -> Row:
        """The block's output [D] for the row `x_D` with these projections (which are turned in place), whose keys and
        values go to slot `at`; it sees the slots up to that."""
        qkv = qkv_O.reshape(-1, self.channels)
        pairs = qkv[: self.rotated].view(np.complex64)
        pairs *= turn
        kv_S2KC[at] = qkv[self.heads :]
        x = look(qkv[: self.heads], kv_S2KC[: at + 1], self.scale).dot(self.out)
        x += x_D
        y = gated(normed(x, self.eps).dot(self.gate_up)).dot(self.down)
        y += x
        row: Row = y
        return row


class Single:
    """A decoder of such blocks for one row."""

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
        self.embedding, self.norm, self.lm_head = embedding_VD.numpy(), norm_D.numpy(), lm_head.single
        self.blocks, self.eps = [(qkv.single, block) for qkv, block in blocks], eps
        self.spoken = _spoken(self.embedding, self.blocks[0][0], eps)  # [V, O], where it is small

    def run(self, token: int, at: int, caches: Sequence[Row], turn: Turn) -> Rows:
        """`LeanDecoder.run` of one token in slot `at`, which is also its position when nothing branches. `caches` are
        the keys and values of the blocks [S, 2K, C], `turn` is the rotation of its position [1, C / 2]."""
        x = self.embedding[token]
        with quiet():
            known = None if self.spoken is None else self.spoken[token].copy()  # a block turns it in place
            for (qkv, block), kv in zip(self.blocks, caches, strict=True):
                x = block(x, normed(x, self.eps).dot(qkv) if known is None else known, kv, at, turn)
                known = None
            last = normed(x, self.eps) * self.norm
            return Rows(tensor(last.dot(self.lm_head)), tensor(last), None)


def _spoken(embedding_VD: Row, qkv_DO: Row, eps: float) -> Row | None:
    """What each token brings to the projection of the first block [V, O]; None where that is a large table."""
    if len(embedding_VD) * qkv_DO.shape[1] * qkv_DO.itemsize > TABLE:
        return None
    lengths = np.sqrt(np.einsum("vd,vd->v", embedding_VD, embedding_VD) + np.float32(eps))
    rows: Row = (embedding_VD / lengths[:, None]) @ qkv_DO
    return rows


def tensor(row_D: Row) -> Tensor:
    """A row as torch has it [1, D]."""
    return torch.from_numpy(row_D).unsqueeze(0)


def single_of(
    embedding_VD: Tensor,
    layers: Sequence[Layer],
    norm_D: Tensor,
    lm_head: Product,
    sizes: tuple[int, int, int],
    eps: float,
) -> Single | None:
    """What runs the layers of a decoder row by row; None where they are not small, or have more to them than a `Block`:
    biases, norms of queries, sinks, norms after, experts, a rotation of their own. `sizes` are heads, key-value heads
    and channels, the rest is as for `Single`."""
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
    return Single(embedding_VD, blocks, norm_D, lm_head, eps)
