"""N-grams side by side: as many continuations of one length as are known. Lookahead decoding (Fu et al. 2024,
2402.02057, section 3.2)."""

from typing import ClassVar

from engine.config import Knob
from engine.parts import Kit, Knobs, Outcome


class Ngrams:
    """Continuations of N - 1 tokens each, at most G of them; those that begin alike share nodes."""

    NAME: ClassVar[str] = "ngrams"
    TITLE: ClassVar[str] = "n-grams"
    KIND: ClassVar[str] = "ngrams"
    NEEDS: ClassVar[tuple[str, ...]] = ()
    KNOBS: ClassVar[tuple[Knob, ...]] = (
        Knob("ngram", 5, "tokens of an n-gram, with the one that it follows", 3, 16, 1, "tokens", origin="paper"),
        Knob("ngrams", 15, "most n-grams verified at once", 1, 256, 1, "n-grams", origin="paper"),
    )

    def __init__(self, kit: Kit, knobs: Knobs) -> None:
        self.ngram, self.ngrams = int(knobs["ngram"]), int(knobs["ngrams"])

    def begin(self) -> None: ...

    def observe(self, outcome: Outcome) -> None: ...
