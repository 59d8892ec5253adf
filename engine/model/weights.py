"""The weights of one Llama-like block, fused, transposed and reordered for the lean forward.

Rows of the q and k projections are reordered so that the two channels which rotary positions turn together (i and i +
C/2) lie side by side; queries and keys meet only in dot products, which do not mind.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from engine.model.experts import Experts
from engine.model.products import Product


@dataclass(frozen=True, slots=True)
class Family:
    """What transformers calls the parts of a family's blocks, and which there are."""

    one_more: bool = False  # norms multiply by 1 + weight
    norm_mid: str = "post_attention_layernorm"  # before the MLP
    norm_out: str = ""  # after attention
    norm_end: str = ""  # after the MLP
    activation: str = "hidden_act"  # where the configuration names it
    experts: bool = False  # the MLP is a mixture of experts
    capped: bool = True  # scores are capped where the configuration says so


GEMMA = Family(one_more=True)
VAULT = replace(GEMMA, norm_mid="pre_feedforward_layernorm", activation="hidden_activation")
GEMMA_2 = replace(VAULT, norm_out="post_attention_layernorm", norm_end="post_feedforward_layernorm")
GEMMA_3 = replace(GEMMA_2, capped=False)  # its configuration has the field all the same
FAMILIES = {  # type -> what its blocks are made of
    **dict.fromkeys(("llama", "mistral", "ministral", "qwen2", "qwen3", "phi3", "seed_oss", "cwm"), Family()),
    **{"gemma": GEMMA, "vaultgemma": VAULT, "gemma2": GEMMA_2, "gemma3_text": GEMMA_3},
    "gpt_oss": Family(experts=True),
}


@dataclass(eq=False)
class Mlp:
    """The gated MLP of one block."""

    gate_up: Product
    gate_up_bias: Tensor | None
    down: Product
    down_bias: Tensor | None


@dataclass(eq=False)
class Layer:
    """One block; products take rows [T, in] times weights [in, out]. None where the family has none."""

    norm_in: Tensor
    qkv: Product
    qkv_bias: Tensor | None
    q_norm: Tensor | None
    k_norm: Tensor | None
    sinks: Tensor | None  # [H], a score that each softmax has besides those of the slots (gpt-oss)
    out: Product
    out_bias: Tensor | None
    norm_out: Tensor | None  # with the sqrt(D) of a folded norm
    norm_mid: Tensor
    mlp: Mlp | Experts
    norm_end: Tensor | None  # as norm_out
    rope: str  # the kind of layer that its rotation is for; empty where all have one


