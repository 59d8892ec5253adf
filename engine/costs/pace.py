"""What drafting brings and costs: tokens a millisecond so far, and what maximises them.

Tokens a millisecond of many rounds is best when nothing is done that brings fewer tokens than its time could bring
elsewhere (the marginal rule of fractional programming, Dinkelbach 1967). So one more draft token is worth it when the
chance that it is reached and accepted exceeds the running rate times what it costs, and of a tree the nodes are
verified that maximise accepted tokens less rate times time.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf

from engine.costs.curve import Costs
from engine.trace.records import RoundExtras

MOST_LEVELS, MOST_NODES = 16, 64  # of a tree, and the chain that a pace begins with: what a choice never exceeds
HELD = 0.8  # share of draft tokens taken to be accepted before any was tested
KEPT, KEPT_ROUNDS = 16.0, 2.0  # most tests that a share, and rounds that a pace, brings from earlier texts


def best_length(accepted: Sequence[float], costs: Costs, each: float = 1.0) -> int:
    """The length of a chain that maximises expected tokens a millisecond; 0 drafts nothing.

    `accepted[i]` is the chance that draft token i holds where all before it did; it becomes `each` tokens of the
    target's.
    """
    reached, tokens = 1.0, 1.0  # the target's own token comes with every round
    known = costs.chains if each == 1 else ()
    best, length = tokens / costs.round(None, 1), 0
    for n, chance in enumerate(accepted, 1):
        reached *= chance
        tokens += each * reached
        rate = tokens / (known[n] if n < len(known) else costs.round(n, each * n + 1))
        if rate > best:
            best, length = rate, n
    return length


def best_chain(held: float, costs: Costs, most: int, each: float = 1.0) -> tuple[float, float]:
    """Expected tokens and milliseconds of the round whose chain is best where the share `held` of draft tokens hold, of
    at most `most` steps, each of which becomes `each` tokens of the target's."""
    length = best_length([held] * most, costs, each)
    tokens = 1.0 + each * sum(held**place for place in range(1, length + 1))
    return tokens, costs.round(length or None, each * length + 1)


def best_size(chances: Sequence[float], rate: float, costs: Costs) -> int:
    """How many of the nodes, likeliest first, are verified: the number that maximises accepted tokens less rate x time.

    `chances` are those of being accepted, of at most `MOST_NODES` nodes; `rate` is in tokens a millisecond.
    """
    passes = costs.passes.whole
    best, size, tokens = -rate * passes[1], 0, 0.0
    for n, chance in enumerate(chances, 1):
        tokens += chance
        value = tokens - rate * passes[n + 1]
        if value > best:
            best, size = value, n
    return size


@dataclass
class Share:
    """A running share of tests that held, which begins as if `weight` tests had come out at `prior`."""

    prior: float
    weight: float = 4.0
    tests: float = 0.0
    held: float = 0.0

    def add(self, held: float, tests: float = 1.0) -> None:
        """So many tests, of which so many held."""
        self.tests, self.held = self.tests + tests, self.held + held

    def fade(self) -> None:
        """A new text: what was seen of earlier ones counts as `KEPT` tests at most."""
        kept = min(1.0, KEPT / self.tests) if self.tests else 0.0
        self.tests, self.held = kept * self.tests, kept * self.held

    def value(self, prior: float | None = None) -> float:
        """The share, from another prior if one is given."""
        return (self.held + self.weight * (self.prior if prior is None else prior)) / (self.tests + self.weight)


@dataclass
class Pace:
    """Tokens a millisecond so far, by what rounds cost according to the curve; it begins as if there had been one round
    of the chain that is best where the share `held` of draft tokens hold. Earlier rounds weigh `memory` times less."""

    costs: Costs
    held: float = HELD
    memory: float = 1.0
    tokens: float = field(init=False)
    ms: float = field(init=False)
    _round_ms: float = field(init=False)  # of the round that it begins with

    def __post_init__(self) -> None:
        self.tokens, self.ms = best_chain(self.held, self.costs, MOST_LEVELS)
        self._round_ms = self.ms

    def fade(self, most: float = inf) -> None:
        """A new text: earlier ones count as `KEPT_ROUNDS` rounds like the first at most, with at most that pace."""
        kept = min(1.0, KEPT_ROUNDS * self._round_ms / self.ms)
        self.tokens, self.ms = kept * self.tokens, kept * self.ms
        if self.rate > most:
            self.tokens = most * self.ms

    def add(self, tokens: float, ms: float) -> None:
        """A round."""
        self.tokens, self.ms = self.memory * self.tokens + tokens, self.memory * self.ms + ms

    @property
    def rate(self) -> float:
        """Tokens a millisecond."""
        return self.tokens / self.ms


@dataclass(frozen=True)
class Told:
    """A choice as a trace tells it."""

    expected: float  # tokens of the round, the target's own included
    expected_ms: float
    least: float  # chance from which on one more draft token would have been worth its time
    following: float | None  # and the one that it had; None where something else ended the draft
    branches: tuple[float, float] | None = None  # tokens that they would bring, and would have to; None of a tree

    def extras(self) -> RoundExtras:
        """The names of a round's extras."""
        found: RoundExtras = {
            "expected": self.expected,
            "expected_ms": self.expected_ms,
            "least": self.least,
            "following": self.following,
        }
        if self.branches is not None:
            found["branches"], found["branches_least"] = self.branches
        return found
