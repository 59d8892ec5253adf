"""Sequences side by side: each runs its own code as if it were alone, and their passes through a model are joined.

A row is a greenlet. Where its code asks for a pass, it stops; once all rows have stopped, the passes that can be one
are run as one, and their rows go on. So no session, drafter, shape or rule knows of other rows (docs/design/0022).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar, cast

from greenlet import getcurrent, greenlet
from torch import Tensor

from engine.model.crossed import CrossCache, CrossDecoder
from engine.model.crosspacked import CrossPacking
from engine.model.decoder import Cache, Decoder, New, Rows
from engine.model.graphs import GraphedDecoder
from engine.model.lean import LeanDecoder
from engine.model.packed import Packing
from engine.model.slabs import Part, Placed

T = TypeVar("T")
MOST = 2048  # rows of a joined pass; of long prompts some wait for the next


class PlacedCache(Cache, Placed, Protocol):
    """A cache at its place in a slab."""


P = TypeVar("P", bound=PlacedCache)


class Joins(Protocol[P]):
    """Runs passes of one decoder over several sequences at once."""

    @property
    def decoder(self) -> Decoder:
        """The decoder, which runs one sequence by itself."""

    def bytes(self, slots: int) -> int:
        """What the keys and values of one sequence take."""

    def caches(self, places: int, slots: int) -> Sequence[P]:
        """Empty caches for so many sequences, each good for the decoder too."""

    def run(self, parts: Sequence[Part[P]], taps: Sequence[int]) -> list[Rows]:
        """One pass over the rows of all parts, whose caches lie in one slab; all leave out the same layers."""


@dataclass(frozen=True, eq=False, slots=True)
class Ask(Generic[P]):
    """A pass that a row wants."""

    decoder: "JoinedDecoder[P]"
    cache: P
    new: New
    taps: tuple[int, ...]
    want: int

    @property
    def kind(self) -> tuple[bool, int, tuple[int, ...], tuple[int, ...]]:
        """Passes of one kind can be joined; false comes before true."""
        skip = tuple(sorted(self.new.skip))
        return self.decoder.waits and not skip, id(self.cache.slab), skip, self.taps


Waiting = Ask[Any]  # of whatever model: those that are joined have one decoder


@dataclass(eq=False)
class Crew:
    """Rows that work side by side in one thread."""

    passes: int = 0  # run so far, joined or not
    asked: int = 0  # by rows
    _rows: "list[greenlet]" = field(default_factory=list)

    def work(self, tasks: Sequence[Callable[[], T]]) -> list[T]:
        """What the tasks return, in their order. An error in one ends all."""
        self._rows = [greenlet(task) for task in tasks]
        results: dict[int, T] = {}
        waiting: dict[int, Waiting] = {}

        def go(i: int, resume: Callable[..., Any], *given: Any) -> None:
            waiting.pop(i, None)
            found = resume(*given)
            if self._rows[i].dead:
                results[i] = found
            else:
                waiting[i] = found

        try:
            for i, row in enumerate(self._rows):
                go(i, row.switch)
            while waiting:
                chosen = _next(waiting)
                try:
                    found = self._pass([waiting[i] for i in chosen])
                except Exception as error:  # of a whole pass: each of its rows tells it in its own words
                    for i in chosen:
                        go(i, self._rows[i].throw, error)
                else:
                    for i, given in zip(chosen, found, strict=True):
                        go(i, self._rows[i].switch, given)
        finally:
            left, self._rows = self._rows, []
            for row in left:
                if not row.dead:
                    row.throw()
        return [results[i] for i in range(len(tasks))]

    def ask(self, ask: Ask[P]) -> Rows:
        """The rows of a pass; run at once for who is no row."""
        here = getcurrent()
        if here not in self._rows or here.parent is None:
            return self._pass([ask])[0]
        return cast(Rows, here.parent.switch(ask))

    def _pass(self, asks: Sequence[Ask[P]]) -> list[Rows]:
        self.passes += 1
        self.asked += len(asks)
        packing, taps = asks[0].decoder.packing, asks[0].taps
        if len(asks) == 1:
            return [packing.decoder.run(asks[0].cache, asks[0].new, taps, asks[0].want)]
        return packing.run([Part(ask.cache, ask.new, ask.want) for ask in asks], taps)


def _next(waiting: dict[int, Waiting]) -> list[int]:
    """Rows whose passes are run next as one: drafts before what waits for all drafts, and no more than fit."""
    kind = min(ask.kind for ask in waiting.values())
    chosen, size = list[int](), 0
    for i in sorted(waiting):
        if waiting[i].kind == kind:
            size += len(waiting[i].new.ids)
            if chosen and size > MOST:
                break
            chosen.append(i)
    return chosen


class JoinedDecoder(Generic[P]):
    """A decoder for the rows of a crew. `waits`: its passes come when no row wants another one's, so that the rows of a
    batch are verified together, however long each drafted."""

    def __init__(self, packing: Joins[P], crew: Crew, places: int, slots: int, waits: bool) -> None:
        """Sequences have room for `slots` slots, or more where they ask for it; so many `places` are made at a time."""
        self.packing, self.crew, self.waits = packing, crew, waits
        self.why_chains = packing.decoder.why_chains
        self._places, self._slots = places, slots
        self._free: dict[int, list[P]] = {}

    def cache(self, capacity: int) -> P:
        """The next free place among those of this size."""
        size = max(capacity, self._slots)
        if not self._free.get(size):
            self._free[size] = list(self.packing.caches(self._places, size))
        return self._free[size].pop(0)

    def run(self, cache: P, new: New, taps: Sequence[int], want: int) -> Rows:
        return self.crew.ask(Ask(self, cache, new, tuple(taps), want))

    def read(self, cache: CrossCache, source_S: Tensor) -> None:
        """Of an encoder-decoder: encode the source of one row, at once and alone."""
        cast(CrossDecoder, self.packing.decoder).read(cache, source_S)

    def head(self, last_TD: Tensor) -> Tensor:
        return self.packing.decoder.head(last_TD)

    def embed(self, ids_T: Tensor) -> Tensor:
        return self.packing.decoder.embed(ids_T)


def packing_of(decoder: Decoder, source: int = 0) -> Joins[Any] | None:
    """What joins the passes of a decoder; None where it runs one sequence at a time: through transformers, on a server,
    or with its layers on several devices. `source`: tokens of the longest source that is read."""
    if isinstance(decoder, CrossDecoder):
        return CrossPacking(decoder, source)
    lean = decoder.lean if isinstance(decoder, GraphedDecoder) else decoder
    return Packing(lean) if isinstance(lean, LeanDecoder) and not lean.apart else None
