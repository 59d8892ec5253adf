"""Copy where the text repeats itself, and let the draft model write where it does not; docs/methods/mixed.md."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

from torch import Tensor

from engine.config import Knob
from engine.draft import Draft, chain
from engine.lookup.history import NEWER_HALF, SCOPE, entries_knob
from engine.lookup.memory import DynamicMemory
from engine.model import BridgedSession
from engine.parts import ChainShape, Context, Kit, Knobs, Outcome, write_chain
from engine.trace.records import RoundExtras


class Mixed:
    """A match of at least `min_match` tokens gives a copy, which costs no model; anything shorter the draft model's
    chain."""

    NAME: ClassVar[str] = "mixed"
    TITLE: ClassVar[str] = "Mixed drafting"
    KNOBS: ClassVar[tuple[Knob, ...]] = (
        Knob(
            "min_match", 6, "shortest match that is copied; 1000000 leaves the model alone", 1, 1_000_000, 1, "tokens"
        ),
        Knob("copy_most", 24, "most tokens copied", 1, 512, 1, "tokens"),
        Knob("alpha", 2.0, "copied tokens for each token that matched", 0.0, 64.0, 0.5),
        SCOPE,
        entries_knob(100_000, "states of the automaton", NEWER_HALF),
    )
    SHAPES: ClassVar[tuple[str, ...]] = ("chain",)
    NEEDS: ClassVar[tuple[str, ...]] = ("draft",)
    WRITES_AS: ClassVar[str] = "model"
    ASKING: ClassVar[dict[str, int]] = {"min_match": 1_000_000}
    DISTRIBUTIONS: ClassVar[bool] = False
    WANTS: ClassVar[tuple[str, ...]] = ()
    taps: tuple[int, ...] = ()

    def __init__(self, kit: Kit, knobs: Knobs) -> None:
        self.least, self.most, self.alpha = int(knobs["min_match"]), int(knobs["copy_most"]), float(knobs["alpha"])
        self.memory = DynamicMemory(str(knobs["scope"]), int(knobs["entries"]))
        self.session = kit.session("draft", proposes=True)
        self.stops = frozenset(kit.target.tokenizer.stop_ids)

    def begin(self, tokens: Sequence[int]) -> None:
        """Prefill of the model: all of the prompt but its last token."""
        self.memory.begin(tokens)
        if len(tokens) > 1 and self.session.left(tokens) >= 0:
            self.session.forward(tokens[:-1])

    def propose(self, context: Context, shape: ChainShape) -> Draft:
        match = self.memory.match()
        extras: RoundExtras = {"match": match, "table_entries": len(self.memory)}
        if match >= self.least:
            n = min(self.most, int(self.alpha * match), context.room, context.space)
            match, at, tokens = self.memory.continuation(max(n, 0))
            if tokens:
                place = self.memory.history.place
                sources = tuple(
                    {"kind": "automaton", "match": match, "where": "dynamic", "step": i, **place(at + i)}
                    for i in range(len(tokens))
                )
                return chain(tokens, sources=sources if context.full else None, extras=extras | {"where": "dynamic"})
        left = self.session.left(context.tokens)
        draft = write_chain(context, shape, left, self.stops, self._after, self._source, self.session.onward)
        return replace(draft, extras={**draft.extras, **extras, "where": "model"})

    def _after(self, tokens: list[int]) -> Tensor:
        return self.session.forward(tokens, checked=True).logits

    def _source(self) -> dict[str, Any]:
        source: dict[str, Any] = {"kind": "model", "role": "draft"}
        return source | {"common": self.session.common()} if isinstance(self.session, BridgedSession) else source

    def observe(self, outcome: Outcome) -> None:
        self.memory.extend(outcome.tokens)
