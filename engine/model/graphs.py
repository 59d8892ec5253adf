"""Passes that are captured once and replayed, so that a small model on a large GPU does not wait for its own launches.

A captured pass touches the same memory each time: one cache for as long as a sequence lives, rows and slots rounded up
to a few sizes, and whatever changes from pass to pass (ids, positions, the first slot, who sees whom) in buffers that
are filled before a replay. A layer with a window reads as many slots as the window and the rows need, from a first
slot that is computed within the pass. What does the capturing is a `Capturer`: CUDA graphs on a GPU, and in the tests a
recorder that stands in for them. What fits no size runs as before.

Dimension key as in decoder.py; R rows of a size.
"""

import weakref
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor

from engine.errors import first_line
from engine.model.decoder import New, Rows
from engine.model.experts import Experts
from engine.model.layers import Sight
from engine.model.lean import LeanCache, LeanDecoder, Turns
from engine.model.splitkv import cut

ROWS = (1, 2, 4, 8, 16, 32, 64, 128)  # sizes of a pass
SLOTS = tuple(256 << i for i in range(12))  # sizes of the cache that a pass looks at
SPARE = 2  # caches of ended sequences that are kept, with their captured passes
SWITCH = ("auto", "on", "off")
Work = Callable[[], tuple[Tensor, ...]]


class Capturer(Protocol):
    """Turns work on fixed buffers into something that does it again."""

    def capture(self, work: Work) -> tuple[Callable[[], None], tuple[Tensor, ...]]:
        """What repeats the work on the same memory, and the tensors that then hold its results. The work has been done
        once when this returns, as far as the cache goes.

        Raises:
            RuntimeError: it cannot be captured.
        """


class CudaCapturer:
    """CUDA graphs that share one pool of memory."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self._pool: Any = None

    def capture(self, work: Work) -> tuple[Callable[[], None], tuple[Tensor, ...]]:
        with torch.cuda.device(self.device):
            aside: Any = torch.cuda.Stream()  # type: ignore[no-untyped-call]
            aside.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(aside):  # libraries choose their kernels and workspaces before they are captured
                for _ in range(2):
                    work()
            torch.cuda.current_stream().wait_stream(aside)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, pool=self._pool):
                results = work()
            self._pool = self._pool or graph.pool()
            graph.replay()
        return graph.replay, results


class Again:
    """Does the work again instead of replaying it: what a graph would give, on any device."""

    def capture(self, work: Work) -> tuple[Callable[[], None], tuple[Tensor, ...]]:
        results = work()

        def replay() -> None:
            for kept, fresh in zip(results, work(), strict=True):
                kept.copy_(fresh)

        return replay, results


@dataclass(frozen=True, slots=True)
class Size:
    """What a captured pass was made for: rows, slots that it looks at, layers whose inputs it keeps, layers that it
    leaves out."""

    rows: int
    slots: int
    taps: tuple[int, ...]
    skip: frozenset[int]


@dataclass(eq=False)
class Captured:
    """A pass of one size over one cache: the buffers that it reads, and what repeats it."""

    ids: Tensor  # [R]
    pos: Tensor  # [R]
    start: Tensor  # [1], the slot of the first row
    block: Tensor  # [R, R] bool, true = sees
    replay: Callable[[], None] | None = None
    results: tuple[Tensor, ...] = ()  # logits [R, V], last [R, D], and taps [R, K * D] where there are some
    tables: tuple[Tensor, ...] = ()  # rotations: a longer sequence makes the decoder new ones, a replay reads these


class StaticCache(LeanCache):
    """A cache with room for a whole pass beyond its slots, and the passes that were captured over it."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.passes: dict[Size, Captured] = {}

    @torch.inference_mode()
    def empty(self) -> None:
        """Nothing is left in any slot: passes look at all of them, and a hidden one that holds no number gives none."""
        for kv in self.kv:
            kv.zero_()


