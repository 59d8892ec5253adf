"""Levels of draft heads that are captured once and replayed, by the same means and the same switch as the target's
passes (`engine.model.graphs`).

A level is the head's block over some rows and the logits after it, or a block of masks that one pass fills. It is
captured for each size, rows and slots rounded up, over a memory that outlives its run; what changes from level to level
(ids, features, positions, the first slot, who sees whom) is in buffers that are filled before a replay. Heads without a
memory are captured by rows alone.

Dimension key: T rows of a level, R rows of a size, S slots of a size, D head width, V' draft ids.
"""

import weakref
from bisect import bisect_left
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import torch
from torch import Tensor

from engine.errors import first_line
from engine.heads.dflash import Blocks, Committed, HeadNorms
from engine.heads.lean import Memory, Slots
from engine.model.decoder import Decoder
from engine.model.graphs import ROWS, SLOTS, SPARE, Capturer, GraphedDecoder

ROOM = 256  # slots for trees beyond those of a run's tokens
Replay = Callable[[], None]


Level = Callable[[Slots, Tensor, Tensor], tuple[Tensor, Tensor]]  # memory, ids, hidden rows -> hidden rows, logits
Block = Callable[[Blocks, Tensor], Tensor]  # memory, ids -> logits of all rows but the first
M = TypeVar("M", Memory, Committed)


@dataclass(eq=False)
class Buffers(Generic[M]):
    """What captured work reads, and the face of a memory that it writes to."""

    memory: M
    ids: Tensor  # [R]
    start: Tensor  # [1], the slot of the first row
    mask: Tensor  # [R, S], additive
    replay: Replay | None = None
    results: tuple[Tensor, ...] = ()

    @property
    def index(self) -> Tensor:
        """The slots of all rows [R]."""
        return self.start + torch.arange(self.ids.shape[0], device=self.ids.device)


class LevelBuffers(Buffers[Memory]):
    """Those of a level of a head that goes from state to state."""

    def __init__(self, memory: Memory, ids: Tensor, hidden: Tensor, start: Tensor, mask: Tensor) -> None:
        super().__init__(memory, ids, start, mask)
        self.hidden = hidden  # [R, D]
        self.pos = torch.zeros_like(ids)  # [R]

    def reserve(self, slots: int) -> None:
        """Nothing: there is room."""

    def attend(
        self, qkv_RO: Tensor, where: slice, at: int, mask: Tensor | None = None, *, last: bool = False
    ) -> Tensor:
        """`Memory.attend` of all rows, with places and mask from the buffers whatever is given."""
        return self.memory.attend_at(qkv_RO, self.pos, self.index, self.mask)


class BlockBuffers(Buffers[Committed]):
    """Those of a block of masks that is filled in one pass."""

    def attend(self, i: int, qkv_RO: Tensor, norms: HeadNorms) -> Tensor:
        """`Committed.attend` of all rows, with places and mask from the buffers."""
        return self.memory.attend_at(i, qkv_RO, self.index, self.mask, norms)


