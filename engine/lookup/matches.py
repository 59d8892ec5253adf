"""Where the text matches something seen: in this problem (dynamic) or in a fixed collection (static), as SAM-Decoding
compares."""

from collections.abc import Sequence
from dataclasses import dataclass

from engine.config import Knob
from engine.lookup.memory import DynamicMemory
from engine.lookup.static import StaticAutomaton
from engine.trace.records import Source

LEN_BIAS = Knob(
    "len_bias", 5, "how much shorter a match in the static automaton counts", 0, 1000, 1, "tokens", origin="code"
)
STATIC = Knob("static", True, "use the static automaton, where one is loaded")


@dataclass(frozen=True, slots=True)
class Copied:
    """Tokens that followed a match, and where they stand there."""

    where: str  # dynamic | static
    match: int  # tokens that matched
    weight: int  # match, less the bias of the static automaton
    tokens: list[int]
    sources: list[Source]


class Matches:
    """Both automata, kept in step with one sequence. The static match is reduced by `bias`; the dynamic one wins
    ties."""

    def __init__(
        self, scope: str, entries: int, static: StaticAutomaton | None, bias: int, likely: bool = False
    ) -> None:
        self.dynamic = DynamicMemory(scope, entries)
        self.static, self.bias, self.likely = static, bias, likely
        self._state = self._match = 0

    def begin(self, prompt: Sequence[int]) -> None:
        """A sequence starts; the static match starts afresh."""
        self.dynamic.begin(prompt)
        self._state = self._match = 0
        self._step(prompt)

    def extend(self, tokens: Sequence[int]) -> None:
        """The sequence has grown."""
        self._step(self.dynamic.extend(tokens))

    def _step(self, tokens: Sequence[int]) -> None:
        if self.static is not None:
            for token in tokens:
                self._state, self._match = self.static.step(self._state, self._match, token)

    def best(self) -> tuple[str, int]:
        """Which automaton is followed, and the weight of its match."""
        dynamic, static = self.dynamic.match(), self._match - self.bias
        return ("static", static) if self.static is not None and static > max(dynamic, 0) else ("dynamic", dynamic)

    def copy(self, where: str, weight: int, n: int, climb: bool = False) -> Copied:
        """At most n tokens that followed the match there. `climb` is for the dynamic automaton alone."""
        if where == "static" and self.static is not None:
            places, tokens = self._followed(self.static, n)
            found: Source = {
                "kind": "automaton",
                "match": self._match,
                "where": where,
                "seen": int(self.static.count[self._state]),
            }
            sources: list[Source] = [
                found | Source(step=i) | self.static.place(at) | self.static.passage(at) for i, at in enumerate(places)
            ]
            return Copied(where, self._match, weight, tokens, sources)
        match, at, tokens = self.dynamic.continuation(n, climb)
        place = self.dynamic.history.place
        sources = [
            Source(kind="automaton", match=match, where=where, step=i) | place(at + i) for i in range(len(tokens))
        ]
        return Copied("dynamic", match, weight, tokens, sources)

    def _followed(self, static: StaticAutomaton, n: int) -> tuple[Sequence[int], list[int]]:
        """Corpus positions and tokens of at most n that followed the static match."""
        if self.likely:
            return static.likely(self._state, n)
        at, tokens = static.continuation(self._state, n)
        return range(at, at + len(tokens)), tokens

    def __len__(self) -> int:
        return len(self.dynamic)
