"""The weights of the decoders of encoder-decoder models: BART and its kin, T5 and its kin, taken from transformers'
modules, fused and transposed for `crossed`.

Dimension key as in crossed.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from engine.model.products import Product
from engine.model.weights import transposed

POST = ("bart", "marian", "plbart")  # a norm stands behind each residual sum
PRE = ("mbart", "pegasus", "m2m_100")  # a norm stands before each part, and one behind the last layer
RELATIVE = ("t5", "mt5")  # before each part, without mean; positions are biases of the attention


@dataclass(frozen=True, eq=False, slots=True)
class Norm:
    """Layer norm; without a bias, by the root mean square alone (T5)."""

    weight: Tensor
    bias: Tensor | None
    eps: float

    def __call__(self, x_TD: Tensor) -> Tensor:
        """The rows, normed."""
        if self.bias is None:
            return F.rms_norm(x_TD, self.weight.shape, self.weight, self.eps)
        return F.layer_norm(x_TD, self.weight.shape, self.weight, self.bias, self.eps)


@dataclass(frozen=True, eq=False, slots=True)
class Linear:
    """Rows [T, in] times weights [in, out], and a bias where the family has one."""

    product: Product
    bias: Tensor | None

    def __call__(self, x_TI: Tensor) -> Tensor:
        """The rows [T, out]."""
        return self.product(x_TI, self.bias)


@dataclass(frozen=True, eq=False, slots=True)
class Block:
    """One decoder layer: attention to itself, attention to the source, a step for each row."""

    norms: tuple[Norm, Norm, Norm]
    qkv: Linear
    out: Linear
    cross_q: Linear
    cross_kv: Linear
    cross_out: Linear
    up: Linear
    gate: Linear | None
    down: Linear


def heads_of(config: Any) -> int:
    """Heads of each attention of the decoder."""
    return int(config.num_heads if config.model_type in RELATIVE else config.decoder_attention_heads)


def blocks_of(body: Any) -> list[Block]:
    """The layers of a transformers decoder, fused; it is emptied."""
    return [_t5_block(block) for block in body.block] if hasattr(body, "block") else [*map(_bart_block, body.layers)]


def norm_of(module: Any) -> Norm | None:
    """A norm's weights; None of no module."""
    if module is None:
        return None
    bias = getattr(module, "bias", None)
    eps = module.variance_epsilon if bias is None else module.eps
    return Norm(module.weight.data, None if bias is None else bias.data, eps)


def _some(module: Any) -> Norm:
    found = norm_of(module)
    assert found is not None
    return found


def _linear(*linears: Any) -> Linear:
    """Linear layers as one, side by side; they are emptied."""
    weight = transposed(torch.cat([x.weight.data for x in linears]))
    bias = None if linears[0].bias is None else torch.cat([x.bias.data for x in linears])
    for x in linears:
        x.weight.data = x.weight.data.new_empty(0)
    return Linear(Product(weight), bias)


def _bart_block(block: Any) -> Block:
    a, c = block.self_attn, block.encoder_attn
    norms = (block.self_attn_layer_norm, block.encoder_attn_layer_norm, block.final_layer_norm)
    return Block(
        norms=(_some(norms[0]), _some(norms[1]), _some(norms[2])),
        qkv=_linear(a.q_proj, a.k_proj, a.v_proj),
        out=_linear(a.out_proj),
        cross_q=_linear(c.q_proj),
        cross_kv=_linear(c.k_proj, c.v_proj),
        cross_out=_linear(c.out_proj),
        up=_linear(block.fc1),
        gate=None,
        down=_linear(block.fc2),
    )


def _t5_block(block: Any) -> Block:
    own, cross, step = block.layer
    a, c, d = own.SelfAttention, cross.EncDecAttention, step.DenseReluDense
    gated = hasattr(d, "wi_0")
    return Block(
        norms=(_some(own.layer_norm), _some(cross.layer_norm), _some(step.layer_norm)),
        qkv=_linear(a.q, a.k, a.v),
        out=_linear(a.o),
        cross_q=_linear(c.q),
        cross_kv=_linear(c.k, c.v),
        cross_out=_linear(c.o),
        up=_linear(d.wi_1 if gated else d.wi),
        gate=_linear(d.wi_0) if gated else None,
        down=_linear(d.wo),
    )


def places_of(body: Any, config: Any) -> tuple[Tensor | None, int]:
    """Embeddings of positions, and where the first one stands; none where distances are biases."""
    table = getattr(body, "embed_positions", None)
    if table is None:
        return None, 0
    if config.model_type == "m2m_100":
        return table.weights.to(body.embed_tokens.weight.dtype), config.pad_token_id + 1
    return table.weight.data, getattr(table, "offset", 0)


def biases_of(body: Any) -> Tensor:
    """T5's relative biases by distance, 0 to the last that has one of its own [N, H]."""
    a = body.block[0].layer[0].SelfAttention
    most = a.relative_attention_max_distance
    far = -torch.arange(most + 1, device=a.relative_attention_bias.weight.device)
    buckets = a._relative_position_bucket(
        far, bidirectional=False, num_buckets=a.relative_attention_num_buckets, max_distance=most
    )
    return a.relative_attention_bias.weight.data[buckets]  # type: ignore[no-any-return]


def last_bias_of(hf: Any, never: Sequence[int], like: Tensor) -> Tensor | None:
    """What is added to the logits [V]: the model's own bias, and minus infinity where nothing may be written."""
    own = getattr(hf, "final_logits_bias", None)
    if not never and (own is None or own.is_meta or not bool(own.any())):
        return None
    bias: Tensor = like.new_zeros(len(like)) if own is None else own[0].to(like.dtype).clone()
    bias[list(never)] = -torch.inf
    return bias
