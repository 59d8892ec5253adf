"""A problem: text with a checkable answer, and where its wording was free."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from hashlib import blake2b
from random import Random
from typing import Literal

HELDOUT_ONE_IN = 16
SKEW = (0.40, 0.25, 0.20, 0.15)  # entropy 1.32 nats, with a clear first choice
Measure = Literal["accuracy", "translation", "summary"]  # what fits a task: right answers; BLEU and chrF; ROUGE
_weights: ContextVar[tuple[float, ...]] = ContextVar("weights", default=SKEW)


@contextmanager
def accent(turn: int) -> Iterator[None]:
    """Problems made inside prefer other wordings: the weights of the alternatives are rotated by `turn` places.

    Models learnt from corpora of different accents agree on facts and differ in style, as real drafts and targets do.
    """
    token = _weights.set(tuple(SKEW[(i - turn) % len(SKEW)] for i in range(len(SKEW))))
    try:
        yield
    finally:
        _weights.reset(token)


def weights() -> tuple[float, ...]:
    """Of the alternatives of a wording, as they are here: `SKEW`, or those of an `accent`."""
    return _weights.get()


@dataclass(frozen=True, slots=True)
class Problem:
    """One item of a task family.

    `prompt` ends with the cue of its family, `solution` is what follows it.
    `key` names the facts, whatever the wording; the split depends on it alone.
    `answer` is what scoring needs: a number, hidden tests, or a reference.
    `choices` are character spans of `solution` whose wording was free.
    `write` writes a right solution in the wording that its writer picks; None where one does not stand for all.
    """

    family: str
    key: str
    prompt: str
    solution: str
    answer: str
    choices: tuple[tuple[int, int], ...] = ()
    write: Callable[[Writer], None] | None = field(default=None, compare=False, repr=False)


@dataclass(slots=True)
class Writer:
    """Builds a solution and notes each free choice of wording.

    Without an `rng` the first, most probable alternative is taken: the canonical wording.
    """

    rng: Random | None
    text: str = ""
    spans: list[tuple[int, int]] = field(default_factory=list)

    def say(self, text: str) -> None:
        """Append forced text."""
        self.text += text

    def pick(self, options: Sequence[object]) -> int:
        """Index of one of up to four options, drawn with the weights `SKEW`, or those of an `accent`."""
        if self.rng is None:
            return 0
        return self.rng.choices(range(len(options)), weights()[: len(options)])[0]

    def choose(self, options: Sequence[str]) -> str:
        """Append one of four options, note its span, and return it."""
        chosen = options[self.pick(options)]
        self.spans.append((len(self.text), len(self.text) + len(chosen)))
        self.text += chosen
        return chosen


def split_of(key: str) -> str:
    """`heldout` for one key in `HELDOUT_ONE_IN`, by hash; else `train`."""
    digest = blake2b(key.encode(), digest_size=8).digest()
    return "heldout" if int.from_bytes(digest, "big") % HELDOUT_ONE_IN == 0 else "train"
