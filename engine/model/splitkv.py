"""Split-KV attention: few rows over many slots, on a GPU.

A fused kernel gives some rows of one head to one processor, which then goes through all slots alone. A pass over few
rows of a long text so keeps few of a GPU's processors busy, each of them long. Here the slots are cut into pieces that
are attended at once, and what they give is mixed by the logarithms of their sums of exponentials, which such kernels
compute anyway ("Flash-Decoding for long-context inference", Dao et al. 2023).

Dimension key: K key-value heads, R rows of one (the queries of its group are rows), S slots, P pieces, C channels.
"""

from functools import cache
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

HIDDEN = -3e4  # added to the score of a hidden slot: finite, so that a piece of which a row sees nothing is no NaN
LONG = 2048  # fewest slots that are cut
LEAST = 256  # fewest slots of a piece
MOST = 1024  # rows of a head, beyond which a mask of many slots is not copied: the reading of a prompt
TILE = 64  # rows that a kernel takes together
UNIT = 16  # slots of a piece, and rows of a mask, begin at a multiple of it
CLOSE, ROUGH = {torch.float64: 1e-10, torch.float32: 1e-4}, 0.03  # of the largest number that attention gives


def attention(q: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None, scale: float) -> Tensor:
    """Values [n, K, R, C] by the attention of queries of that shape over `keys` and `values` [n, K, S, C], through an
    additive mask [R, S]."""
    if mask is not None and mask.dim() == 2 and mask.shape[-1] >= LONG and q.is_cuda:
        n = pieces(q.shape[1], q.shape[2], mask.shape[-1], processors(q.device))
        if n > 1 and trusted(q.device, q.dtype, q.shape[3]):
            return split(q, keys, values, mask, scale, n)
    return F.scaled_dot_product_attention(q, keys, values, attn_mask=mask, scale=scale)


def cut(slots: int) -> int:
    """So many slots, or some more that can be cut better where there are many."""
    unit = UNIT if slots < LONG else LEAST
    return -(-slots // unit) * unit


def pieces(heads: int, rows: int, slots: int, processors: int) -> int:
    """How many pieces of the slots give each processor two things to do: a power of two that cuts them evenly, one
    where they are busy as it is or there are many rows."""
    busy, n = heads * -(-rows // TILE), 1
    if rows > MOST:
        return 1
    while busy * n < 2 * processors and slots % (2 * n * UNIT) == 0 and slots // (2 * n) >= LEAST:
        n *= 2
    return n


def split(q: Tensor, keys: Tensor, values: Tensor, mask: Tensor, scale: float, n: int) -> Tensor:
    """`attention` of one text with the slots in `n` pieces."""
    (K, R, C), each = q.shape[1:], mask.shape[-1] // n
    k, v = (x.view(K, n, each, C).transpose(0, 1) for x in (keys, values))
    parts = mask.clamp(min=HIDDEN).view(R, n, each).transpose(0, 1).unsqueeze(1).expand(n, K, R, each)
    out, sums = (on_gpu if q.is_cuda else on_cpu)(q.expand(n, -1, -1, -1), k, v, parts, scale)
    shares = sums[:, :, :R].softmax(0).unsqueeze(-1)  # [P, K, R, 1]
    return (out * shares).sum(0, keepdim=True).to(q.dtype)


def on_gpu(q: Tensor, k: Tensor, v: Tensor, mask: Tensor, scale: float) -> tuple[Tensor, Tensor]:
    """Attention [P, K, R, C], and the logarithms of its sums [P, K, at least R], by torch's kernel that takes masks."""
    kernel: Any = torch.ops.aten._scaled_dot_product_efficient_attention
    out, sums, *_ = kernel(q, k, v, mask, True, scale=scale)
    return out, sums


def on_cpu(q: Tensor, k: Tensor, v: Tensor, mask: Tensor, scale: float) -> tuple[Tensor, Tensor]:
    """The same on a CPU."""
    kernel: Any = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
    out, sums = kernel(q, k, v, attn_mask=mask, scale=scale)
    return out, sums


@cache
def trusted(device: torch.device, dtype: torch.dtype, channels: int) -> bool:
    """Whether pieces give there what all slots give, which is looked at once.

    Raises:
        OutOfMemoryError: there is no memory to look.
    """
    try:
        return apart(device, dtype, channels) <= CLOSE.get(dtype, ROUGH)
    except torch.OutOfMemoryError:
        raise
    except RuntimeError:  # torch has no such kernel for that device, type or width
        return False


def apart(device: torch.device, dtype: torch.dtype, channels: int) -> float:
    """How far pieces are from all slots at once, of the largest number: some slots are hidden from all rows, and whole
    pieces from one."""
    rng = torch.Generator("cpu").manual_seed(0)
    shapes = (1, 2, 6, channels), (2, 1, 2, 4 * LEAST, channels)
    drawn = (torch.randn(shape, generator=rng, dtype=torch.float32, device="cpu") for shape in shapes)
    mask = torch.zeros(6, 4 * LEAST, dtype=torch.float32, device="cpu")
    mask[:, -LEAST // 2 :], mask[2, LEAST:] = -torch.inf, -torch.inf
    q, (keys, values), mask = (x.to(device, dtype) for x in (*drawn, mask))
    want = F.scaled_dot_product_attention(q, keys, values, attn_mask=mask, scale=channels**-0.5)
    return float((split(q, keys, values, mask, channels**-0.5, 4) - want).abs().max() / want.abs().max())


@cache
def processors(device: torch.device) -> int:
    """Multiprocessors of a GPU."""
    return int(torch.cuda.get_device_properties(device).multi_processor_count)
