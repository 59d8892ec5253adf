"""One pass of an encoder-decoder's decoder over rows of several sequences, each of which looks at its own source.

As packed.py; the keys and values of sources have places too, and are padded to the longest source of a pass.
Dimension key as in crossed.py and slabs.py.
"""

from collections.abc import Sequence
from dataclasses import replace

import torch
import torch.nn.functional as F
from torch import Tensor

from engine.model.crossed import CrossCache, CrossDecoder, Single
from engine.model.decoder import Rows
from engine.model.devices import aligned
from engine.model.slabs import Layout, Padded, Part, Slab, hidden
from engine.sampling import sent


class CrossSlab(Slab):
    """A slab, and room for as many sources [L][B, Z, 2H, C]."""

    def __init__(self, decoder: CrossDecoder, places: int, slots: int, source: int) -> None:
        """`source`: tokens of the longest."""
        L, H, C = len(decoder.layers), decoder.heads, decoder.channels
        super().__init__(decoder.embedding, L, places, slots, H, C)
        self.sources = Slab(decoder.embedding, L, places, source, H, C).layers


class CrossPlaceCache(CrossCache):
    """The cache of one sequence and its source, at its place in a slab."""

    def __init__(self, slab: CrossSlab, place: int) -> None:
        self.slab, self.place, self.watched = slab, place, False
        self.kv = _split(slab.kv[:, place])
        self.source = list[Tensor]()

    def keep(self, source_LZ2HC: Sequence[Tensor]) -> None:
        Z = len(source_LZ2HC[0])
        self.source = [_split(layer[self.place, :Z]) for layer in self.slab.sources]
        for mine, own in zip(self.source, source_LZ2HC, strict=True):
            mine.copy_(own.permute(1, 2, 0, 3))


class CrossPacking:
    """Passes of an encoder-decoder's decoder over several sequences at once."""

    def __init__(self, decoder: CrossDecoder, source: int) -> None:
        """`source`: tokens of the longest source."""
        self.decoder, self._source = decoder, source

    def bytes(self, slots: int) -> int:
        """What the keys and values of one sequence and its source take."""
        one = self.decoder
        numbers = 2 * len(one.layers) * (slots + self._source) * one.heads * one.channels
        return int(numbers * one.embedding.element_size())

    def caches(self, places: int, slots: int) -> list[CrossPlaceCache]:
        """Empty caches for so many sequences."""
        slab = CrossSlab(self.decoder, places, slots, self._source)
        return [CrossPlaceCache(slab, place) for place in range(places)]

    def run(self, parts: Sequence[Part[CrossPlaceCache]], taps: Sequence[int]) -> list[Rows]:
        """One pass over the rows of all parts, whose caches lie in one slab; all leave out the same layers."""
        rows = Layout(parts, self.decoder.embedding.device)
        sights = _Sights(self.decoder, rows)
        last, kept = self.decoder.through(rows.ids, rows.pos, sights, taps, parts[0].new.skip)
        found = rows.told(self.decoder.head, last, kept)
        return [
            replace(one, looks=sights.looked(part)) if part.cache.watched else one
            for part, one in zip(parts, found, strict=True)
        ]


class _Sights:
    """What the rows of several sequences look at, each at its own: the short ones together, the long ones singly."""

    def __init__(self, decoder: CrossDecoder, rows: Layout[CrossPlaceCache]) -> None:
        self.decoder, self.rows, self.slab = decoder, rows, rows.parts[0].cache.slab
        self.single = {
            i: Single(decoder, part.cache, part.new, rows.pos[a:b])
            for i, (part, (a, b)) in enumerate(zip(rows.parts, rows.spans, strict=True))
            if i in rows.alone or part.cache.watched
        }
        if rows.padded:
            self.mask = self._mask(rows.padded)
            lengths = [rows.parts[i].cache.source[0].shape[-2] for i in rows.short]
            self.Z, device = max(lengths), decoder.embedding.device
            within = torch.arange(self.Z, device=device) < sent(lengths, device)[:, None]
            self.source_mask = hidden(within, decoder.embedding)[:, None, None]  # [n, 1, 1, Z]

    def written(self, layer: int, qkv_N3HC: Tensor) -> Tensor:
        self.slab.flat[layer].index_copy_(0, self.rows.into, qkv_N3HC[:, 1:].flatten(1, 2))

        def padded(them: Padded, q_nTHC: Tensor) -> Tensor:
            return self._attend(q_nTHC, them.of(self.slab.layers[layer][:, : them.S]), self.mask)

        return self.rows.attended(qkv_N3HC[:, 0], padded, lambda i, q: self.single[i].seen(layer, q))

    def source(self, layer: int, q_NHC: Tensor) -> Tensor:
        for i in self.single.keys() - self.rows.alone:
            a, b = self.rows.spans[i]
            self.single[i].look(layer, q_NHC[a:b])

        def padded(them: Padded, q_nTHC: Tensor) -> Tensor:
            return self._attend(q_nTHC, them.of(self.slab.sources[layer][:, : self.Z]), self.source_mask)

        return self.rows.attended(q_NHC, padded, lambda i, q: self.single[i].source(layer, q))

    def looked(self, part: Part[CrossPlaceCache]) -> Tensor | None:
        """Where the rows of a watched part looked in its source."""
        return self.single[self.rows.parts.index(part)].looked

    def _attend(self, q_nTHC: Tensor, kv_nS2HC: Tensor, mask: Tensor) -> Tensor:
        """Attention of padded rows [n, T, H, C]."""
        keys, values = kv_nS2HC.transpose(1, 2).chunk(2, 1)
        q = q_nTHC.transpose(1, 2)
        out = F.scaled_dot_product_attention(q, keys, values, attn_mask=mask, scale=self.decoder.scale)
        return out.transpose(1, 2)

    def _mask(self, padded: Padded) -> Tensor:
        """What is added to the scores of padded rows: biases by distance or none, minus infinity where a row does not
        see [n, H or 1, T, S]."""
        mask = hidden(padded.see, self.decoder.embedding)[:, None]
        bias = self.decoder.bias(padded.pos, padded.kpos)
        return mask if bias is None else aligned(bias + mask)


def _split(kv: Tensor) -> Tensor:
    """Slots of a place [..., S, 2H, C] as a cache has them [..., 2, H, S, C]."""
    return kv.view(*kv.shape[:-2], 2, kv.shape[-2] // 2, kv.shape[-1]).movedim(-4, -2)
