"""One lean pass over rows of several sequences: packed end to end for all products, padded for attention alone.

Each sequence has a place in one tensor of keys and values, and a cache there that is used as any other. Rows of a long
prompt look at their own sequence by themselves, since padding all others to their number would cost more than it saves.

Dimension key as in lean.py; B places, n sequences of a pass, N rows of all of them, T rows of the longest short one.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from engine.model.decoder import New, Rows
from engine.model.layers import Sight
from engine.model.lean import LeanCache, LeanDecoder

SHORT = 64  # rows of a sequence up to which it is padded to the longest


class Slab:
    """Room for the keys and values of several sequences [L, B, S, 2K, C]."""

    def __init__(self, lean: LeanDecoder, places: int, slots: int) -> None:
        lean.rope(slots)
        self.kv = lean.embedding.new_zeros(len(lean.layers), places, slots, 2 * lean.kv, lean.channels)
        self.layers = list(self.kv)
        self.flat = [layer.view(places * slots, *layer.shape[2:]) for layer in self.layers]
        self.slots = slots


class PlaceCache(LeanCache):
    """The cache of one sequence, at its place in a slab."""

    def __init__(self, slab: Slab, place: int) -> None:
        self.slab, self.place = slab, place
        self.kv = [slab.kv[:, place]]
        self.layers = list(self.kv[0])


@dataclass(frozen=True, eq=False, slots=True)
class Part:
    """What one sequence has in a pass: its cache, its rows, and how many of the last ones want logits."""

    cache: PlaceCache
    new: New
    want: int


class Packing:
    """Passes of a lean decoder over several sequences at once."""

    def __init__(self, lean: LeanDecoder) -> None:
        self.lean = lean

    def bytes(self, slots: int) -> int:
        """What the keys and values of one sequence take."""
        lean = self.lean
        numbers = 2 * len(lean.layers) * slots * lean.kv * lean.channels
        return int(numbers * lean.embedding.element_size())

    def caches(self, places: int, slots: int) -> list[PlaceCache]:
        """Empty caches for so many sequences."""
        slab = Slab(self.lean, places, slots)
        return [PlaceCache(slab, place) for place in range(places)]

    def run(self, parts: Sequence[Part], taps: Sequence[int]) -> list[Rows]:
        """One pass over the rows of all parts, whose caches lie in one slab; all leave out the same layers."""
        order = sorted(range(len(parts)), key=lambda i: parts[i].cache.place)
        found = _Pass(self.lean, [parts[i] for i in order]).run(taps)
        return [rows for _, rows in sorted(zip(order, found, strict=True), key=lambda pair: pair[0])]


class _Pass:
    """The rows of one pass: where each comes from, goes to, and what it sees."""

    def __init__(self, lean: LeanDecoder, parts: Sequence[Part]) -> None:
        self.lean, self.parts, self.slab = lean, parts, parts[0].cache.slab
        self.sizes = [len(part.new.ids) for part in parts]
        self.ends = torch.tensor(self.sizes).cumsum(0).tolist()
        device = lean.home
        firsts = [end - size for end, size in zip(self.ends, self.sizes, strict=True)]
        self.spans = list(zip(firsts, self.ends, strict=True))
        row_of = [i for i, size in enumerate(self.sizes) for _ in range(size)]
        slots = [part.new.start + t for part, size in zip(parts, self.sizes, strict=True) for t in range(size)]
        self.pos = torch.tensor(slots, device=device)
        places = [parts[i].cache.place * self.slab.slots + slot for i, slot in zip(row_of, slots, strict=True)]
        self.into = torch.tensor(places, device=device)
        for (a, b), part in zip(self.spans, parts, strict=True):
            if part.new.pos is not None:
                self.pos[a:b] = part.new.pos
        short = [i for i, size in enumerate(self.sizes) if size <= SHORT]
        self.padded = _Padded(self, short) if len(short) > 1 else None
        self.alone = [i for i in range(len(parts)) if self.padded is None or i not in short]
        views = [[lean.view(self.sizes[i], parts[i].new, sight) for sight in lean.sights] for i in self.alone]
        self.views = dict(zip(self.alone, views, strict=True))

    def run(self, taps: Sequence[int]) -> list[Rows]:
        lean, (H, K, C) = self.lean, (self.lean.heads, self.lean.kv, self.lean.channels)
        x = lean.embed(torch.cat([part.new.ids for part in self.parts]))
        kept, skip = list[Tensor](), self.parts[0].new.skip
        for i, w in enumerate(lean.layers):
            if i in skip:
                continue
            if i in taps:
                kept.append(x)
            qkv = w.qkv(lean.normed(x, w.norm_in), w.qkv_bias).view(len(x), H + 2 * K, C)
            lean.turned(qkv, w, self.pos)
            self.slab.flat[i].index_copy_(0, self.into, qkv[:, H:])
            x = lean.close(x, self._attend(i, qkv[:, :H]), w)
        if len(lean.layers) in taps:
            kept.append(x)
        last = lean.final(x)
        wanted = [row for (_, b), part in zip(self.spans, self.parts, strict=True) for row in range(b - part.want, b)]
        logits = lean.head(
            last if len(wanted) == len(last) else last.index_select(0, torch.tensor(wanted, device=last.device))
        )
        shares = torch.split(logits, [part.want for part in self.parts])
        tapped = torch.cat(kept, -1) if kept else None
        return [
            Rows(share, last[a:b], None if tapped is None else tapped[a:b])
            for share, (a, b) in zip(shares, self.spans, strict=True)
        ]

    def _attend(self, layer: int, q_NHC: Tensor) -> Tensor:
        """Attention of all rows [N, H * C]."""
        lean, sight = self.lean, self.lean.sight_of[layer]
        if self.padded and not self.alone:
            return self.padded.attend(layer, q_NHC, sight)
        out = q_NHC.new_empty(len(q_NHC), lean.heads * lean.channels)
        if self.padded:
            out.index_copy_(0, self.padded.rows, self.padded.attend(layer, q_NHC, sight))
        for i in self.alone:
            (a, b), part, (low, mask) = self.spans[i], self.parts[i], self.views[i][sight]
            slots = part.cache.layers[layer][low : part.new.start + b - a]
            out[a:b] = lean.attend(q_NHC[a:b], slots, mask, b - a > 1 and mask is None, lean.layers[layer].sinks)
        return out


class _Padded:
    """The short parts of a pass, padded to the longest: rows, slots, and masks by kind of layer."""

    def __init__(self, whole: _Pass, short: Sequence[int]) -> None:
        lean, parts = whole.lean, [whole.parts[i] for i in short]
        sizes, device = [whole.sizes[i] for i in short], lean.home
        firsts = [whole.spans[i][0] for i in short]
        self.lean, self.slab = lean, whole.slab
        self.n, self.T = len(short), max(sizes)
        self.S = max(part.new.start + size for part, size in zip(parts, sizes, strict=True))
        picked = [a + min(t, size - 1) for a, size in zip(firsts, sizes, strict=True) for t in range(self.T)]
        self.pick = torch.tensor(picked, device=device)  # rows of the pass, [n * T]
        own = [i * self.T + t for i, size in enumerate(sizes) for t in range(size)]
        self.back = None if len(own) == len(picked) else torch.tensor(own, device=device)
        self.rows = self.pick if self.back is None else self.pick[self.back]
        places = [part.cache.place for part in parts]
        together = places == list(range(places[0], places[-1] + 1))
        self.places: slice | Tensor = (
            slice(places[0], places[-1] + 1) if together else torch.tensor(places, device=device)
        )
        pos = whole.pos[self.pick].view(self.n, self.T)
        self.masks = self._masks([part.new for part in parts], sizes, pos)

    def _masks(self, news: Sequence[New], sizes: Sequence[int], pos_nT: Tensor) -> list[Tensor]:
        """Additive masks [n, 1, H / K * T, S], one for each sight; rows and slots of padding see and show whatever."""
        device = pos_nT.device
        slots = torch.arange(self.S, device=device)
        starts = torch.tensor([new.start for new in news], device=device)
        ends = starts[:, None] + torch.arange(self.T, device=device)  # own slot of each row
        see = slots <= ends[:, :, None]
        kpos = slots.expand(self.n, -1).clone()
        for i, (new, size) in enumerate(zip(news, sizes, strict=True)):
            own = slice(new.start, new.start + size)
            if new.block is not None:
                see[i, :size, own] = new.block
            if new.pos is not None:
                kpos[i, own] = new.pos
        return [self._mask(see, sight, pos_nT, kpos) for sight in self.lean.sights]

    def _mask(self, see_nTS: Tensor, sight: Sight, pos_nT: Tensor, kpos_nS: Tensor) -> Tensor:
        if sight.window:
            see_nTS = see_nTS & (kpos_nS[:, None] > pos_nT[:, :, None] - sight.window)
        mask = torch.zeros(see_nTS.shape, dtype=self.lean.embedding.dtype, device=see_nTS.device)
        return mask.masked_fill_(~see_nTS, -torch.inf).repeat(1, self.lean.heads // self.lean.kv, 1).unsqueeze(1)

    def attend(self, layer: int, q_NHC: Tensor, sight: int) -> Tensor:
        """Attention of the short parts' rows, in their order [rows, H * C]."""
        n, T, H, K, C = self.n, self.T, self.lean.heads, self.lean.kv, self.lean.channels
        kv = self.slab.layers[layer][:, : self.S]
        kv = kv[self.places] if isinstance(self.places, slice) else kv.index_select(0, self.places)
        q = q_NHC.index_select(0, self.pick).view(n, T, K, H // K, C).permute(0, 2, 3, 1, 4)
        keys, values = kv[:, :, :K].transpose(1, 2), kv[:, :, K:].transpose(1, 2)
        sinks = self.lean.layers[layer].sinks
        sinks = None if sinks is None else sinks.repeat_interleave(T)
        out = self.lean.mixed(q.reshape(n, K, H // K * T, C), keys, values, self.masks[sight], sinks)
        out = out.view(n, K, H // K, T, C).permute(0, 3, 1, 2, 4).reshape(n * T, H * C)
        return out if self.back is None else out.index_select(0, self.back)
