"""The weights of one Llama-like block, fused, transposed and reordered for the lean forward.

Rows of the q and k projections are reordered so that the two channels which rotary positions turn together (i and i +
C/2) lie side by side; queries and keys meet only in dot products, which do not mind.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor


@dataclass(eq=False)
class Layer:
    """One block; products take rows [T, in] times weights [in, out]. None where the family has none."""

    norm_in: Tensor
    qkv: Tensor
    qkv_bias: Tensor | None
    q_norm: Tensor | None
    k_norm: Tensor | None
    out: Tensor
    out_bias: Tensor | None
    norm_mid: Tensor
    gate_up: Tensor
    gate_up_bias: Tensor | None
    down: Tensor
    down_bias: Tensor | None


def interleave(rows: Tensor, heads: int, channels: int) -> Tensor:
    """Rows [heads * C, ...] with channel i and i + C/2 of each head side by side."""
    split = rows.view(heads, 2, channels // 2, *rows.shape[1:])
    return split.transpose(1, 2).reshape(rows.shape)


def transposed(weight: Tensor) -> Tensor:
    """W^T for a row times W^T: contiguous on a CPU, where that is a quarter faster; a view elsewhere."""
    return weight.t().contiguous() if weight.device.type == "cpu" else weight.t()


def layer_of(block: Any, heads: int, kv: int, channels: int, folded: bool) -> Layer:
    """Take a transformers block apart, and empty it."""
    a, m = block.self_attn, block.mlp
    scale = a.q_proj.weight.shape[1] ** 0.5
    norm_in, norm_mid = block.input_layernorm.weight.data, block.post_attention_layernorm.weight.data
    q, k = (interleave(p.weight.data, n, channels) for p, n in ((a.q_proj, heads), (a.k_proj, kv)))
    qkv = torch.cat((q, k, a.v_proj.weight.data))
    gate_up = torch.cat((m.gate_proj.weight.data, m.up_proj.weight.data))
    layer = Layer(
        norm_in=norm_in,
        qkv=transposed(qkv * (norm_in * scale) if folded else qkv),
        qkv_bias=_qkv_bias(a, heads, kv, channels),
        q_norm=interleave(a.q_norm.weight.data, 1, channels) if hasattr(a, "q_norm") else None,
        k_norm=interleave(a.k_norm.weight.data, 1, channels) if hasattr(a, "k_norm") else None,
        out=transposed(a.o_proj.weight.data),
        out_bias=_bias(a.o_proj),
        norm_mid=norm_mid,
        gate_up=transposed(gate_up * (norm_mid * scale) if folded else gate_up),
        gate_up_bias=None if m.gate_proj.bias is None else torch.cat((m.gate_proj.bias.data, m.up_proj.bias.data)),
        down=transposed(m.down_proj.weight.data),
        down_bias=_bias(m.down_proj),
    )
    fused = (a.q_proj, a.k_proj, a.v_proj, m.gate_proj, m.up_proj)
    for projection in (*fused, a.o_proj, m.down_proj) if layer.out.is_contiguous() else fused:
        projection.weight.data = projection.weight.data.new_empty(0)
    return layer


def _bias(projection: Any) -> Tensor | None:
    return None if projection.bias is None else projection.bias.data


def _qkv_bias(a: Any, heads: int, kv: int, channels: int) -> Tensor | None:
    if a.q_proj.bias is None:
        return None
    q, k = (interleave(p.bias.data, n, channels) for p, n in ((a.q_proj, heads), (a.k_proj, kv)))
    return torch.cat((q, k, a.v_proj.bias.data))