class Lease:
    """A sequence's hold on a static cache. It has the cache's face; when it goes, the next sequence may have it."""

    def __init__(self, cache: StaticCache) -> None:
        self.cache, self.kv, self.layers = cache, cache.kv, cache.layers
        self.gather, self.crop, self.back = cache.gather, cache.crop, cache.back


class GraphedDecoder:
    """A lean decoder on one device whose small passes are captured. `why_not` says why it no longer captures any."""

    why_chains = ""

    def __init__(self, lean: LeanDecoder, capturer: Capturer) -> None:
        self.lean, self.capturer, self.why_not = lean, capturer, ""
        self.captured = self.replayed = 0
        self._spare: list[tuple[int, StaticCache]] = []

    def embed(self, ids_T: Tensor) -> Tensor:
        return self.lean.embed(ids_T)

    def head(self, last_TD: Tensor) -> Tensor:
        return self.lean.head(last_TD)

    def cache(self, capacity: int) -> Lease:
        """A cache of the next size; that of an ended sequence where one is left, with its captured passes."""
        size = SLOTS[min(bisect_left(SLOTS, capacity), len(SLOTS) - 1)]
        size = max(size, capacity)
        found = next((spare for spare in self._spare if spare[0] == size), None)
        if found is None:
            lean, room = self.lean, size + ROWS[-1]
            lean.rope(room)
            cache = StaticCache(lean.homes, room, lean.kv, lean.channels, lean.embedding)
        else:
            self._spare = [spare for spare in self._spare if spare is not found]  # another may have come back meanwhile
            cache = found[1]
            cache.empty()
        lease = Lease(cache)
        weakref.finalize(lease, self._back, size, cache)
        return lease

    def _back(self, size: int, cache: StaticCache) -> None:
        self._spare = [(size, cache), *self._spare][:SPARE]

    def run(self, lease: Lease, new: New, taps: Sequence[int], want: int) -> Rows:
        T = len(new.ids)
        place = bisect_left(ROWS, T)
        if self.why_not or place == len(ROWS):
            return self.lean.run(lease.cache, new, taps, want)
        rows, most = ROWS[place], lease.kv[0].shape[1]
        slots = min((s for s in SLOTS if s >= new.start + rows), default=most)
        try:
            held = self._pass(lease.cache, Size(rows, min(slots, most), tuple(taps), new.skip), new)
        except RuntimeError as error:  # whatever a driver or library says while it is captured
            if isinstance(error, torch.OutOfMemoryError):
                raise
            self.why_not = f"a pass could not be captured: {first_line(error)}"
            return self.lean.run(lease.cache, new, taps, want)
        logits, last, *kept = held.results
        return Rows(logits[T - want : T].clone(), last[:T].clone(), kept[0][:T].clone() if kept else None)

    def _pass(self, cache: StaticCache, size: Size, new: New) -> Captured:
        """The pass of this size over the cache, done for these rows."""
        held = cache.passes.get(size)
        if held is None:
            like, rows = new.ids, size.rows
            held = Captured(
                like.new_zeros(rows), like.new_zeros(rows), like.new_zeros(1), like.new_zeros(rows, rows).bool()
            )
        _fill(held, new)
        if held.replay is None:
            held.tables = self.lean.tables
            held.replay, held.results = self.capturer.capture(lambda: self._static(held, cache, size))
            cache.passes[size] = held
            self.captured += 1
        else:
            held.replay()
            self.replayed += 1
        return held

    def _static(self, held: Captured, cache: StaticCache, size: Size) -> tuple[Tensor, ...]:
        """`LeanDecoder.run` with all sizes fixed: every row is computed, and looks at all slots through a mask. What
        padding rows write lies behind what is read, and is written over by the next pass."""
        lean = self.lean
        R, H, K, C = len(held.ids), lean.heads, lean.kv, lean.channels
        index = held.start + torch.arange(R, device=held.ids.device)
        views = [self._view(held, size.slots, sight) for sight in lean.sights]
        x, turns = lean.embed(held.ids), Turns()
        kept: list[Tensor] = []
        for i, (w, kv) in enumerate(zip(lean.layers, cache.layers, strict=True)):
            if i in size.skip:
                continue
            if i in size.taps:
                kept.append(x)
            qkv = w.qkv(lean.normed(x, w.norm_in), w.qkv_bias).view(R, H + 2 * K, C)
            lean.turned(qkv, w, held.pos, turns)
            kv.index_copy_(0, index, qkv[:, H:])
            near, mask = views[lean.sight_of[i]]
            seen = kv[: size.slots] if near is None else kv.index_select(0, near)
            x = lean.close(x, lean.attend(qkv[:, :H], seen, mask, False, w.sinks), w)
        if len(lean.layers) in size.taps:
            kept.append(x)
        last = lean.final(x)
        return (lean.head(last), last, *([torch.cat(kept, -1)] if kept else []))

    def _view(self, held: Captured, slots: int, sight: Sight) -> tuple[Tensor | None, Tensor]:
        """The slots that a layer reads [S], None for the first ones, and its additive mask [R * H / K, S] over them:
        from the first slot and the block, whatever they are."""
        lean, R = self.lean, len(held.ids)
        slot, near = torch.arange(slots, device=held.ids.device), None
        if sight.window and sight.window + R < slots:
            count = min(cut(sight.window + R - 1), slots)
            near = slot = slot[:count] + (held.start + R - count).clamp(min=0)
        column = slot - held.start  # of the block; committed slots are below 0
        own = column.clamp(0, R - 1)
        see = (held.block[:, own] & (column < R)) | (column < 0)
        if sight.window:
            pos = torch.where(column < 0, slot, held.pos[own])
            see &= pos > held.pos.unsqueeze(1) - sight.window
        mask = torch.zeros(see.shape, dtype=lean.embedding.dtype, device=held.ids.device)
        return near, lean.by_query(mask.masked_fill_(~see, -torch.inf))


