"""What joined passes have in common: sequences at places of one tensor, rows packed end to end, short parts padded.

Rows are packed for all products; for attention alone those of short parts are padded to the longest. A long part looks
at its own sequence by itself, since padding all others to its rows would cost more than it saves.

Dimension key as in decoder.py; B places, n sequences of a pass, N rows of all of them, T rows of the longest short one.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Generic, Protocol, TypeVar

import torch
from torch import Tensor

from engine.model.decoder import New, Rows
from engine.sampling import sent

SHORT = 64  # rows of a sequence up to which it is padded to the longest


class Slab:
    """Room for the keys and values of several sequences [L, B, S, 2K, C]; a row holds K keys, then K values."""

    def __init__(self, like: Tensor, layers: int, places: int, slots: int, heads: int, channels: int) -> None:
        self.kv = like.new_zeros(layers, places, slots, 2 * heads, channels)
        self.layers = list(self.kv)
        self.flat = [layer.view(places * slots, *layer.shape[2:]) for layer in self.layers]
        self.slots = slots


class Placed(Protocol):
    """The cache of one sequence, at its place in a slab."""

    @property
    def slab(self) -> Slab:
        """The slab, that of all sequences of a pass."""

    @property
    def place(self) -> int:
        """Which of its places."""


P = TypeVar("P", bound=Placed)


@dataclass(frozen=True, eq=False, slots=True)
class Part(Generic[P]):
    """What one sequence has in a pass: its cache, its rows, and how many of the last ones want logits."""

    cache: P
    new: New
    want: int


class Layout(Generic[P]):
    """The rows of one pass: where each comes from and goes to, and which parts are padded. Parts stand by place."""

    def __init__(self, parts: Sequence[Part[P]], device: torch.device) -> None:
        self._asked = parts
        self.parts = sorted(parts, key=lambda part: part.cache.place)
        self.sizes = [len(part.new.ids) for part in self.parts]
        ends = list(accumulate(self.sizes))
        self.spans = [(end - size, end) for end, size in zip(ends, self.sizes, strict=True)]
        slots = [
            range(part.new.start, part.new.start + size) for part, size in zip(self.parts, self.sizes, strict=True)
        ]
        room = self.parts[0].cache.slab.slots
        into = [part.cache.place * room + slot for part, own in zip(self.parts, slots, strict=True) for slot in own]
        self.into = sent(into, device)  # slots of the slab, place after place [N]
        self.pos = sent([slot for own in slots for slot in own], device)  # [N]
        for (a, b), part in zip(self.spans, self.parts, strict=True):
            if part.new.pos is not None:
                self.pos[a:b] = part.new.pos
        self.short = [i for i, size in enumerate(self.sizes) if size <= SHORT]
        self.padded = Padded(self, self.short) if len(self.short) > 1 else None
        self.alone = [i for i in range(len(parts)) if self.padded is None or i not in self.short]

    @property
    def ids(self) -> Tensor:
        """Token ids of all rows [N]."""
        return torch.cat([part.new.ids for part in self.parts])

    def attended(
        self, q_NHC: Tensor, padded: "Callable[[Padded, Tensor], Tensor]", alone: Callable[[int, Tensor], Tensor]
    ) -> Tensor:
        """Attention of all rows [N, H * C]: of queries [n, T, H, C] of the padded parts at once, as many; of those of
        another part, told by its number, [rows, H, C] to [rows, H * C]."""
        if self.padded and not self.alone:
            return self.padded.packed(padded(self.padded, self.padded.spread(q_NHC)))
        out = q_NHC.new_empty(len(q_NHC), q_NHC.shape[1] * q_NHC.shape[2])
        if self.padded:
            together = self.padded.packed(padded(self.padded, self.padded.spread(q_NHC)))
            out.index_copy_(0, self.padded.rows, together)
        for i in self.alone:
            a, b = self.spans[i]
            out[a:b] = alone(i, q_NHC[a:b])
        return out

    def told(self, head: Callable[[Tensor], Tensor], last_ND: Tensor, kept: Sequence[Tensor]) -> list[Rows]:
        """What each part gets of final-normed rows and tapped layer inputs, in the order in which they were asked."""
        wanted = [row for (_, b), part in zip(self.spans, self.parts, strict=True) for row in range(b - part.want, b)]
        every = len(wanted) == len(last_ND)
        logits = head(last_ND if every else last_ND.index_select(0, sent(wanted, last_ND.device)))
        shares = torch.split(logits, [part.want for part in self.parts])
        tapped = torch.cat(list(kept), -1) if kept else None
        found = {
            part.cache.place: Rows(share, last_ND[a:b], None if tapped is None else tapped[a:b])
            for part, share, (a, b) in zip(self.parts, shares, self.spans, strict=True)
        }
        return [found[part.cache.place] for part in self._asked]


class Padded:
    """The short parts of a pass, padded to the longest; rows and slots of padding see and show whatever.

    `see` [n, T, S]: which slots each row sees; `pos` [n, T] and `kpos` [n, S]: positions of rows and of slots.
    """

    def __init__(self, layout: Layout[P], short: Sequence[int]) -> None:
        news, sizes = [layout.parts[i].new for i in short], [layout.sizes[i] for i in short]
        firsts, places = [layout.spans[i][0] for i in short], [layout.parts[i].cache.place for i in short]
        device = layout.pos.device
        self.n, self.T = len(short), max(sizes)
        self.S = max(new.start + size for new, size in zip(news, sizes, strict=True))
        picked = [a + min(t, size - 1) for a, size in zip(firsts, sizes, strict=True) for t in range(self.T)]
        self._pick = sent(picked, device)  # rows of the pass, [n * T]
        own = [i * self.T + t for i, size in enumerate(sizes) for t in range(size)]
        self._back = None if len(own) == len(picked) else sent(own, device)
        self.rows = self._pick if self._back is None else self._pick[self._back]
        together = places == list(range(places[0], places[-1] + 1))
        self._places: slice | Tensor = slice(places[0], places[-1] + 1) if together else sent(places, device)
        self.pos = layout.pos[self._pick].view(self.n, self.T)
        slots, starts = torch.arange(self.S, device=device), sent([new.start for new in news], device)
        ends = starts[:, None] + torch.arange(self.T, device=device)  # own slot of each row
        self.see, self.kpos = slots <= ends[:, :, None], slots.expand(self.n, -1).clone()
        for i, (new, size) in enumerate(zip(news, sizes, strict=True)):
            mine = slice(new.start, new.start + size)
            if new.block is not None:
                self.see[i, :size, mine] = new.block
            if new.pos is not None:
                self.kpos[i, mine] = new.pos

    def spread(self, x: Tensor) -> Tensor:
        """Of something for all rows of the pass [N, ...] what these parts have, padded [n, T, ...]."""
        return x.index_select(0, self._pick).view(self.n, self.T, *x.shape[1:])

    def packed(self, x_nTD: Tensor) -> Tensor:
        """These parts' rows end to end, without padding [rows, D]; they are `rows` of the pass."""
        x = x_nTD.reshape(self.n * self.T, -1)
        return x if self._back is None else x.index_select(0, self._back)

    def of(self, x_B: Tensor) -> Tensor:
        """Of something for all places these parts' [n, ...]."""
        return x_B[self._places] if isinstance(self._places, slice) else x_B.index_select(0, self._places)


def hidden(see: Tensor, like: Tensor) -> Tensor:
    """An additive mask: zero where a row sees, else minus infinity."""
    return torch.zeros(see.shape, dtype=like.dtype, device=see.device).masked_fill_(~see, -torch.inf)
