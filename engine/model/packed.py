"""One lean pass over rows of several sequences: packed end to end for all products, padded for attention alone.

Each sequence has a place in one tensor of keys and values, and a cache there that is used as any other. Dimension key
as in lean.py and slabs.py.
"""

from collections.abc import Sequence

from torch import Tensor

from engine.model.decoder import Rows
from engine.model.layers import Sight
from engine.model.lean import LeanCache, LeanDecoder, Turns
from engine.model.slabs import Layout, Padded, Part, Slab, hidden


class PlaceCache(LeanCache):
    """The cache of one sequence, at its place in a slab."""

    def __init__(self, slab: Slab, place: int) -> None:
        self.slab, self.place = slab, place
        self.kv = [slab.kv[:, place]]
        self.layers = list(self.kv[0])


class Packing:
    """Passes of a lean decoder over several sequences at once."""

    def __init__(self, lean: LeanDecoder) -> None:
        self.decoder = lean

    def bytes(self, slots: int) -> int:
        """What the keys and values of one sequence take."""
        lean = self.decoder
        numbers = 2 * len(lean.layers) * slots * lean.kv * lean.channels
        return int(numbers * lean.embedding.element_size())

    def caches(self, places: int, slots: int) -> list[PlaceCache]:
        """Empty caches for so many sequences."""
        lean = self.decoder
        lean.rope(slots)
        slab = Slab(lean.embedding, len(lean.layers), places, slots, lean.kv, lean.channels)
        return [PlaceCache(slab, place) for place in range(places)]

    def run(self, parts: Sequence[Part[PlaceCache]], taps: Sequence[int]) -> list[Rows]:
        """One pass over the rows of all parts, whose caches lie in one slab; all leave out the same layers."""
        return _Pass(self.decoder, parts).run(taps)


class _Pass:
    """The rows of one pass, and what they see by kind of layer."""

    def __init__(self, lean: LeanDecoder, parts: Sequence[Part[PlaceCache]]) -> None:
        self.lean, self.slab = lean, parts[0].cache.slab
        self.rows = rows = Layout(parts, lean.home)
        self.masks = [self._mask(rows.padded, sight) for sight in lean.sights] if rows.padded else []
        self.views = {
            i: [lean.view(rows.sizes[i], rows.parts[i].new, sight) for sight in lean.sights] for i in rows.alone
        }

    def run(self, taps: Sequence[int]) -> list[Rows]:
        lean, (H, K, C) = self.lean, (self.lean.heads, self.lean.kv, self.lean.channels)
        x, turns = lean.embed(self.rows.ids), Turns()
        kept, skip = list[Tensor](), self.rows.parts[0].new.skip
        for i, w in enumerate(lean.layers):
            if i in skip:
                continue
            if i in taps:
                kept.append(x)
            qkv = w.qkv(lean.normed(x, w.norm_in), w.qkv_bias).view(len(x), H + 2 * K, C)
            lean.turned(qkv, w, self.rows.pos, turns)
            self.slab.flat[i].index_copy_(0, self.rows.into, qkv[:, H:])
            x = lean.close(x, self._attend(i, qkv[:, :H]), w)
        if len(lean.layers) in taps:
            kept.append(x)
        return self.rows.told(lean.head, lean.final(x), kept)

    def _attend(self, layer: int, q_NHC: Tensor) -> Tensor:
        """Attention of all rows [N, H * C]."""
        lean, sight = self.lean, self.lean.sight_of[layer]
        K, C, sinks = lean.kv, lean.channels, lean.layers[layer].sinks

        def padded(them: Padded, q_nTHC: Tensor) -> Tensor:
            n, T, H, _ = q_nTHC.shape
            kv = them.of(self.slab.layers[layer][:, : them.S])
            q = q_nTHC.view(n, T, K, H // K, C).transpose(1, 2).reshape(n, K, T * (H // K), C)
            keys, values = kv[:, :, :K].transpose(1, 2), kv[:, :, K:].transpose(1, 2)
            out = lean.mixed(q, keys, values, self.masks[sight], None if sinks is None else lean.by_row(sinks, T))
            return out.view(n, K, T, H // K, C).transpose(1, 2)

        def alone(i: int, q_THC: Tensor) -> Tensor:
            (low, mask), part = self.views[i][sight], self.rows.parts[i]
            slots = part.cache.layers[layer][low : part.new.start + len(q_THC)]
            return lean.attend(q_THC, slots, mask, len(q_THC) > 1 and mask is None, sinks)

        return self.rows.attended(q_NHC, padded, alone)

    def _mask(self, padded: Padded, sight: Sight) -> Tensor:
        """Additive mask [n, 1, T * H / K, S] of the padded rows."""
        see = padded.see
        if sight.window:
            see = see & (padded.kpos[:, None] > padded.pos[:, :, None] - sight.window)
        mask = hidden(see, self.lean.embedding)
        return self.lean.by_query(mask).unsqueeze(1)
