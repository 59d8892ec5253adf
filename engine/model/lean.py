"""A lean forward over the weights of Llama-like models (Llama, Mistral, Qwen, Phi-3, Gemma, gpt-oss and their like).

A small model on a CPU spends its time in framework calls, so there are few of them a layer: fused q,k,v and gate,up
products over transposed weights, rotary positions as one complex product in place, one write to a preallocated cache,
grouped queries folded into rows, norms whose weights live in the next product. A layer with a window reads the slots
from the first that its rows see. What tells the families apart is data: `weights.FAMILIES`, and numbers of the
configuration. Checked against transformers in tests/engine/model.

Dimension key as in decoder.py; H query heads, K key-value heads, C channels a head, L layers.
"""

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from itertools import groupby
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from engine.model.decoder import New, Rows
from engine.model.devices import aligned
from engine.model.experts import Experts
from engine.model.few import FEW, Few, few_of
from engine.model.layers import EVERYTHING, Sight, ropes_by_layer, sights_by_layer
from engine.model.network import context_of, plain
from engine.model.products import Product
from engine.model.sharing import Sharing, sharing_of
from engine.model.splitkv import attention
from engine.model.weights import FAMILIES, Layer, factors, layer_of, transposed, turn
from engine.sampling import NARROW, sent

SHORT, NEAR = 32, 2048  # rows of a chain whose mask is kept, and most slots before it
STATIC_ROPE = ("default", "linear", "llama3", "yarn")
GATES: dict[str, Callable[[Tensor], Tensor]] = {
    "silu": F.silu,
    "gelu": F.gelu,
    "gelu_pytorch_tanh": partial(F.gelu, approximate="tanh"),
}


Turns = dict[tuple[torch.device, str], tuple[Tensor, ...]]  # rotations, see `weights.turn`, by device and rope


class LeanCache:
    """Keys and values of all layers, allocated once: on each device those of its layers in one tensor [L, S, 2K, C]; a
    row holds K keys, then K values."""

    def __init__(self, homes: Sequence[torch.device], capacity: int, heads: int, channels: int, like: Tensor) -> None:
        """`homes` are the devices of the layers, in order."""
        shared = [(home, len(list(group))) for home, group in groupby(homes)]
        self.kv = [like.new_zeros(n, capacity, 2 * heads, channels, device=home) for home, n in shared]
        self.layers = [layer for kv in self.kv for layer in kv]

    @cached_property
    def arrays(self) -> list[Any]:
        """The layers as arrays over the same memory, of a cache on a CPU."""
        return [layer.numpy() for layer in self.layers]

    def gather(self, start: int, slots: Sequence[int]) -> None:
        n = len(slots)
        if n and slots[-1] != start + n - 1:
            for kv in self.kv:
                kv[:, start : start + n] = kv.index_select(1, sent(slots, kv.device))

    def crop(self, n: int) -> None:
        """Nothing to do: slots beyond the length are never read."""

    def back(self, n: int) -> int:
        """Any place can be gone on from."""
        return n


