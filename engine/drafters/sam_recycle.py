"""SAM with recycling: copy where a long match is found, else fill a tree with recycled candidates. 2411.10666;
docs/methods/sam_recycle.md."""

from collections.abc import Sequence
from typing import Any, ClassVar

from engine.config import Knob
from engine.draft import Draft, chain
from engine.lookup.adjacency import Adjacency, fill, places_of, sources_of
from engine.lookup.history import NEWER_HALF, SCOPE, entries_knob
from engine.lookup.matches import LEN_BIAS, STATIC, Matches
from engine.parts import Context, Kit, Knobs, Outcome
from engine.trace.records import RoundExtras


class SamRecycle:
    """A match of at least `len_threshold` tokens gives a chain, anything shorter the tree; the rows are learned either
    way."""

    NAME: ClassVar[str] = "sam_recycle"
    TITLE: ClassVar[str] = "SAM with recycling"
    KNOBS: ClassVar[tuple[Knob, ...]] = (
        Knob(
            "len_threshold",
            5,
            "shortest match that is copied; 1000000 leaves recycling alone",
            1,
            1_000_000,
            1,
            "tokens",
            origin="code",
        ),
        Knob("n_predicts", 39, "most tokens copied", 1, 512, 1, "tokens", origin="code"),
        LEN_BIAS,
        STATIC,
        Knob(
            "climb",
            True,
            "take a shorter match if the longest is not followed by enough tokens",
            advanced=True,
        ),
        Knob("recycle", True, "fill a tree where no match is long enough; off drafts nothing there", advanced=True),
        Knob("width", 8, "candidates kept for each token", 1, 64, 1, "tokens", origin="paper", advanced=True),
        SCOPE,
        entries_knob(
            100_000,
            "states of the dynamic automaton, and rows,",
            f"{NEWER_HALF}, and the least recently used rows leave",
        ),
    )
    SHAPES: ClassVar[tuple[str, ...]] = ("static_tree",)
    NEEDS: ClassVar[tuple[str, ...]] = ()
    DISTRIBUTIONS: ClassVar[bool] = False
    WANTS: ClassVar[tuple[str, ...]] = ("automaton",)
    taps: tuple[int, ...] = ()

    def __init__(self, kit: Kit, knobs: Knobs) -> None:
        self.knobs = dict(knobs)
        self.threshold, self.most = int(knobs["len_threshold"]), int(knobs["n_predicts"])
        self.width, self.entries = int(knobs["width"]), int(knobs["entries"])
        static = kit.assets.get("automaton") if knobs["static"] else None
        self.matches = Matches(str(knobs["scope"]), self.entries, static, int(knobs["len_bias"]))
        self.adjacency = Adjacency(self.width, self.entries)

    def begin(self, tokens: Sequence[int]) -> None:
        self.matches.begin(tokens)
        if self.matches.dynamic.history.trajectory == 0:
            self.adjacency = Adjacency(self.width, self.entries)

    def propose(self, context: Context, shape: Any) -> Draft:
        where, weight = self.matches.best()
        entries = len(self.matches) + len(self.adjacency)
        extras: RoundExtras = {"match": weight, "where": where, "table_entries": entries}
        if weight >= self.threshold:
            n = min(self.most, context.room, context.space)
            copied = self.matches.copy(where, weight, max(n, 0), bool(self.knobs["climb"]))
            return chain(
                copied.tokens,
                sources=tuple(copied.sources) if context.full else None,
                extras=extras | {"match": copied.match},
            )
        if not self.knobs["recycle"]:
            return Draft(extras=extras)
        root = context.tokens[-1]
        tokens, parents = fill(self.adjacency, shape.template(context), root)
        history = self.matches.dynamic.history
        sources = sources_of(self.adjacency, history, tokens, parents, root) if context.full else None
        return Draft(tuple(tokens), tuple(parents), sources=sources, extras=extras | {"where": "adjacency"})

    def observe(self, outcome: Outcome) -> None:
        self.matches.extend(outcome.tokens)
        at = len(outcome.tokens) - 1 - len(outcome.emitted)
        start = self.matches.dynamic.history.start
        places = places_of(start + at, len(outcome.draft), outcome.verdict.path[: len(outcome.emitted)])
        self.adjacency.learn([outcome.tokens[at], *outcome.draft.tokens], outcome.forward.logits, places)
