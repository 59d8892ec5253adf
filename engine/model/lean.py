"""A lean forward over the weights of Llama-like models (Llama, Mistral, Qwen2, Qwen3, Phi-3 and their like).

A small model on a CPU spends its time in framework calls, so there are few of them a layer: fused q,k,v and gate,up
products over transposed weights, rotary positions as one complex product in place, one write to a preallocated cache,
grouped queries folded into rows, norms whose weights live in the next product. A layer with a window reads the slots
from the first that its rows see. Checked against transformers in tests/engine/model.

Dimension key as in decoder.py; H query heads, K key-value heads, C channels a head, L layers.
"""

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from engine.model.decoder import New, Rows
from engine.model.layers import EVERYTHING, Sight, sights_by_layer
from engine.model.network import context_of, plain
from engine.model.weights import Layer, layer_of, transposed
from engine.sampling import NARROW

FAMILIES = ("llama", "mistral", "ministral", "qwen2", "qwen3", "phi3", "seed_oss", "cwm")
STATIC_ROPE = ("default", "linear", "llama3", "yarn")


class LeanCache:
    """Keys and values of all layers, allocated once: on each device those of its layers in one tensor [L, S, 2K, C]; a
    row holds K keys, then K values."""

    def __init__(self, homes: Sequence[torch.device], capacity: int, heads: int, channels: int, like: Tensor) -> None:
        """`homes` are the devices of the layers, in order."""
        shared = [(home, len(list(group))) for home, group in groupby(homes)]
        self.kv = [like.new_zeros(n, capacity, 2 * heads, channels, device=home) for home, n in shared]
        self.layers = [layer for kv in self.kv for layer in kv]

    def gather(self, start: int, slots: Sequence[int]) -> None:
        n = len(slots)
        if n and slots[-1] != start + n - 1:
            for kv in self.kv:
                kv[:, start : start + n] = kv.index_select(1, torch.tensor(slots, device=kv.device))

    def crop(self, n: int) -> None:
        """Nothing to do: slots beyond the length are never read."""

    def back(self, n: int) -> int:
        """Any place can be gone on from."""
        return n


