"""Token recycling: the target's own first choices, kept a row a token, fill a tree. Luo et al. 2024 (2408.08696);
docs/methods/recycle.md."""

from collections.abc import Sequence
from typing import Any, ClassVar

from engine.config import Knob
from engine.draft import Draft
from engine.lookup.adjacency import Adjacency, fill, places_of, sources_of
from engine.lookup.history import SCOPE, History, entries_knob
from engine.lookup.read import pieces
from engine.parts import Context, Kit, Knobs, Outcome

WIDTH = Knob("width", 8, "candidates kept for each token", 1, 64, 1, "tokens", origin="paper", advanced=True)
FILL = Knob(
    "fill_empty",
    False,
    "draft arbitrary tokens where nothing is known, to feed as many as the reference does",
    advanced=True,
)
PREFILL = Knob("update_prompt", False, "learn from the prompt's own logits too", origin="code", advanced=True)


class Recycle:
    """After each round every node of the draft, rejected or not, replaces the row of its token with the target's first
    choices.

    The paper's matrix lives as long as the server (`scope` global); the default forgets between problems like the
    others here.
    """

    NAME: ClassVar[str] = "recycle"
    TITLE: ClassVar[str] = "Token recycling"
    KNOBS: ClassVar[tuple[Knob, ...]] = (WIDTH, FILL, PREFILL, SCOPE, entries_knob(200_000, "rows"))
    SHAPES: ClassVar[tuple[str, ...]] = ("static_tree",)
    NEEDS: ClassVar[tuple[str, ...]] = ()
    DISTRIBUTIONS: ClassVar[bool] = False
    WANTS: ClassVar[tuple[str, ...]] = ()
    taps: tuple[int, ...] = ()

    def __init__(self, kit: Kit, knobs: Knobs) -> None:
        self.kit, self.width, self.entries = kit, int(knobs["width"]), int(knobs["entries"])
        self.anything, self.prompts = bool(knobs["fill_empty"]), bool(knobs["update_prompt"])
        self.history = History(str(knobs["scope"]))
        self.adjacency = Adjacency(self.width, self.entries)
        self._unread = False

    def begin(self, tokens: Sequence[int]) -> None:
        if self.history.begin(tokens):
            self.adjacency = Adjacency(self.width, self.entries)
        self._unread = self.prompts

    def propose(self, context: Context, shape: Any) -> Draft:
        if self._unread and context.last is not None:
            start = len(context.tokens) - 1 - len(context.last.last)
            for rows, logits in pieces(self.kit.target.decoder.head, context.last.last, self.kit.vocab):
                at = range(start + rows.start, start + rows.stop)
                places = range(self.history.start + at.start, self.history.start + at.stop)
                self.adjacency.learn(context.tokens[at.start : at.stop], logits, places)
        self._unread = False
        root = context.tokens[-1]
        tokens, parents = fill(self.adjacency, shape.template(context), root, self.anything)
        sources = sources_of(self.adjacency, self.history, tokens, parents, root) if context.full else None
        return Draft(
            tuple(tokens),
            tuple(parents),
            sources=sources,
            extras={"table_entries": len(self.adjacency), "hit_order": int(bool(self.adjacency.row(root)))},
        )

    def observe(self, outcome: Outcome) -> None:
        self.history.extend(outcome.tokens)
        at = len(outcome.tokens) - 1 - len(outcome.emitted)
        places = places_of(self.history.start + at, len(outcome.draft), outcome.verdict.path[: len(outcome.emitted)])
        self.adjacency.learn([outcome.tokens[at], *outcome.draft.tokens], outcome.forward.logits, places)
