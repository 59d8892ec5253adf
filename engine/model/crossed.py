"""A lean decoder over the weights of encoder-decoder models: BART, Marian, mBART, Pegasus, M2M100, T5 and their kin.

The encoder runs through transformers, once a source. The decoder runs here because transformers' own takes neither the
positions nor the relative biases of the nodes of a draft tree; and as in lean.py there are few calls a layer. Checked
against transformers in tests/engine/model.

Dimension key as in decoder.py; H heads, C channels a head, L layers, Z positions of the source.
"""

from collections.abc import Callable, Collection, Sequence
from functools import cached_property
from typing import Any, Protocol

import torch
import torch.nn.functional as F
from torch import Tensor
from transformers.activations import ACT2FN

from engine.model.crossweights import (
    POST,
    PRE,
    RELATIVE,
    biases_of,
    blocks_of,
    heads_of,
    last_bias_of,
    norm_of,
    places_of,
)
from engine.model.decoder import New, Rows
from engine.model.devices import aligned
from engine.model.network import plain
from engine.model.products import Product
from engine.model.sharing import Sharing, sharing_of
from engine.model.weights import transposed
from engine.sampling import sent


class CrossCache:
    """Keys and values of the decoder's own rows [L, 2, H, S, C], and those of the source, once read [L][2, H, Z, C]."""

    def __init__(self, layers: int, capacity: int, heads: int, channels: int, like: Tensor) -> None:
        self.kv = like.new_zeros(layers, 2, heads, capacity, channels)
        self.source: list[Tensor] = []
        self.watched = False  # whether passes tell where their rows looked in the source

    def keep(self, source_LZ2HC: Sequence[Tensor]) -> None:
        """Take the keys and values of a source that was read."""
        self.source = [own.permute(1, 2, 0, 3).contiguous() for own in source_LZ2HC]

    def gather(self, start: int, slots: Sequence[int]) -> None:
        n = len(slots)
        if n and slots[-1] != start + n - 1:
            moved = self.kv.index_select(3, sent(slots, self.kv.device))
            self.kv[:, :, :, start : start + n] = moved

    def crop(self, n: int) -> None:
        """Nothing to do: slots beyond the length are never read."""

    def back(self, n: int) -> int:
        """Any place can be gone on from."""
        return n


class Attention(Protocol):
    """What the rows of a pass look at, T of one sequence or of several."""

    def written(self, layer: int, qkv_T3HC: Tensor) -> Tensor:
        """Keep the rows' keys and values; attention to what is written [T, H * C]."""

    def source(self, layer: int, q_THC: Tensor) -> Tensor:
        """Attention to the source [T, H * C]."""


