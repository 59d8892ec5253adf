"""Levels of draft heads that are captured once and replayed, by the same means and the same switch as the target's
passes (`engine.model.graphs`).

A level is the head's block over some rows and the logits after it. It is captured for each size, rows and slots rounded
up, over a memory that outlives its run; what changes from level to level (ids, features, positions, the first slot, who
sees whom) is in buffers that are filled before a replay. Heads without a memory are captured by rows alone.

Dimension key: T rows of a level, R rows of a size, S slots of a size, D head width, V' draft ids.
"""

import weakref
from bisect import bisect_left
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from engine.heads.lean import Memory
from engine.model.decoder import Decoder
from engine.model.graphs import ROWS, SLOTS, SPARE, Capturer, GraphedDecoder

ROOM = 256  # slots for trees beyond those of a run's tokens
Replay = Callable[[], None]


class Slots(Protocol):
    """What a level asks of a memory."""

    def reserve(self, slots: int) -> None:
        """See `Memory.reserve`."""

    def attend(
        self, qkv_TO: Tensor, where: slice, at: int, mask: Tensor | None = None, /, *, last: bool = False
    ) -> Tensor:
        """See `Memory.attend`."""


Level = Callable[[Slots, Tensor, Tensor], tuple[Tensor, Tensor]]  # memory, ids, hidden rows -> hidden rows, logits


@dataclass(eq=False)
class Buffers:
    """What a captured level reads, and the face of a memory that it writes to."""

    memory: Memory
    ids: Tensor  # [R]
    hidden: Tensor  # [R, D]
    pos: Tensor  # [R]
    start: Tensor  # [1], the slot of the first row
    mask: Tensor  # [R, S], additive
    replay: Replay | None = None
    results: tuple[Tensor, ...] = ()

    def reserve(self, slots: int) -> None:
        """Nothing: there is room."""

    def attend(
        self, qkv_RO: Tensor, where: slice, at: int, mask: Tensor | None = None, *, last: bool = False
    ) -> Tensor:
        """`Memory.attend` of all rows, with places and mask from the buffers whatever is given."""
        index = self.start + torch.arange(len(self.ids), device=self.ids.device)
        return self.memory.attend_at(qkv_RO, self.pos, index, self.mask)


class Levels:
    """The captured levels of one head. `why_not` says why no more are captured."""

    def __init__(self, capturer: Capturer) -> None:
        self.capturer, self.why_not = capturer, ""
        self.captured = self.replayed = 0
        self._spare: list[tuple[int, Memory]] = []
        self._rows: dict[tuple[Hashable, int, int], tuple[Tensor, Replay, tuple[Tensor, ...]]] = {}

    def memory(self, owner: object, make: Callable[[int], Memory], capacity: int) -> Memory:
        """A memory of the next size, which `owner` has until it goes; that of an ended run where one is left."""
        size = max(SLOTS[min(bisect_left(SLOTS, capacity), len(SLOTS) - 1)], capacity)
        at = next((i for i, (slots, _) in enumerate(self._spare) if slots == size), None)
        memory = make(size + ROOM) if at is None else self._spare.pop(at)[1]
        memory.length = 0
        weakref.finalize(owner, self._back, size, memory)
        return memory

    def _back(self, size: int, memory: Memory) -> None:
        self._spare = [(size, memory), *self._spare][:SPARE]

    def step(
        self, memory: Memory, work: Level, ids_T: Tensor, hidden_TD: Tensor, pos: int, at: int, mask: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """Hidden rows [T, D] and logits [T, V'] of a level whose rows are all at position `pos`, and whose keys go to
        slots from `at` on; see `Memory.attend` for the mask. A single row needs none."""
        T = len(ids_T)
        place = bisect_left(ROWS, T)
        if self.why_not or place == len(ROWS):
            return work(memory, ids_T, hidden_TD)
        rows = ROWS[place]
        memory.reserve(at + rows)
        slots = min((s for s in SLOTS if s >= at + rows), default=memory.slots)
        key = rows, min(slots, memory.slots)
        held = memory.levels.get(key)
        if held is None:
            held = Buffers(
                memory,
                ids_T.new_zeros(rows),
                hidden_TD.new_zeros(rows, hidden_TD.shape[1]),
                ids_T.new_zeros(rows),
                ids_T.new_zeros(1),
                memory.like.new_zeros(key),
            )
        held.ids[:T], held.hidden[:T] = ids_T, hidden_TD
        held.pos.fill_(pos)
        held.start.fill_(at)
        held.mask.fill_(-torch.inf)
        held.mask[T:, 0] = 0  # padding sees something, so that nothing is NaN
        held.mask[:T, : at + T] = 0 if mask is None else mask
        if held.replay is None:
            try:
                held.replay, held.results = self.capturer.capture(lambda: work(held, held.ids, held.hidden))
            except RuntimeError as error:
                self._give_up(error)
                return work(memory, ids_T, hidden_TD)
            memory.levels[key] = held
            self.captured += 1
        else:
            held.replay()
            self.replayed += 1
        hidden, logits = held.results
        return hidden[:T].clone(), logits[:T].clone()

    def rows(self, name: Hashable, work: Callable[[Tensor], Tensor], x_TE: Tensor) -> Tensor:
        """What a head without a memory makes of some rows [T, ...]; `name` tells its products apart."""
        T = len(x_TE)
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
        self.why_not = f"a level could not be captured: {str(error).splitlines()[0][:200]}"


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
