"""A lean forward over the weights of Llama-like models (Llama, Mistral without window, Qwen2, Qwen3).

Fused q,k,v and gate,up projections, a preallocated cache, rms_norm and scaled_dot_product_attention, nothing else: few
framework calls a step, which is what a small model on a CPU spends its time on. Checked against transformers in
tests/engine/model. Dimension key as in decoder.py; H heads, K key-value heads, C channels a head.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from engine.model.decoder import New, Rows

FAMILIES = ("llama", "mistral", "qwen2", "qwen3")
STATIC_ROPE = ("default", "linear", "llama3", "yarn")


@dataclass(eq=False)
class Layer:
    """One block's weights; `None` where the family has none."""

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


class LeanCache:
    """Keys and values of all layers in two tensors [L, 1, K, S, C], allocated once."""

    def __init__(self, layers: int, kv_heads: int, capacity: int, channels: int, like: Tensor) -> None:
        shape = (layers, 1, kv_heads, capacity, channels)
        self.k, self.v = like.new_zeros(shape), like.new_zeros(shape)

    def gather(self, start: int, slots: Sequence[int]) -> None:
        n = len(slots)
        if n and slots[-1] != start + n - 1:
            index = torch.tensor(slots, device=self.k.device)
            for x in (self.k, self.v):
                x[..., start : start + n, :] = x.index_select(3, index)

    def crop(self, n: int) -> None:
        """Nothing to do: slots beyond the length are never read."""