class CrossDecoder:
    """See the module text. Build with `crossed_from`, which knows what fits; it takes the decoder's weights out."""

    why_chains = ""

    def __init__(self, hf: Any, never: Sequence[int] = ()) -> None:
        """`never`: ids that generation must not write (Marian's pad)."""
        config, self.encoder, body = hf.config, hf.get_encoder(), hf.get_decoder()
        relative = config.model_type in RELATIVE
        self.before, self.heads = config.model_type not in POST, heads_of(config)
        self.embedding = body.embed_tokens.weight.data
        self.stretch = 1.0 if relative or not config.scale_embedding else config.d_model**0.5
        self.activation: Callable[[Tensor], Tensor] = ACT2FN[
            config.dense_act_fn if relative else config.activation_function
        ]
        self.first = norm_of(getattr(body, "layernorm_embedding", None))
        self.final = norm_of(getattr(body, "final_layer_norm", None) or getattr(body, "layer_norm", None))
        self.layers = blocks_of(body)
        self.channels = self.layers[0].out.product.inputs // self.heads
        self.scale = 1.0 if relative else self.channels**-0.5
        self.places, self.offset = places_of(body, config)
        self.biases = biases_of(body) if relative else None  # by distance [N, H]
        scaled = relative and getattr(config, "scale_decoder_outputs", False)
        self.shrink = config.d_model**-0.5 if scaled else 1.0
        self.lm_head = Product(transposed(hf.lm_head.weight.data))
        self.lm_bias = last_bias_of(hf, never, hf.lm_head.weight.data)

    def cache(self, capacity: int) -> CrossCache:
        return CrossCache(len(self.layers), capacity, self.heads, self.channels, self.embedding)

    def read(self, cache: CrossCache, source_S: Tensor) -> None:
        """Run the encoder, and keep the source's keys and values of every layer."""
        states = self.encoder(input_ids=source_S[None]).last_hidden_state[0]
        cache.keep([w.cross_kv(states).view(len(source_S), 2, self.heads, self.channels) for w in self.layers])

    def embed(self, ids_T: Tensor) -> Tensor:
        return F.embedding(ids_T, self.embedding) * self.stretch

    def head(self, last_TD: Tensor) -> Tensor:
        return self.lm_head(last_TD if self.shrink == 1.0 else last_TD * self.shrink, self.lm_bias)

    @cached_property
    def sharing(self) -> Sharing:
        """By how many threads a pass is shared."""
        linears = [part for w in self.layers for part in (w.qkv, w.out, w.cross_q, w.cross_out, w.up, w.gate, w.down)]
        return sharing_of([self.lm_head, *(part.product for part in linears if part)], len(self.layers))

    def run(self, cache: CrossCache, new: New, taps: Sequence[int], want: int) -> Rows:
        slots = new.start + len(new.ids) + (cache.source[0].shape[2] if cache.source else 0)
        with self.sharing.over(len(new.ids), slots, self.heads * self.channels):
            return self._through(cache, new, taps, want)

    def _through(self, cache: CrossCache, new: New, taps: Sequence[int], want: int) -> Rows:
        T = len(new.ids)
        pos = torch.arange(new.start, new.start + T, device=new.ids.device) if new.pos is None else new.pos
        one = Single(self, cache, new, pos)
        last, kept = self.through(new.ids, pos, one, taps, new.skip)
        return Rows(self.head(last[T - want :]), last, torch.cat(kept, -1) if kept else None, one.looked)

    def through(
        self, ids_T: Tensor, pos_T: Tensor, attention: Attention, taps: Sequence[int], skip: Collection[int]
    ) -> tuple[Tensor, list[Tensor]]:
        """Rows through all layers but those left out: final-normed [T, D], and the inputs of the tapped layers."""
        x = self.embed(ids_T)
        if self.places is not None:
            x = x + self.places[pos_T + self.offset]
        x = x if self.first is None else self.first(x)
        kept = list[Tensor]()
        for i, w in enumerate(self.layers):
            if i in taps:
                kept.append(x)
            if i in skip:
                continue
            h = w.norms[0](x) if self.before else x
            x = x + w.out(attention.written(i, w.qkv(h).view(-1, 3, self.heads, self.channels)))
            x = x if self.before else w.norms[0](x)
            h = w.norms[1](x) if self.before else x
            x = x + w.cross_out(attention.source(i, w.cross_q(h).view(-1, self.heads, self.channels)))
            x = x if self.before else w.norms[1](x)
            h = w.norms[2](x) if self.before else x
            h = self.activation(w.up(h)) if w.gate is None else self.activation(w.gate(h)) * w.up(h)
            x = x + w.down(h)
            x = x if self.before else w.norms[2](x)
        if len(self.layers) in taps:
            kept.append(x)
        return (x if self.final is None else self.final(x)), kept

    def attend(self, q_THC: Tensor, kv_2HSC: Tensor, mask: Tensor | None) -> Tensor:
        """Attention of T rows of one sequence [T, H * C]."""
        q, (keys, values) = q_THC.transpose(0, 1)[None], kv_2HSC[:, None]
        out = F.scaled_dot_product_attention(q, keys, values, attn_mask=mask, scale=self.scale)
        return out[0].transpose(0, 1).reshape(len(q_THC), -1)

    def bias(self, pos_T: Tensor, kpos_S: Tensor) -> Tensor | None:
        """What scores of rows at these positions get by their distance to slots at those [..., H, T, S]; None where the
        family has positions of another kind. Both may be of several sequences [n, T] and [n, S]."""
        if self.biases is None:
            return None
        far = pos_T.unsqueeze(-1) - kpos_S.unsqueeze(-2)
        return self.biases[far.clamp(0, len(self.biases) - 1)].movedim(-1, -3)

    def mask(self, new: New, pos_T: Tensor) -> Tensor | None:
        """What is added to the scores: biases by distance [H, T, S] or none, minus infinity where a row does not see;
        None where nothing is."""
        T, start = len(new.ids), new.start
        if self.biases is None and T == 1:
            return None
        mask: Tensor = self.embedding.new_zeros(T, start + T)
        if new.block is None:
            mask[:, start:].fill_(-torch.inf).triu_(1)
        else:
            mask[:, start:].masked_fill_(~new.block, -torch.inf)
        bias = self.bias(pos_T, torch.cat((torch.arange(start, device=pos_T.device), pos_T)))
        return mask if bias is None else aligned(bias + mask)  # whose heads lie side by side, where kernels want slots


class Single:
    """What the rows of one sequence look at."""

    def __init__(self, decoder: CrossDecoder, cache: CrossCache, new: New, pos_T: Tensor) -> None:
        self.decoder, self.cache, self.start = decoder, cache, new.start
        self.mask = decoder.mask(new, pos_T)
        self._looks = list[Tensor]()

    def written(self, layer: int, qkv_T3HC: Tensor) -> Tensor:
        end = self.start + len(qkv_T3HC)
        self.cache.kv[layer, :, :, self.start : end] = qkv_T3HC[:, 1:].permute(1, 2, 0, 3)
        return self.seen(layer, qkv_T3HC[:, 0])

    def source(self, layer: int, q_THC: Tensor) -> Tensor:
        if self.cache.watched:
            self.look(layer, q_THC)
        return self.decoder.attend(q_THC, self.cache.source[layer], None)

    def seen(self, layer: int, q_THC: Tensor) -> Tensor:
        """Attention to what is written, these rows included [T, H * C]."""
        return self.decoder.attend(q_THC, self.cache.kv[layer, :, :, : self.start + len(q_THC)], self.mask)

    def look(self, layer: int, q_THC: Tensor) -> None:
        """Note where the rows of a layer look in the source."""
        scores = self.decoder.scale * q_THC.transpose(0, 1) @ self.cache.source[layer][0].mT
        self._looks.append(torch.softmax(scores, -1).mean(0))

    @property
    def looked(self) -> Tensor | None:
        """Where the rows looked in the source [T, Z], the mean over layers and heads; None of a cache that nobody
        watches."""
        return torch.stack(self._looks).mean(0) if self._looks else None


def crossed_from(hf: Any, never: Sequence[int] = ()) -> CrossDecoder | None:
    """A lean decoder over an encoder-decoder model, or None when its family or placement needs transformers.

    A model without weights (on torch's meta device) gives a decoder that can be asked, not run.
    """
    devices = {p.device for p in hf.parameters()}
    fits = (
        hf.config.model_type in (*POST, *PRE, *RELATIVE)
        and len(devices) == 1
        and (plain(hf) or devices == {torch.device("meta")})
        and len({p.dtype for p in hf.parameters()}) == 1
    )
    return CrossDecoder(hf, never) if fits else None