class Levels:
    """The captured levels of one head. `why_not` says why no more are captured."""

    def __init__(self, capturer: Capturer) -> None:
        self.capturer, self.why_not = capturer, ""
        self.captured = self.replayed = 0
        self._spare: list[tuple[int, Any]] = []
        self._rows: dict[tuple[Hashable, int, int], tuple[Tensor, Replay, tuple[Tensor, ...]]] = {}

    def memory(self, owner: object, make: Callable[[int], M], capacity: int) -> M:
        """A memory of the next size, which `owner` has until it goes; that of an ended run where one is left."""
        size = max(SLOTS[min(bisect_left(SLOTS, capacity), len(SLOTS) - 1)], capacity)
        found = next((spare for spare in self._spare if spare[0] == size), None)
        self._spare = [spare for spare in self._spare if spare is not found]  # another may have come back meanwhile
        memory: M = make(size + ROOM) if found is None else found[1]
        memory.empty()
        weakref.finalize(owner, self._back, size, memory)
        return memory

    def _back(self, size: int, memory: Memory | Committed) -> None:
        self._spare = [(size, memory), *self._spare][:SPARE]

    def step(
        self, memory: Memory, work: Level, ids_T: Tensor, hidden_TD: Tensor, pos: int, at: int, mask: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """Hidden rows [T, D] and logits [T, V'] of a level whose rows are all at position `pos`, and whose keys go to
        slots from `at` on; see `Memory.attend` for the mask. A single row needs none."""
        T = ids_T.shape[0]
        key = self._size(memory, at, T)
        if key is None:
            return work(memory, ids_T, hidden_TD)
        held = memory.levels.get(key)
        if held is None:
            hidden = hidden_TD.new_zeros(key[0], hidden_TD.shape[1])
            held = LevelBuffers(memory, ids_T.new_zeros(key[0]), hidden, ids_T.new_zeros(1), memory.like.new_zeros(key))
        held.ids[:T], held.hidden[:T] = ids_T, hidden_TD
        held.ids[T:], held.hidden[T:] = 0, 0
        held.pos.fill_(pos)
        held.start.fill_(at)
        held.mask.fill_(-torch.inf)
        held.mask[T:, 0] = 0  # padding sees something, so that nothing is NaN
        held.mask[:T, : at + T] = 0 if mask is None else mask
        if not self._done(held, key, lambda: work(held, held.ids, held.hidden)):
            return work(memory, ids_T, hidden_TD)
        hidden, logits = held.results
        return hidden[:T].clone(), logits[:T].clone()

    def block(self, memory: Committed, work: Block, ids_B: Tensor) -> Tensor:
        """Logits [B - 1, V] of a block behind the committed tokens, whose rows see those and one another."""
        B, at = ids_B.shape[0], memory.length
        key = self._size(memory, at, B)
        if key is None:
            return work(memory, ids_B)
        held = memory.levels.get(key)
        if held is None:
            held = BlockBuffers(memory, ids_B.new_zeros(key[0]), ids_B.new_zeros(1), memory.like.new_zeros(key))
        held.ids[:B], held.ids[B:] = ids_B, 0
        held.start.fill_(at)
        held.mask.fill_(-torch.inf)
        held.mask[:, : at + B] = 0
        if not self._done(held, key, lambda: (work(held, held.ids),)):
            return work(memory, ids_B)
        return held.results[0][: B - 1].clone()

    def _size(self, memory: Memory | Committed, at: int, T: int) -> tuple[int, int] | None:
        """Rows and slots of the size that T rows from slot `at` on are captured in, and room for them; None where
        nothing is captured."""
        place = bisect_left(ROWS, T)
        if self.why_not or place == len(ROWS):
            return None
        rows = ROWS[place]
        memory.reserve(at + rows)
        slots = min((s for s in SLOTS if s >= at + rows), default=memory.slots)
        return rows, min(slots, memory.slots)

    def _done(self, held: Buffers[M], key: tuple[int, int], work: Callable[[], tuple[Tensor, ...]]) -> bool:
        """Capture or replay; whether that could be done."""
        if held.replay is not None:
            held.replay()
            self.replayed += 1
            return True
        try:
            held.replay, held.results = self.capturer.capture(work)
        except RuntimeError as error:
            self._give_up(error)
            return False
        held.memory.levels[key] = held
        self.captured += 1
        return True

    def rows(self, name: Hashable, work: Callable[[Tensor], Tensor], x_TE: Tensor) -> Tensor:
        """What a head without a memory makes of some rows [T, ...]; `name` tells its products apart."""
        T = x_TE.shape[0]
        place = bisect_left(ROWS, T)
        if self.why_not or place == len(ROWS):
            return work(x_TE)
        key = name, ROWS[place], x_TE.shape[1]
        held = self._rows.get(key)
        given = x_TE.new_zeros(ROWS[place], x_TE.shape[1]) if held is None else held[0]
        given[:T] = x_TE
        if held is None:
            try:
                held = self._rows[key] = (given, *self.capturer.capture(lambda: (work(given),)))
            except RuntimeError as error:
                self._give_up(error)
                return work(x_TE)
            self.captured += 1
        else:
            held[1]()
            self.replayed += 1
        return held[2][0][:T].clone()

    def _give_up(self, error: RuntimeError) -> None:
        """Whatever a driver or library says while a level is captured.

        Raises:
            OutOfMemoryError: it is that.
        """
        if isinstance(error, torch.OutOfMemoryError):
            raise error
        self.why_not = f"a level could not be captured: {first_line(error)}"


def why_not(decoder: Decoder, head: object) -> str:
    """Why a head's levels are not captured although the target's passes are, as a sentence; else empty."""
    reason = str(getattr(head, "uncaptured", "")) if isinstance(decoder, GraphedDecoder) else ""
    return f"The levels of its head are not captured: {reason}." if reason else ""


class Head(Protocol):
    """What is asked of any head."""

    @property
    def uncaptured(self) -> str:
        """Why its levels cannot be captured, as the end of a sentence; empty when they can."""


_KEPT: "weakref.WeakKeyDictionary[Head, Levels]" = weakref.WeakKeyDictionary()


def levels_of(decoder: Decoder, head: Head) -> Levels | None:
    """What captures a head's levels: something where the target's own passes are captured and these can be, else
    None."""
    if not isinstance(decoder, GraphedDecoder) or head.uncaptured:
        return None
    kept = _KEPT.get(head)
    if kept is None or kept.capturer is not decoder.capturer:
        kept = _KEPT[head] = Levels(decoder.capturer)
    return kept