class LeanDecoder:
    """See the module text. Build with `lean_from`, which knows what fits; it takes the weights out of the module."""

    why_chains = ""

    def __init__(self, hf: Any) -> None:
        config, body = hf.config, hf.model
        family = FAMILIES[config.model_type]
        self.heads, self.kv = config.num_attention_heads, config.num_key_value_heads
        self.channels = getattr(config, "head_dim", None) or config.hidden_size // self.heads
        self.width, self.eps = config.hidden_size, config.rms_norm_eps
        self.gate = GATES[getattr(config, family.activation)]
        self.cap = (family.capped and getattr(config, "attn_logit_softcapping", None)) or 0.0  # of scores
        self.last_cap = getattr(config, "final_logit_softcapping", None) or 0.0  # of logits
        self.scale = getattr(config, "query_pre_attn_scalar", self.channels) ** -0.5
        self.embedding = body.embed_tokens.weight.data
        stretch = getattr(body.embed_tokens, "embed_scale", None)  # of embeddings, rounded to their type
        self.stretch = 1.0 if stretch is None else stretch.to(self.embedding.dtype).item()
        kind, full = self.embedding.device.type, self.embedding.dtype in (torch.float32, torch.float64)
        self.wide = (full or kind == "cuda") and kind not in NARROW  # rotations are complex numbers
        self.folded = full and kind == "cpu"  # norm weights live in the next product
        self._eps = torch.full((1, 1), self.eps * self.width, dtype=self.embedding.dtype, device=self.embedding.device)
        self.norm = factors(body.norm, family) * (self.width**0.5 if self.folded else 1)
        self.lm_head, self.lm_bias = Product(transposed(hf.lm_head.weight.data)), hf.lm_head.bias
        self.layers = [
            layer_of(block, family, self.heads, self.kv, self.channels, self.folded, rope)
            for block, rope in zip(body.layers, ropes_by_layer(config), strict=True)
        ]
        sights = sights_by_layer(config, context_of(config))
        self.sights = list(dict.fromkeys(sights))
        self.sight_of = [self.sights.index(sight) for sight in sights]  # by layer
        self.unfused = self.cap > 0 or any(layer.sinks is not None for layer in self.layers)
        self.homes = [layer.norm_in.device for layer in self.layers]
        self.home = self.embedding.device
        self.apart = {*self.homes, self.norm.device, self.lm_head.device} != {self.home}
        self._rotary = body.rotary_emb
        none = self.embedding.new_empty(0)
        turned = ((home, layer.rope) for home, layer in zip(self.homes, self.layers, strict=True))
        self._turns: Turns = dict.fromkeys(turned, (none,))
        self._chains: dict[int, Tensor] = {}  # masks by their rows

    @property
    def reads(self) -> int:
        """Bytes of weights that a pass over one row reads, as they lie in memory; all experts' where there are some."""
        experts = (w.mlp.bytes for w in self.layers if isinstance(w.mlp, Experts))
        return sum(product.bytes for product in self.products) + sum(experts)

    @property
    def products(self) -> list[Product]:
        """All products with one matrix: those of experts are not among them."""
        plain = [p for w in self.layers if not isinstance(w.mlp, Experts) for p in (w.mlp.gate_up, w.mlp.down)]
        return [self.lm_head, *(p for w in self.layers for p in (w.qkv, w.out)), *plain]

    def cache(self, capacity: int) -> LeanCache:
        self.rope(capacity)
        return LeanCache(self.homes, capacity, self.kv, self.channels, self.embedding)

    def rope(self, capacity: int) -> None:
        """Rotations of all positions on each device of layers, for each rope: complex [S, 1, C/2] when wide, else
        cosines and sines of that shape."""
        if all(len(table) >= capacity for table in self.tables):
            return
        pos = torch.arange(capacity, device=next(self._rotary.buffers()).device).unsqueeze(0)
        like = self.embedding if self.embedding.dtype == torch.float64 else self.embedding.float()
        for home, rope in self._turns:
            turns = self._rotary(like, pos, *([rope] if rope else []))
            cos, sin = (x[0, :, None, : self.channels // 2].contiguous() for x in turns)
            if self.wide:
                self._turns[home, rope] = (torch.complex(cos.to(like.dtype), sin.to(like.dtype)).to(home),)
            else:
                self._turns[home, rope] = tuple(x.to(home, self.embedding.dtype) for x in (cos, sin))

    @property
    def tables(self) -> tuple[Tensor, ...]:
        """The rotations that passes read until `rope` makes longer ones."""
        return tuple(table for turn in self._turns.values() for table in turn)

    def embed(self, ids_T: Tensor) -> Tensor:
        x = F.embedding(ids_T, self.embedding)
        return x if self.stretch == 1.0 else x * self.stretch

    def head(self, last_TD: Tensor) -> Tensor:
        if self.apart:
            last_TD = last_TD.to(self.lm_head.device)
        logits = self.lm_head(last_TD, self.lm_bias)
        logits = (logits / self.last_cap).tanh() * self.last_cap if self.last_cap else logits
        return logits.to(self.home) if self.apart else logits

    def run(self, cache: LeanCache, new: New, taps: Sequence[int], want: int) -> Rows:
        T = new.ids.shape[0]
        end = new.start + T
        if T <= FEW and new.proposes and self.few and new.block is None and not (taps or new.skip):
            turned = self._turns[self.home, ""][0].numpy()[new.start : end]
            return self.few.run(new.ids.numpy(), new.start, cache.arrays, turned, want)
        with self.sharing.over(T, end, self.heads * self.channels):
            return self._through(cache, new, taps, want)

    def _through(self, cache: LeanCache, new: New, taps: Sequence[int], want: int) -> Rows:
        T, H, K, C = new.ids.shape[0], self.heads, self.kv, self.channels
        end = new.start + T
        where = slice(new.start, end) if new.block is None else new.pos
        views = [self.view(T, new, sight) for sight in self.sights]
        turns: Turns = {}
        x = self.embed(new.ids)
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
            qkv = w.qkv(self.normed(x, w.norm_in), w.qkv_bias).view(T, H + 2 * K, C)
            self.turned(qkv, w, where, turns)
            slots[new.start : end] = qkv[:, H:]
            low, mask = views[self.sight_of[i]]
            attended = self.attend(qkv[:, :H], slots[low:end], mask, T > 1 and mask is None, w.sinks)
            x = self.close(x, attended, w)
        if len(self.layers) in taps:
            kept.append(x)
        if self.apart:
            x, kept = x.to(self.norm.device), [one.to(self.home) for one in kept]
        last = self.final(x)
        logits = self.head(last[T - want :])
        return Rows(logits, last.to(self.home) if self.apart else last, torch.cat(kept, -1) if kept else None)

    def stepping(self, cache: LeanCache) -> Callable[[int, int], Tensor] | None:
        """What gives the logits [1, V] behind one token in a slot of this cache, as `run` gives them of a row that only
        proposes; None where the network is not small and plain."""
        few = self.few
        if few is None:
            return None
        caches, table = cache.arrays, self._turns[self.home, ""][0].numpy()
        return lambda token, at: few.run(np.array([token]), at, caches, table[at : at + 1], 1).logits

    @cached_property
    def sharing(self) -> Sharing:
        """By how many threads a pass is shared; experts' products are left to torch."""
        experts = any(isinstance(w.mlp, Experts) for w in self.layers)
        return sharing_of([] if experts else self.products, len(self.layers))

    @cached_property
    def few(self) -> Few | None:
        """What runs few rows faster, where the network is small and plain."""
        if not self.folded or self.apart or self.unfused or self.sights != [EVERYTHING]:
            return None
        if self.lm_bias is not None or self.gate is not F.silu or self.last_cap or self.stretch != 1.0:
            return None
        if self.scale != self.channels**-0.5:
            return None
        sizes = self.heads, self.kv, self.channels
        return few_of(self.embedding, self.layers, self.norm, self.lm_head, sizes, self.eps * self.width)

    def close(self, x_TD: Tensor, attended: Tensor, w: Layer) -> Tensor:
        """The rest of a block after attention: output projection, residual, MLP, residual [T, D]."""
        x = self.plus(x_TD, attended, w.out, w.out_bias, w.norm_out)
        normed, mlp = self.normed(x, w.norm_mid), w.mlp
        if isinstance(mlp, Experts):
            return mlp(x, normed)
        gate, up = mlp.gate_up(normed, mlp.gate_up_bias).chunk(2, -1)
        return self.plus(x, self.gate(gate).mul_(up), mlp.down, mlp.down_bias, w.norm_end)

    def plus(self, x_TD: Tensor, y: Tensor, product: Product, bias: Tensor | None, norm: Tensor | None) -> Tensor:
        """X + y W (+ b), the residual fused into the product; or x and the norm of that product (Gemma)."""
        if norm is None:
            out = product.onto(x_TD, y)
            return out if bias is None else out.add_(bias)
        out = self.normed(product(y, bias), norm)
        return torch.addcmul(x_TD, out, norm) if self.folded else x_TD + out

    def final(self, x_TD: Tensor) -> Tensor:
        """Final-normed rows [T, D]."""
        last = self.normed(x_TD, self.norm)
        return last.mul_(self.norm) if self.folded else last

    def normed(self, x_TD: Tensor, weight: Tensor) -> Tensor:
        """Rows over their root mean square; folded, without sqrt(D) and weight, which the next product holds."""
        if not self.folded:
            return _rms(x_TD, weight, self.eps)
        n = torch.linalg.vector_norm(x_TD, 2, -1, True)
        return x_TD * torch.addcmul(self._eps, n, n).rsqrt_()

    def turned(self, qkv: Tensor, w: Layer, where: "slice | Tensor | None", turns: Turns) -> None:
        """Norm (Qwen3, Gemma 3) and rotate queries and keys in place; pairs of channels lie side by side. `turns` keeps
        the rotations of a pass's rows from layer to layer."""
        H, K, C = self.heads, self.kv, self.channels
        if w.q_norm is not None and w.k_norm is not None:
            qkv[:, :H] = _rms(qkv[:, :H], w.q_norm, self.eps)
            qkv[:, H : H + K] = _rms(qkv[:, H : H + K], w.k_norm, self.eps)
        pairs = qkv[:, : H + K].view(qkv.shape[0], H + K, C // 2, 2)
        rows = turns.get((qkv.device, w.rope))
        if rows is None:
            rows = turns[qkv.device, w.rope] = tuple(table[where] for table in self._turns[qkv.device, w.rope])
        turn(pairs, rows)

    def attend(
        self, q_THC: Tensor, kv: Tensor, mask: Tensor | None, causal: bool, sinks: Tensor | None = None
    ) -> Tensor:
        """Attention of T rows over all slots, [T, H * C]. A key-value head has the queries of its group as rows, those
        of one token side by side; with one such head they lie so already."""
        T, H, C, K = *q_THC.shape, self.kv
        keys, values = kv.view(kv.shape[0], 2, 1, K, C).permute(1, 2, 3, 0, 4).unbind(0)
        if T == 1:  # the queries of a group are side by side as they are
            return self.mixed(q_THC.view(1, K, H // K, C), keys, values, mask, sinks).reshape(1, H * C)
        if causal:
            q = q_THC.transpose(0, 1).unsqueeze(0)
            out = F.scaled_dot_product_attention(q, keys, values, is_causal=True, scale=self.scale, enable_gqa=K != H)
            return out[0].transpose(0, 1).reshape(T, H * C)
        q = q_THC.reshape(T, K, H // K, C).transpose(0, 1).reshape(1, K, T * (H // K), C)
        out = self.mixed(q, keys, values, mask, None if sinks is None else self.by_row(sinks, T))
        return out.view(K, T, H // K, C).transpose(0, 1).reshape(T, H * C)

    def mixed(self, q: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None, sinks: Tensor | None) -> Tensor:
        """Values by the attention of queries [n, K, rows, C], as many; `sinks` [K * rows]. Done plainly where the fused
        kernel lacks something: scores that stay softly below a cap (Gemma 2), a score that each softmax has besides
        those of the slots (gpt-oss)."""
        if not self.unfused:
            return attention(q, keys, values, mask, self.scale)
        scores = torch.matmul(q * (self.scale / (self.cap or 1.0)), keys.transpose(-1, -2))
        scores = scores.tanh_().mul_(self.cap) if self.cap else scores
        scores = scores if mask is None else scores.add_(mask)
        if sinks is None:
            return torch.matmul(scores.softmax(-1), values)
        besides = sinks.view(1, *q.shape[1:3], 1).expand(len(q), -1, -1, -1)
        return torch.matmul(torch.cat((scores, besides), -1).softmax(-1)[..., :-1], values)

    def view(self, T: int, new: New, sight: Sight) -> tuple[int, Tensor | None]:
        """The first slot that rows see through a layer, and its mask from there on."""
        if not 0 < sight.window < new.start + T:
            return 0, self._mask(T, new)
        low = max(0, new.start - sight.window + 1)
        return low, self._mask(T, new, low, sight)

    def by_row(self, sinks_H: Tensor, T: int) -> Tensor:
        """What each head has, for T tokens in the order of `attend` [H * T]."""
        return sinks_H.view(self.kv, 1, -1).expand(-1, T, -1).reshape(-1)

    def by_query(self, mask: Tensor) -> Tensor:
        """A mask of T rows in the order of `attend`: [..., T, S] becomes [..., T * H / K, S], each row once a query."""
        *outer, T, S = mask.shape
        group = self.heads // self.kv
        return mask.unsqueeze(-2).expand(*outer, T, group, S).reshape(*outer, T * group, S)

    def _mask(self, T: int, new: New, low: int = 0, sight: Sight = EVERYTHING) -> Tensor | None:
        """Additive mask [T * H / K, S - low], each row once a query of the group; None for one row, which sees
        everything from `low` on, and for a plain prefill that goes through the fused kernel."""
        start = new.start - low
        if new.block is None and (T == 1 or (start == 0 and sight == EVERYTHING and not self.unfused)):
            return None
        if new.block is None and sight == EVERYTHING and T <= SHORT and start <= NEAR:
            return self._chain(T, start)
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
        return self.by_query(mask)

    def _chain(self, T: int, start: int) -> Tensor:
        """That mask where T rows follow `start` slots one after the other: the end of one that is kept."""
        kept = self._chains.get(T)
        if kept is None or kept.shape[1] < start + T:
            mask = self.embedding.new_zeros(T, 2 * start + T)
            mask[:, -T:].fill_(-torch.inf).triu_(1)
            kept = self._chains[T] = self.by_query(mask)
        return aligned(kept[:, kept.shape[1] - T - start :])


def _rms(x: Tensor, weight: Tensor, eps: float) -> Tensor:
    """The norm of the last dimension, in the weight's type, which may be wider than that of x."""
    return F.rms_norm(x.to(weight.dtype), weight.shape, weight, eps).to(x.dtype)


def lean_from(hf: Any) -> LeanDecoder | None:
    """A lean decoder over a loaded transformers model, or None when its family, rope or placement needs transformers
    itself.

    A model that fits is emptied: its weights move over layer by layer, so that two copies never exist at once.
    """
    devices = {p.device.type for p in hf.parameters()}
    fits = (
        len(devices) == 1
        and suits(hf.config, *devices)
        and all(len({p.device for p in block.parameters()}) == 1 for block in hf.model.layers)
        and plain(hf)
        and {p.dtype for p in hf.parameters()} <= {torch.float32, torch.float64, torch.bfloat16, torch.float16}
    )
    return LeanDecoder(hf) if fits else None


def suits(config: Any, device: str) -> bool:
    """Whether a text model's family, rope and windows are among those that the lean forward knows on a kind of device.
    Experts are picked by the host, which only on a CPU waits for nothing."""
    family = FAMILIES.get(config.model_type)
    if family is None:  # perhaps one of a multimodal model, which has no layers of its own
        return False
    rope = getattr(config, "rope_parameters", None) or {}
    ropes = [rope[kind] if kind else rope for kind in set(ropes_by_layer(config))]
    return (
        (device == "cpu" or not family.experts)
        and all(one.get("rope_type", "default") in STATIC_ROPE for one in ropes)
        and all(one.get("partial_rotary_factor", 1.0) == 1.0 for one in ropes)
        and getattr(config, family.activation, "") in GATES
        and not getattr(config, "use_bidirectional_attention", False)
        and not any(sight.chunk for sight in sights_by_layer(config, context_of(config)))
    )