def interleave(rows: Tensor, heads: int, channels: int) -> Tensor:
    """Rows [heads * C, ...] with channel i and i + C/2 of each head side by side."""
    split = rows.view(heads, 2, channels // 2, *rows.shape[1:])
    return split.transpose(1, 2).reshape(rows.shape)


def transposed(weight: Tensor) -> Tensor:
    """W^T for a row times W^T: contiguous on a CPU, where that is a quarter faster; a view elsewhere."""
    return weight.t().contiguous() if weight.device.type == "cpu" else weight.t()


def turn(pairs: Tensor, rows: Sequence[Tensor]) -> None:
    """Rotate pairs of channels [..., 2] in place by what their rows have: complex numbers, or cosines and sines."""
    if len(rows) > 1:
        (a, b), (cos, sin) = pairs.unbind(-1), rows
        pairs.copy_(torch.stack((a * cos - b * sin, b * cos + a * sin), -1))
    elif pairs.element_size() > 2:
        torch.view_as_complex(pairs).mul_(rows[0])
    else:  # three kernels on a GPU where cosines and sines take eight
        pairs.copy_(torch.view_as_real(torch.view_as_complex(pairs.float()) * rows[0]))


def factors(norm: Any, family: Family) -> Tensor:
    """What a norm multiplies by; Gemma's is a sum, and of half types a wider one."""
    weight: Tensor = norm.weight.data
    if not family.one_more:
        return weight
    return (weight if weight.dtype == torch.float64 else weight.float()) + 1


def layer_of(block: Any, family: Family, heads: int, kv: int, channels: int, folded: bool, rope: str) -> Layer:
    """Take a transformers block apart, and empty it. Phi-3 has its projections fused already."""
    a = block.self_attn
    norm_in, norm_mid = factors(block.input_layernorm, family), factors(getattr(block, family.norm_mid), family)
    scale = len(norm_in) ** 0.5
    after = [
        factors(getattr(block, name), family) * (scale if folded else 1) if name else None
        for name in (family.norm_out, family.norm_end)
    ]
    q_norm, k_norm = (
        interleave(factors(norm, family), 1, channels) if (norm := getattr(a, name, None)) else None
        for name in ("q_norm", "k_norm")
    )
    outer = _projections(a, "qkv_proj", "q_proj", "k_proj", "v_proj")
    qkv = _qkv([p.weight.data for p in outer], heads, kv, channels)
    layer = Layer(
        norm_in=norm_in,
        qkv=Product(transposed(qkv), norm_in * scale if folded else None),
        qkv_bias=None if (bias := _biases(outer)) is None else _qkv(bias, heads, kv, channels),
        q_norm=q_norm,
        k_norm=k_norm,
        sinks=a.sinks.data if hasattr(a, "sinks") else None,
        out=Product(transposed(a.o_proj.weight.data)),
        out_bias=_bias(a.o_proj),
        norm_out=after[0],
        norm_mid=norm_mid,
        mlp=(Experts if family.experts else mlp_of)(block.mlp, norm_mid * scale if folded else None),
        norm_end=after[1],
        rope=rope,
    )
    _empty([*outer, *([a.o_proj] if layer.out.device.type == "cpu" else [])])
    return layer


def sizes(block: Any, family: Family) -> list[int]:
    """Elements of the matrices that `layer_of` would make of a block, experts left out."""
    parts = [_projections(block.self_attn, "qkv_proj", "q_proj", "k_proj", "v_proj"), [block.self_attn.o_proj]]
    if not family.experts:
        parts += [_projections(block.mlp, "gate_up_proj", "gate_proj", "up_proj"), [block.mlp.down_proj]]
    return [sum(p.weight.numel() for p in part) for part in parts]


def mlp_of(m: Any, norm_D: Tensor | None) -> Mlp:
    """Take a gated MLP apart, and empty it; `norm_D` is multiplied into what reads the rows."""
    inner = _projections(m, "gate_up_proj", "gate_proj", "up_proj")
    gate_up = torch.cat([p.weight.data for p in inner])
    mlp = Mlp(
        gate_up=Product(transposed(gate_up), norm_D),
        gate_up_bias=None if (bias := _biases(inner)) is None else torch.cat(bias),
        down=Product(transposed(m.down_proj.weight.data)),
        down_bias=_bias(m.down_proj),
    )
    _empty([*inner, *([m.down_proj] if mlp.down.device.type == "cpu" else [])])
    return mlp


def _empty(projections: Sequence[Any]) -> None:
    for projection in projections:
        projection.weight.data = projection.weight.data.new_empty(0)


def _projections(module: Any, fused: str, *apart: str) -> list[Any]:
    """The projections of these names, or the one that holds them all."""
    return [getattr(module, fused)] if hasattr(module, fused) else [getattr(module, name) for name in apart]


def _qkv(parts: Sequence[Tensor], heads: int, kv: int, channels: int) -> Tensor:
    """Rows of weights or biases of queries, keys and values, those that are turned reordered."""
    q, k, v = torch.split(torch.cat(list(parts)), [heads * channels, kv * channels, kv * channels])
    return torch.cat((interleave(q, heads, channels), interleave(k, kv, channels), v))


def _biases(projections: Sequence[Any]) -> list[Tensor] | None:
    return None if projections[0].bias is None else [p.bias.data for p in projections]


def _bias(projection: Any) -> Tensor | None:
    return None if projection.bias is None else projection.bias.data