class LeanDecoder:
    """See the module text. Build with `lean_from`, which knows what fits; it takes the weights out of the module."""

    only_chains = False

    def __init__(self, hf: Any) -> None:
        config, body = hf.config, hf.model
        self.heads, self.kv = config.num_attention_heads, config.num_key_value_heads
        self.channels = getattr(config, "head_dim", None) or config.hidden_size // self.heads
        self.width, self.eps = config.hidden_size, config.rms_norm_eps
        self.embedding = body.embed_tokens.weight.data
        self.wide = self.embedding.dtype in (torch.float32, torch.float64) and self.embedding.device.type not in NARROW
        self.folded = self.wide and self.embedding.device.type == "cpu"  # norm weights live in the next product
        self._eps = torch.full((1, 1), self.eps * self.width, dtype=self.embedding.dtype, device=self.embedding.device)
        self.norm = body.norm.weight.data * (self.width**0.5 if self.folded else 1)
        self.lm_head, self.lm_bias = transposed(hf.lm_head.weight.data), hf.lm_head.bias
        self.layers = [layer_of(block, self.heads, self.kv, self.channels, self.folded) for block in body.layers]
        sights = sights_by_layer(config, context_of(config))
        self.sights = list(dict.fromkeys(sights))
        self.sight_of = [self.sights.index(sight) for sight in sights]  # by layer
        self.homes = [layer.norm_in.device for layer in self.layers]
        self.home = self.embedding.device
        self.apart = {*self.homes, self.norm.device, self.lm_head.device} != {self.home}
        self._rotary = body.rotary_emb
        none = self.embedding.new_empty(0)
        self._turns = dict.fromkeys(self.homes, (none, none, none))

    def cache(self, capacity: int) -> LeanCache:
        self.rope(capacity)
        return LeanCache(self.homes, capacity, self.kv, self.channels, self.embedding)

    def rope(self, capacity: int) -> None:
        """Rotations of all positions on each device of layers: complex [S, 1, C/2] when wide, else cosines and sines of
        that shape."""
        if len(self._turns[self.homes[0]][0]) >= capacity:
            return
        pos = torch.arange(capacity, device=self._rotary.inv_freq.device).unsqueeze(0)
        like = self.embedding if self.embedding.dtype == torch.float64 else self.embedding.float()
        cos, sin = (x[0, :, None, : self.channels // 2].contiguous() for x in self._rotary(like, pos))
        turn = torch.complex(cos.to(like.dtype), sin.to(like.dtype)) if self.wide else cos
        tables = (turn, cos.to(self.embedding.dtype), sin.to(self.embedding.dtype))
        for home in self._turns:
            self._turns[home] = tables[0].to(home), tables[1].to(home), tables[2].to(home)

    def embed(self, ids_T: Tensor) -> Tensor:
        return F.embedding(ids_T, self.embedding)

    def head(self, last_TD: Tensor) -> Tensor:
        if self.apart:
            last_TD = last_TD.to(self.lm_head.device)
        logits = torch.mm(last_TD, self.lm_head)
        logits = logits if self.lm_bias is None else logits + self.lm_bias
        return logits.to(self.home) if self.apart else logits

    def run(self, cache: LeanCache, new: New, taps: Sequence[int], want: int) -> Rows:
        T, H, K, C = len(new.ids), self.heads, self.kv, self.channels
        end = new.start + T
        where = slice(new.start, end) if new.block is None else new.pos
        views = [self.view(T, new, sight) for sight in self.sights]
        x = F.embedding(new.ids, self.embedding)
        kept: list[Tensor] = []
        for i, (w, slots) in enumerate(zip(self.layers, cache.layers, strict=True)):
            if i in new.skip:
                continue
            if self.apart and x.device != self.homes[i]:
                x = x.to(self.homes[i])
                where = where.to(x.device) if isinstance(where, Tensor) else where
                views = [(low, None if mask is None else mask.to(x.device)) for low, mask in views]
            if i in taps:
                kept.append(x)
            qkv = torch.mm(self.normed(x, w.norm_in), w.qkv)
            qkv = (qkv if w.qkv_bias is None else qkv.add_(w.qkv_bias)).view(T, H + 2 * K, C)
            self.turned(qkv, w, where)
            slots[new.start : end] = qkv[:, H:]
            low, mask = views[self.sight_of[i]]
            attended = self.attend(qkv[:, :H], slots[low:end], mask, causal=T > 1 and mask is None)
            x = self.close(x, attended, w)
        if len(self.layers) in taps:
            kept.append(x)
        if self.apart:
            x, kept = x.to(self.norm.device), [one.to(self.home) for one in kept]
        last = self.final(x)
        logits = self.head(last[T - want :])
        return Rows(logits, last.to(self.home) if self.apart else last, torch.cat(kept, -1) if kept else None)

    def close(self, x_TD: Tensor, attended: Tensor, w: Layer) -> Tensor:
        """The rest of a block after attention: output projection, residual, MLP, residual [T, D]."""
        x = _plus(x_TD, attended, w.out, w.out_bias)
        gate_up = torch.mm(self.normed(x, w.norm_mid), w.gate_up)
        gate, up = (gate_up if w.gate_up_bias is None else gate_up.add_(w.gate_up_bias)).chunk(2, -1)
        return _plus(x, F.silu(gate).mul_(up), w.down, w.down_bias)

    def final(self, x_TD: Tensor) -> Tensor:
        """Final-normed rows [T, D]."""
        return self.normed(x_TD, None).mul_(self.norm) if self.folded else self.normed(x_TD, self.norm)

    def normed(self, x_TD: Tensor, weight: Tensor | None) -> Tensor:
        """Rows over their root mean square; folded, without sqrt(D) and weight, which the next product holds."""
        if not self.folded:
            return F.rms_norm(x_TD, (self.width,), weight, self.eps)
        n = torch.linalg.vector_norm(x_TD, 2, -1, True)
        return x_TD * torch.addcmul(self._eps, n, n).rsqrt_()

    def turned(self, qkv: Tensor, w: Layer, where: "slice | Tensor | None") -> None:
        """Norm (Qwen3) and rotate queries and keys in place; pairs of channels lie side by side."""
        H, K, C = self.heads, self.kv, self.channels
        if w.q_norm is not None and w.k_norm is not None:
            qkv[:, :H] = F.rms_norm(qkv[:, :H], (C,), w.q_norm, self.eps)
            qkv[:, H : H + K] = F.rms_norm(qkv[:, H : H + K], (C,), w.k_norm, self.eps)
        pairs = qkv[:, : H + K].view(len(qkv), H + K, C // 2, 2)
        turn, cos, sin = self._turns[qkv.device]
        if self.wide:
            torch.view_as_complex(pairs).mul_(turn[where])
            return
        a, b = pairs.unbind(-1)
        cos, sin = cos[where], sin[where]
        pairs.copy_(torch.stack((a * cos - b * sin, b * cos + a * sin), -1))

    def attend(self, q_THC: Tensor, kv: Tensor, mask: Tensor | None, causal: bool) -> Tensor:
        """Attention of T rows over all slots, [T, H * C]; the queries of a group are rows of their key-value head."""
        T, H, C, K = *q_THC.shape, self.kv
        keys, values = kv[:, :K].transpose(0, 1).unsqueeze(0), kv[:, K:].transpose(0, 1).unsqueeze(0)
        if causal:
            q = q_THC.transpose(0, 1).unsqueeze(0)
            out = F.scaled_dot_product_attention(q, keys, values, is_causal=True, enable_gqa=K != H)
            return out[0].transpose(0, 1).reshape(T, H * C)
        q = q_THC.reshape(T, K, H // K, C).permute(1, 2, 0, 3).reshape(1, K, H // K * T, C)
        out = F.scaled_dot_product_attention(q, keys, values, attn_mask=mask)
        return out.view(K, H // K, T, C).permute(2, 0, 1, 3).reshape(T, H * C)

    def view(self, T: int, new: New, sight: Sight) -> tuple[int, Tensor | None]:
        """The first slot that rows see through a layer, and its mask from there on."""
        if not 0 < sight.window < new.start + T:
            return 0, self._mask(T, new)
        low = max(0, new.start - sight.window + 1)
        return low, self._mask(T, new, low, sight)

    def _mask(self, T: int, new: New, low: int = 0, sight: Sight = EVERYTHING) -> Tensor | None:
        """Additive mask [H / K * T, S - low], the T rows once a query of the group; None for one row or a plain
        prefill, of which everything from `low` on is seen."""
        start = new.start - low
        if new.block is None and (T == 1 or (start == 0 and sight == EVERYTHING)):
            return None
        mask: Tensor = self.embedding.new_zeros(T, start + T)
        if new.block is None:
            mask[:, start:].fill_(-torch.inf).triu_(1)
        else:
            mask[:, start:].masked_fill_(~new.block, -torch.inf)
        if sight != EVERYTHING:
            slots = torch.arange(low, new.start + T, device=mask.device)
            pos = slots[start:] if new.pos is None else new.pos
            near = sight.of(pos, torch.cat((slots[:start], pos)))
            assert near is not None
            mask.masked_fill_(~near, -torch.inf)
        return mask.repeat(self.heads // self.kv, 1)


def _plus(x: Tensor, y: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """X + y W (+ b), the residual fused into the product."""
    out = torch.addmm(x, y, weight)
    return out if bias is None else out.add_(bias)


def lean_from(hf: Any) -> LeanDecoder | None:
    """A lean decoder over a loaded transformers model, or None when its family, rope or placement needs transformers
    itself.

    A model that fits is emptied: its weights move over layer by layer, so that two copies never exist at once.
    """
    devices = {p.device.type for p in hf.parameters()}
    fits = (
        suits(hf.config)
        and len(devices) == 1
        and all(len({p.device for p in block.parameters()}) == 1 for block in hf.model.layers)
        and plain(hf)
        and {p.dtype for p in hf.parameters()} <= {torch.float32, torch.float64, torch.bfloat16, torch.float16}
    )
    return LeanDecoder(hf) if fits else None


def suits(config: Any) -> bool:
    """Whether a text model's family, rope and windows are among those that the lean forward knows."""
    rope = getattr(config, "rope_parameters", None) or {}
    return (
        config.model_type in FAMILIES
        and rope.get("rope_type", "default") in STATIC_ROPE
        and rope.get("partial_rotary_factor", 1.0) == 1.0
        and getattr(config, "hidden_act", "") == "silu"
        and not any(sight.chunk for sight in sights_by_layer(config, context_of(config)))
    )
