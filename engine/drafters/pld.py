"""Prompt lookup: what followed the last tokens when they stood here before? Saxena 2023; docs/methods/pld.md, register
S8."""

from collections.abc import Iterable, Sequence
from typing import ClassVar

from engine.config import Knob
from engine.draft import Draft, chain
from engine.lookup.history import SCOPE, History, entries_knob
from engine.lookup.places import FirstPlaces
from engine.parts import ChainShape, Context, Kit, Knobs, Outcome
from engine.trace.records import RoundExtras, Source


class Pld:
    """The longest n-gram first; within one length the current sequence, then earlier trajectories, the latest first.

    Of several places in a sequence the first is taken, as in the reference, which scans from left to right.
    """

    NAME: ClassVar[str] = "pld"
    TITLE: ClassVar[str] = "Prompt lookup"
    KNOBS: ClassVar[tuple[Knob, ...]] = (
        Knob("max_ngram", 3, "longest run of last tokens that is looked up", 1, 16, 1, "tokens", origin="code"),
        Knob(
            "continuation",
            "full",
            "what must follow a match: a draft of full length (reference), or anything",
            choices=("full", "any"),
            origin="code",
        ),
        Knob(
            "corpus",
            "trajectories",
            "this sequence and earlier trajectories, all of them as one text, or this one alone",
            choices=("trajectories", "concatenated", "current"),
            advanced=True,
        ),
        SCOPE,
        entries_knob(100_000, "n-grams"),
    )
    SHAPES: ClassVar[tuple[str, ...]] = ("chain",)
    NEEDS: ClassVar[tuple[str, ...]] = ()
    DISTRIBUTIONS: ClassVar[bool] = False
    WANTS: ClassVar[tuple[str, ...]] = ()
    taps: tuple[int, ...] = ()

    def __init__(self, kit: Kit, knobs: Knobs) -> None:
        self.orders, self.entries = int(knobs["max_ngram"]), int(knobs["entries"])
        self.full, self.corpus = knobs["continuation"] == "full", str(knobs["corpus"])
        self.history = History(str(knobs["scope"]))
        self.places = FirstPlaces(self.orders, self.entries)

    def begin(self, tokens: Sequence[int]) -> None:
        if self.history.begin(tokens):
            self.places = FirstPlaces(self.orders, self.entries)
        self._index(self.history.start, len(self.history.tokens))

    def _index(self, start: int, stop: int) -> None:
        one = self.corpus == "concatenated"
        group, first = (0, 0) if one else (self.history.trajectory, self.history.start)
        for at in range(start, stop):
            self.places.add(group, self.history.tokens, at, first)

    def propose(self, context: Context, shape: ChainShape) -> Draft:
        limit = shape.limit()
        room = min(limit, context.room, context.space)
        order, at, end, times = self._find(limit) if room > 0 else (0, 0, 0, 0)
        tokens = self.history.tokens[at : min(at + room, end)]
        match: Source = {"kind": "ngram", "order": order, "times": times}
        sources = tuple(match | Source(step=i) | self.history.place(at + i) for i in range(len(tokens)))
        extras: RoundExtras = {"match": order, "hit_order": order, "table_entries": len(self.places)}
        return shape.keep(chain(tokens, sources=sources if context.full else None, extras=extras))

    def _find(self, limit: int) -> tuple[int, int, int, int]:
        """Order, first and end of the continuation, and how often the n-gram stood there; order 0 when there is
        none."""
        tokens = self.history.tokens
        for n in range(min(self.orders, len(tokens) - self.history.start), 0, -1):
            for group in self._groups():
                at = self.places.find(group, tokens[-n:])
                end = len(tokens) if self.corpus == "concatenated" else self.history.end(group)
                if at is not None and end - at >= (limit if self.full else 1):
                    return n, at, end, self.places.times(group, tokens[-n:])
        return 0, 0, 0, 0

    def _groups(self) -> Iterable[int]:
        if self.corpus == "concatenated":
            return (0,)
        return range(self.history.trajectory, self.history.trajectory - 1 if self.corpus == "current" else -1, -1)

    def observe(self, outcome: Outcome) -> None:
        known = len(self.history.tokens)
        self.history.extend(outcome.tokens)
        self._index(known, len(self.history.tokens))