class LeanDecoder:
    """See the module text. Build with `lean_from`, which knows where the weights are."""

    def __init__(self, hf: Any) -> None:
        config, body = hf.config, hf.model
        self.heads, self.kv = config.num_attention_heads, config.num_key_value_heads
        self.channels = getattr(config, "head_dim", None) or config.hidden_size // self.heads
        self.width, self.eps = config.hidden_size, config.rms_norm_eps
        self.embedding, self.lm_head = body.embed_tokens.weight.data, hf.lm_head.weight.data
        self.lm_bias = None if hf.lm_head.bias is None else hf.lm_head.bias.data
        self.norm = body.norm.weight.data
        self.layers = [_layer(block) for block in body.layers]
        self._rotary = body.rotary_emb
        self._cos = self._sin = self.embedding.new_empty(0)

    def cache(self, capacity: int) -> LeanCache:
        self._rope(capacity)
        return LeanCache(len(self.layers), self.kv, capacity, self.channels, self.embedding)

    def _rope(self, capacity: int) -> None:
        """Tables [S, 1, C]; the sine carries the sign of rotate_half, so that a roll replaces negate-and-concatenate."""
        if len(self._cos) >= capacity:
            return
        pos = torch.arange(capacity, device=self.embedding.device).unsqueeze(0)
        cos, sin = self._rotary(self.embedding, pos)
        half = self.channels // 2
        self._cos = cos[0].unsqueeze(1).to(self.embedding.dtype)
        self._sin = torch.cat((-sin[0, :, :half], sin[0, :, half:]), -1).unsqueeze(1).to(self.embedding.dtype)

    def embed(self, ids_T: Tensor) -> Tensor:
        return F.embedding(ids_T, self.embedding)

    def head(self, last_TD: Tensor) -> Tensor:
        return F.linear(last_TD, self.lm_head, self.lm_bias)

    def run(self, cache: LeanCache, new: New, taps: Sequence[int], want: int) -> Rows:
        T, H, K, C, start = len(new.ids), self.heads, self.kv, self.channels, new.start
        end = start + T
        x = F.embedding(new.ids, self.embedding)
        where = slice(start, end) if new.block is None else new.pos
        cos, sin = self._cos[where], self._sin[where]
        mask, causal = self._mask(T, start, new.block, x)
        kept: list[Tensor] = []
        for i, w in enumerate(self.layers):
            if i in taps:
                kept.append(x)
            qkv = F.linear(F.rms_norm(x, (self.width,), w.norm_in, self.eps), w.qkv, w.qkv_bias).view(T, H + 2 * K, C)
            qk, v = qkv[:, : H + K], qkv[:, H + K :]
            if w.q_norm is not None and w.k_norm is not None:
                qk = torch.cat(
                    (F.rms_norm(qk[:, :H], (C,), w.q_norm, self.eps), F.rms_norm(qk[:, H:], (C,), w.k_norm, self.eps)), 1
                )
            qk = torch.addcmul(qk * cos, qk.roll(C // 2, -1), sin).transpose(0, 1)
            keys, values = cache.k[i, :, :, :end], cache.v[i, :, :, :end]
            keys[0, :, start:] = qk[H:]
            values[0, :, start:] = v.transpose(0, 1)
            q = qk[:H].unsqueeze(0)
            a = F.scaled_dot_product_attention(q, keys, values, attn_mask=mask, is_causal=causal, enable_gqa=K != H)
            x = _add(x, a[0].transpose(0, 1).reshape(T, H * C), w.out, w.out_bias)
            gate, up = F.linear(F.rms_norm(x, (self.width,), w.norm_mid, self.eps), w.gate_up, w.gate_up_bias).chunk(2, -1)
            x = _add(x, F.silu(gate) * up, w.down, w.down_bias)
        if len(self.layers) in taps:
            kept.append(x)
        last = F.rms_norm(x, (self.width,), self.norm, self.eps)
        return Rows(self.head(last[T - want :]), last, torch.cat(kept, -1) if kept else None)

    def _mask(self, T: int, start: int, block_TT: Tensor | None, like: Tensor) -> tuple[Tensor | None, bool]:
        if block_TT is None and (T == 1 or start == 0):
            return None, T > 1
        mask = like.new_zeros(T, start + T)
        if block_TT is None:
            mask[:, start:].fill_(-torch.inf).triu_(1)
        else:
            mask[:, start:].masked_fill_(~block_TT, -torch.inf)
        return mask, False


def _add(x: Tensor, y: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """x + y W^T (+ b), the residual fused into the product."""
    out = torch.addmm(x, y, weight.t())
    return out if bias is None else out + bias


def _layer(block: Any) -> Layer:
    a, m = block.self_attn, block.mlp
    return Layer(
        norm_in=block.input_layernorm.weight.data,
        qkv=torch.cat([p.weight.data for p in (a.q_proj, a.k_proj, a.v_proj)]),
        qkv_bias=None if a.q_proj.bias is None else torch.cat([p.bias.data for p in (a.q_proj, a.k_proj, a.v_proj)]),
        q_norm=a.q_norm.weight.data if hasattr(a, "q_norm") else None,
        k_norm=a.k_norm.weight.data if hasattr(a, "k_norm") else None,
        out=a.o_proj.weight.data,
        out_bias=None if a.o_proj.bias is None else a.o_proj.bias.data,
        norm_mid=block.post_attention_layernorm.weight.data,
        gate_up=torch.cat((m.gate_proj.weight.data, m.up_proj.weight.data)),
        gate_up_bias=None if m.gate_proj.bias is None else torch.cat((m.gate_proj.bias.data, m.up_proj.bias.data)),
        down=m.down_proj.weight.data,
        down_bias=None if m.down_proj.bias is None else m.down_proj.bias.data,
    )


def lean_from(hf: Any) -> LeanDecoder | None:
    """A lean decoder over a loaded transformers model, or None when its family, rope or placement needs transformers itself."""
    config = hf.config
    rope = getattr(config, "rope_parameters", None) or {}
    devices = {p.device for p in hf.parameters()}
    fits = (
        config.model_type in FAMILIES
        and rope.get("rope_type", "default") in STATIC_ROPE
        and getattr(config, "hidden_act", "") == "silu"
        and len(devices) == 1
        and {p.dtype for p in hf.parameters()} <= {torch.float32, torch.float64, torch.bfloat16, torch.float16}
    )
    return LeanDecoder(hf) if fits else None
