"""Lookahead decoding: while it verifies, the target predicts several coming tokens at once, and what it predicted is
verified later. Fu et al. 2024 (2402.02057); docs/methods/lookahead.md."""

from collections.abc import Sequence
from typing import ClassVar

from engine.config import Knob
from engine.draft import Draft
from engine.lookup.history import SCOPE, History, entries_knob
from engine.lookup.pool import Met, Pool, trie
from engine.lookup.window import Window
from engine.model import Model
from engine.parts import Context, Kit, Knobs, NgramShape, Outcome
from engine.parts.writing import sound
from engine.sampling import first_argmax
from engine.trace.records import RoundExtras, Source


class Lookahead:
    """The draft is what the pool knows to follow the last token. Beside it the target reads the window, which no rule
    decides on; its first choices there go into the window and, as n-grams, into the pool."""

    NAME: ClassVar[str] = "lookahead"
    TITLE: ClassVar[str] = "Lookahead decoding"
    KNOBS: ClassVar[tuple[Knob, ...]] = (
        Knob(
            "window",
            15,
            "columns of predictions that the target reads in each pass",
            1,
            256,
            1,
            "columns",
            origin="paper",
        ),
        Knob("from_text", False, "keep the n-grams of the prompt and the answer, too", origin="code", advanced=True),
        SCOPE,
        entries_knob(200_000, "tokens with n-grams"),
    )
    SHAPES: ClassVar[tuple[str, ...]] = ("ngrams",)
    NEEDS: ClassVar[tuple[str, ...]] = ()
    DISTRIBUTIONS: ClassVar[bool] = False
    WANTS: ClassVar[tuple[str, ...]] = ()
    taps: tuple[int, ...] = ()

    @staticmethod
    def unable(target: Model) -> str:
        """Why a target cannot read the window."""
        return f"its window is a tree, and {target.one_past}" if target.only_chains else ""

    def __init__(self, kit: Kit, knobs: Knobs) -> None:
        self.columns, self.entries = int(knobs["window"]), int(knobs["entries"])
        self.from_text = bool(knobs["from_text"])
        self.stops = frozenset(kit.target.tokenizer.stop_ids)
        self.history = History(str(knobs["scope"]))
        self.pool = Pool(self.entries)
        self._window: Window | None = None
        self._most = 1  # n-grams kept of one first token
        self._round, self._met = -1, 0  # rounds that are over, tokens whose n-grams are kept

    def begin(self, tokens: Sequence[int]) -> None:
        if self.history.begin(tokens):
            self.pool = Pool(self.entries)
        self._window, self._round, self._met = None, -1, 0

    def propose(self, context: Context, shape: NgramShape) -> Draft:
        window = self._window = self._window or self._begun(context, shape.ngram)
        self._most = shape.ngrams
        if self.from_text:
            self._meet(context.tokens, shape.ngram)
        known = list(self.pool.after(context.tokens[-1]).items()) if window.filled else []
        tokens, parents, brought = trie([self._ended(tail) for tail, _ in known], context.room, context.space)
        extras = RoundExtras(table_entries=len(self.pool), match=int(bool(known)))
        beside = None
        if len(tokens) + len(window) <= context.space and window.depth <= context.target.left(context.tokens):
            beside = Draft(*window.tree())
            extras["beside"] = len(beside)
            if context.full:
                extras["window"] = [list(level) for level in window.levels]
        sources = tuple(self._source(known[tail][1], step) for tail, step in brought) if context.full else None
        return Draft(tuple(tokens), tuple(parents), sources=sources, extras=extras, beside=beside)

    def observe(self, outcome: Outcome) -> None:
        self._round += 1
        self.history.extend(outcome.tokens)
        window, beside = self._window, outcome.draft.beside
        rows = outcome.forward.logits[1 + len(outcome.draft) :]
        if window is None or beside is None or len(rows) != len(beside):  # a rule may have had the draft left unread
            return
        last = first_argmax(rows[-window.width :])
        here = rows.device.type == "cpu"  # there the session has looked
        answers = last.tolist() if here else sound(last, rows, whose="target")[0]
        root = outcome.tokens[-1 - len(outcome.emitted)]
        for first, tail in window.ngrams(root, answers):
            self.pool.put(first, tail, Met(self.history.trajectory, self._round), self._most)
        window.learn(answers)

    def _begun(self, context: Context, ngram: int) -> Window:
        """A window of tokens drawn from the prompt."""
        prompt = context.tokens[: context.prompt]
        generator = context.streams.generator("window")
        return Window(self.columns, ngram, lambda n: [prompt[i] for i in generator.integers(len(prompt), size=n)])

    def _meet(self, tokens: Sequence[int], ngram: int) -> None:
        """Keep the n-grams of the text that nobody kept before."""
        for end in range(max(self._met, ngram - 1), len(tokens)):
            first = end - ngram + 1
            met = Met(self.history.trajectory, at=self.history.start + first + 1)
            self.pool.put(tokens[first], tuple(tokens[first + 1 : end + 1]), met, self._most)
        self._met = len(tokens)

    def _ended(self, tail: tuple[int, ...]) -> tuple[int, ...]:
        """What there is of it up to a token that ends the text."""
        return next((tail[: i + 1] for i, token in enumerate(tail) if token in self.stops), tail)

    def _source(self, met: Met, step: int) -> Source:
        """Where a node comes from: the window of a round, of this trajectory or an earlier one, or a text."""
        found: Source = {"kind": "pool", "order": 1, "step": step, "seen": met.times}
        if met.at is not None:
            return found | self.history.place(met.at + step)
        ago = self.history.trajectory - met.trajectory
        return found | {"part": "window", "round": met.round or 0, "trajectory": met.trajectory, "ago": ago}
