"""Adaptive n-gram drafting: counted n-grams, asked token by token. Ou et al. 2024 (2404.08698);
docs/methods/anpd.md."""

from collections.abc import Sequence
from typing import ClassVar

from engine.config import Knob
from engine.draft import Draft, chain
from engine.lookup.counts import CountTable
from engine.lookup.history import SCOPE, History, entries_knob
from engine.parts import ChainShape, Context, Kit, Knobs, Outcome
from engine.trace.records import RoundExtras, Source


class Anpd:
    """Each drafted token is the most frequent one after the longest known context, of equals the one seen last.

    The reference counts the prompt twice and drafts a default token where nothing matches; here it counts once and
    stops.
    """

    NAME: ClassVar[str] = "anpd"
    TITLE: ClassVar[str] = "ANPD"
    KNOBS: ClassVar[tuple[Knob, ...]] = (
        Knob("ngram", 4, "N of the largest table: contexts have 1 to N - 1 tokens", 2, 16, 1, "tokens"),
        SCOPE,
        entries_knob(100_000, "contexts"),
    )
    SHAPES: ClassVar[tuple[str, ...]] = ("chain",)
    NEEDS: ClassVar[tuple[str, ...]] = ()
    DISTRIBUTIONS: ClassVar[bool] = False
    WANTS: ClassVar[tuple[str, ...]] = ()
    taps: tuple[int, ...] = ()

    def __init__(self, kit: Kit, knobs: Knobs) -> None:
        self.longest, self.entries = int(knobs["ngram"]) - 1, int(knobs["entries"])
        self.history = History(str(knobs["scope"]))
        self.table = CountTable(self.longest, self.entries)

    def begin(self, tokens: Sequence[int]) -> None:
        if self.history.begin(tokens):
            self.table = CountTable(self.longest, self.entries)
        self._count(self.history.start, len(self.history.tokens))

    def _count(self, start: int, stop: int) -> None:
        for at in range(start, stop):
            self.table.add(self.history.tokens, at, self.history.start)

    def propose(self, context: Context, shape: ChainShape) -> Draft:
        tail = list(context.tokens[-self.longest :])
        tokens: list[int] = []
        sources: list[Source] = []
        limit = min(shape.limit(), context.room, context.space)
        while len(tokens) < limit and (found := self.table.find(tail)):
            order, followers = found
            tokens.append(followers.best)
            tail = [*tail, followers.best][-self.longest :]
            place = self.history.place(followers.place)
            sources.append({"kind": "ngram", "order": order, "seen": followers.counts[followers.best], **place})
        order = sources[0]["order"] if sources else 0
        extras: RoundExtras = {"match": order, "hit_order": order, "table_entries": len(self.table)}
        return shape.keep(chain(tokens, sources=tuple(sources) if context.full else None, extras=extras))

    def observe(self, outcome: Outcome) -> None:
        known = len(self.history.tokens)
        self.history.extend(outcome.tokens)
        self._count(known, len(self.history.tokens))
