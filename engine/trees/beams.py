"""Beam search as a state: the beams that live, those that have ended, and what one step makes of them.

The steps are those of transformers' `_beam_search` (5.x): candidates are taken over all beams together, ended ones are
scored by log-probability / length ** penalty, and only candidates among the first N may end.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import takewhile

from engine.draft import Draft

STOPPING = ("full", "heuristic", "never")  # early_stopping of transformers: True, False, "never"


@dataclass(frozen=True, slots=True)
class Beam:
    """A response so far, and its cumulative log-probability after each token, nats."""

    tokens: tuple[int, ...] = ()
    scores: tuple[float, ...] = ()

    @property
    def score(self) -> float:
        """Log-probability of the whole; 0 of nothing."""
        return self.scores[-1] if self.scores else 0.0

    def followed(self, token: int, score: float) -> "Beam":
        """The beam one token on."""
        return Beam((*self.tokens, token), (*self.scores, score))


@dataclass(eq=False)
class BeamSearch:
    """N beams over responses of at most `limit` tokens."""

    width: int
    limit: int
    penalty: float
    stopping: str  # one of STOPPING
    live: list[Beam] = field(default_factory=lambda: [Beam()])
    ended: list[tuple[float, Beam]] = field(default_factory=list)  # best first, with their scores by length
    settled: int = 0  # leading tokens that all of them share
    done: bool = False

    def step(self, candidates: Sequence[tuple[float, int, int]], ends: Callable[[int], bool]) -> None:
        """Go one token on. `candidates` are (cumulative log-probability, index of a live beam, token), best first."""
        grown = [self.live[beam].followed(token, score) for score, beam, token in candidates]
        hits = [ends(beam.tokens[-1]) or len(beam.tokens) >= self.limit for beam in grown]
        fresh = [(self.rated(beam), beam) for beam, hit in list(zip(grown, hits, strict=True))[: self.width] if hit]
        self.ended = sorted([*self.ended, *fresh], key=lambda one: -one[0])[: self.width]
        self.live = [beam for beam, hit in zip(grown, hits, strict=True) if not hit][: self.width]
        self.done = all(hits) or not self._open()
        self.settled = len(self.best.tokens) if self.done else self._common()

    def rated(self, beam: Beam, length: int | None = None) -> float:
        """Log-probability over length ** penalty, of another length if one is given."""
        return beam.score / float((length or len(beam.tokens)) ** self.penalty)

    @property
    def best(self) -> Beam:
        """The best that has ended."""
        return self.ended[0][1]

    def _open(self) -> bool:
        """Whether a live beam may still beat an ended one, by the rule of `stopping`."""
        if len(self.ended) < self.width:
            return True
        longest = self.limit if self.stopping == "never" and self.penalty > 0 else None
        return self.stopping != "full" and self.rated(self.live[0], longest) > self.ended[-1][0]

    def _common(self) -> int:
        """Leading tokens that all live and ended beams share."""
        every = [beam.tokens for beam in (*self.live, *(beam for _, beam in self.ended))]
        return sum(1 for _ in takewhile(lambda column: len(set(column)) == 1, zip(*every, strict=False)))


@dataclass(frozen=True, eq=False)
class BeamDraft(Draft):
    """The beams of a search as a tree: `leaves` are the nodes at which the live ones end (-1: the root), `stops` the
    ids that end a text. The rule takes `search` one step further; the next draft is drawn from it."""

    search: BeamSearch | None = None
    leaves: tuple[int, ...] = ()
    stops: frozenset[int] = frozenset()