def _fill(held: Captured, new: New) -> None:
    """Put what changes from pass to pass into the buffers. Padding rows see themselves, so that nothing is NaN, and
    hold nothing of earlier passes, which may have been."""
    T, R = len(new.ids), len(held.ids)
    held.ids[:T] = new.ids
    held.ids[T:] = 0
    held.start.fill_(new.start)
    if new.pos is None:
        torch.arange(new.start, new.start + R, out=held.pos)
    else:
        held.pos[:T] = new.pos
        held.pos[T:] = 0
    if new.block is None:
        held.block.fill_(True).tril_()
        return
    held.block.fill_(False).fill_diagonal_(True)
    held.block[:T, :T] = new.block


def graphed(
    lean: LeanDecoder | None, home: torch.device, wanted: str
) -> tuple["LeanDecoder | GraphedDecoder | None", str]:
    """The lean decoder, where there is one, with captured passes where that can be, by the switch ("auto", "on" or
    "off"); and why not, as the end of a sentence: empty where they are captured, or nobody would expect it. `home` is
    the device of the model."""
    if home.type != "cuda":
        return lean, f"graphs are for CUDA devices, and the model is on {home}" if wanted == "on" else ""
    if wanted == "off":
        return lean, "graphs='off' was asked for"
    if lean is None:
        return None, "transformers' own forward runs them"
    if why := obstacle(lean):
        return lean, why
    return GraphedDecoder(lean, CudaCapturer(lean.home)), ""


def obstacle(lean: LeanDecoder) -> str:
    """Why a decoder's passes cannot be captured; empty when they can."""
    if lean.apart:
        return "the model is spread over several devices"
    if any(isinstance(layer.mlp, Experts) for layer in lean.layers):
        return "the host reads which of its experts are picked"
    return ""
