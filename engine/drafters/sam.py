"""Suffix-automaton drafting: copy what followed the longest match. Hu et al. 2024 (2411.10666); docs/methods/sam.md."""

from collections.abc import Sequence
from typing import ClassVar

from engine.config import Knob
from engine.draft import Draft, chain
from engine.lookup.history import NEWER_HALF, SCOPE, entries_knob
from engine.lookup.matches import LEN_BIAS, STATIC, Matches
from engine.parts import ChainShape, Context, Kit, Knobs, Outcome
from engine.trace.records import RoundExtras


class Sam:
    """Drafts min(limit, alpha x match) tokens: after the first occurrence in this problem's text, or in a static
    collection.

    The static match counts `len_bias` less, and the dynamic one wins ties. Short continuations stay short: the
    reference pads them with token 0.
    """

    NAME: ClassVar[str] = "sam"
    TITLE: ClassVar[str] = "SAM"
    KNOBS: ClassVar[tuple[Knob, ...]] = (
        Knob("alpha", 4.0, "drafted tokens for each token that matched", 0.0, 64.0, 0.5, origin="code"),
        LEN_BIAS,
        STATIC,
        Knob(
            "static_draft",
            "first",
            "after a static match copy its first occurrence, or follow the most frequent next tokens",
            choices=("first", "likely"),
            origin="code",
            advanced=True,
        ),
        SCOPE,
        entries_knob(100_000, "states of the dynamic automaton", NEWER_HALF),
    )
    SHAPES: ClassVar[tuple[str, ...]] = ("chain",)
    NEEDS: ClassVar[tuple[str, ...]] = ()
    DISTRIBUTIONS: ClassVar[bool] = False
    WANTS: ClassVar[tuple[str, ...]] = ("automaton",)
    taps: tuple[int, ...] = ()

    def __init__(self, kit: Kit, knobs: Knobs) -> None:
        self.alpha = float(knobs["alpha"])
        static = kit.assets.get("automaton") if knobs["static"] else None
        self.matches = Matches(
            str(knobs["scope"]),
            int(knobs["entries"]),
            static,
            int(knobs["len_bias"]),
            knobs["static_draft"] == "likely",
        )

    def begin(self, tokens: Sequence[int]) -> None:
        self.matches.begin(tokens)

    def propose(self, context: Context, shape: ChainShape) -> Draft:
        where, weight = self.matches.best()
        n = min(shape.limit(), int(self.alpha * weight), context.room, context.space)
        copied = self.matches.copy(where, weight, max(n, 0))
        extras: RoundExtras = {
            "match": copied.match if copied.tokens else weight,
            "where": where,
            "table_entries": len(self.matches),
        }
        sources = tuple(copied.sources) if context.full else None
        return shape.keep(chain(copied.tokens, sources=sources, extras=extras))

    def observe(self, outcome: Outcome) -> None:
        self.matches.extend(outcome.tokens)
