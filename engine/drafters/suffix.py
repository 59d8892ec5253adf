"""Suffix decoding: what most often followed the text's last tokens, as far as the counts are sure. Oliaro et al. 2024
(2411.04975); docs/methods/suffix.md."""

from collections.abc import Sequence
from typing import ClassVar

from engine.config import Knob
from engine.draft import Draft, chain
from engine.lookup.history import SCOPE, entries_knob
from engine.lookup.suffixtree import SuffixMemory
from engine.parts import ChainShape, Context, Kit, Knobs, Outcome


class Suffix:
    """The longer the match and the surer the counts, the longer the draft."""

    NAME: ClassVar[str] = "suffix"
    TITLE: ClassVar[str] = "Suffix decoding"
    KNOBS: ClassVar[tuple[Knob, ...]] = (
        Knob("match_depth", 24, "longest run of tokens that is counted", 2, 256, 1, "tokens", origin="code"),
        Knob("spec_factor", 1.0, "drafted tokens for each token that matched", 0.0, 64.0, 0.5, origin="code"),
        Knob("spec_offset", 0, "drafted tokens beside those", 0, 128, 1, "tokens", origin="code", advanced=True),
        Knob(
            "min_share",
            0.1,
            "stop where the shares of the counts multiply to less than this",
            0.0,
            1.0,
            0.05,
            origin="code",
        ),
        SCOPE,
        entries_knob(
            1_000_000,
            "runs of tokens",
            "past it earlier answers are forgotten, then all but the newer half of this text",
        ),
    )
    SHAPES: ClassVar[tuple[str, ...]] = ("chain",)
    NEEDS: ClassVar[tuple[str, ...]] = ()
    DISTRIBUTIONS: ClassVar[bool] = False
    WANTS: ClassVar[tuple[str, ...]] = ()
    taps: tuple[int, ...] = ()

    def __init__(self, kit: Kit, knobs: Knobs) -> None:
        self.factor, self.offset = float(knobs["spec_factor"]), int(knobs["spec_offset"])
        self.least = float(knobs["min_share"])
        self.memory = SuffixMemory(str(knobs["scope"]), int(knobs["match_depth"]), int(knobs["entries"]))

    def begin(self, tokens: Sequence[int]) -> None:
        self.memory.begin(tokens)

    def propose(self, context: Context, shape: ChainShape) -> Draft:
        limit = max(0, min(shape.limit(), context.room, context.space))
        found = self.memory.best(limit, self.factor, self.offset, self.least)
        extras = {"match": found.match, "where": found.where, "score": found.score, "table_entries": len(self.memory)}
        place = self.memory.history.place
        sources = tuple(
            {"kind": "counts", "match": found.match, "where": found.where, "step": i, "count": step.times}
            | {"seen": step.seen, **place(step.place)}
            for i, step in enumerate(found.steps)
        )
        tokens = [step.token for step in found.steps]
        return shape.keep(chain(tokens, sources=sources if context.full else None, extras=extras))

    def observe(self, outcome: Outcome) -> None:
        self.memory.extend(outcome.tokens)
