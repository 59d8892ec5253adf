"""How much to draft so that tokens come fastest, from what was accepted so far and what a round costs.

Tokens a millisecond of many rounds is best when nothing is done that brings fewer tokens than its time could bring
elsewhere (the marginal rule of fractional programming, Dinkelbach 1967). So one more draft token is worth it when the
chance that it is reached and accepted exceeds the running rate times what it costs, and of a tree the nodes are
verified that maximise accepted tokens less rate times time.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import exp

from engine.costs.curve import Costs
from engine.trace.records import RoundExtras

MOST_CHAIN, MOST_LEVELS, MOST_NODES = 32, 16, 64  # what a choice never exceeds
FIRST_LENGTH = 5  # of a chain about which nothing is known
HELD = 0.8  # share of draft tokens taken to be accepted before any was tested
PATIENCE = 8  # rounds without a draft after which one is tried again
EDGES = (0.1, 0.25, 0.5, 0.7, 0.85, 0.95, 0.99, 0.999)  # of the bins in which a drafter's confidence is checked


def best_length(accepted: Sequence[float], costs: Costs) -> int:
    """The length of a chain that maximises expected tokens a millisecond; 0 drafts nothing.

    `accepted[i]` is the chance that draft token i holds where all before it did.
    """
    reached, tokens = 1.0, 1.0  # the target's own token comes with every round
    best, length = tokens / costs.round(None, 1), 0
    for n, chance in enumerate(accepted, 1):
        reached *= chance
        tokens += reached
        rate = tokens / costs.round(n, n + 1)
        if rate > best:
            best, length = rate, n
    return length


def best_size(chances: Sequence[float], rate: float, costs: Costs) -> int:
    """How many of the nodes, likeliest first, are verified: the number that maximises accepted tokens less rate x time.

    `chances` are those of being accepted; `rate` is in tokens a millisecond.
    """
    best, size, tokens = -rate * costs.verify(1), 0, 0.0
    for n, chance in enumerate(chances, 1):
        tokens += chance
        value = tokens - rate * costs.verify(n + 1)
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

    def value(self, prior: float | None = None) -> float:
        """The share, from another prior if one is given."""
        return (self.held + self.weight * (self.prior if prior is None else prior)) / (self.tests + self.weight)


@dataclass
class Pace:
    """Tokens a millisecond so far, by what rounds cost according to the curve; one plain round is taken for granted."""

    costs: Costs
    tokens: float = 1.0
    ms: float = field(init=False)

    def __post_init__(self) -> None:
        self.ms = self.costs.round(None, 1)

    def add(self, tokens: int, ms: float) -> None:
        """A round."""
        self.tokens, self.ms = self.tokens + tokens, self.ms + ms

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

    def extras(self) -> RoundExtras:
        """The names of a round's extras."""
        return {
            "expected": self.expected,
            "expected_ms": self.expected_ms,
            "least": self.least,
            "following": self.following,
        }


class ChainChoice:
    """The length of a chain. A drafter that shows its confidence before each token is asked token by token; of one that
    does not, the length is set before the round from how far earlier drafts held."""

    def __init__(self, costs: Costs) -> None:
        self.costs = costs
        self.begin()

    def begin(self) -> None:
        """A new run: nothing is known."""
        self.pace, self._any = Pace(self.costs), Share(HELD)
        self._bins = [Share(0.5) for _ in range(len(EDGES) + 1)]
        self._depths = [Share(HELD, 2.0) for _ in range(MOST_CHAIN)]
        self._asks: bool | None = None  # whether the drafter shows its confidence; None: no draft yet
        self._pauses = 0  # rounds since the last draft
        self._round()

    def _round(self) -> None:
        self._shares, self._chances, self._reached = list[float](), list[float](), 1.0
        self._least = 0.0
        self._following: float | None = None

    def limit(self) -> int:
        """Most tokens of this round's draft."""
        self._round()
        length = self._planned()
        self._pauses = 0 if length else self._pauses + 1
        if self._pauses < PATIENCE:
            return length
        self._pauses = 0
        return 1

    def _planned(self) -> int:
        if self._asks is None:
            return FIRST_LENGTH
        best = best_length(self._known(), self.costs)
        return MOST_CHAIN if best and self._asks else best

    def _known(self) -> list[float]:
        """By place the chance that a draft token holds where those before it did."""
        overall = self._any.value()
        return [share.value(overall) for share in self._depths]

    def more(self, drafted: int, share: float) -> bool:
        """Whether the next token, of which the drafter is so sure, joins the draft: its own time is spent."""
        self._asks = True
        chance = self._bins[bisect_right(EDGES, share)].value(share)
        self._least, following = self._worth(drafted, 0.0), self._reached * chance
        if drafted and following < self._least:
            self._following = following
            return False
        self._shares.append(share)
        self._chances.append(chance)
        self._reached, self._following = following, None
        return True

    def ends(self, drafted: int) -> bool:
        """Whether another step would cost more than it can bring."""
        self._least, following = self._worth(drafted, self.costs.step), self._reached * self._any.value()
        self._following = following if following < self._least else None
        return self._following is not None

    def _worth(self, drafted: int, step: float) -> float:
        """The chance from which on one more token, and so much drafting, is worth its time."""
        return self.pace.rate * (step + self.costs.further(drafted + 1))

    def told(self, drafted: int) -> Told:
        """This round's choice."""
        reached, tokens = 1.0, 1.0
        for chance in (self._chances or self._known())[:drafted]:
            reached *= chance
            tokens += reached
        return Told(tokens, self.costs.round(drafted or None, drafted + 1), self._least, self._following)

    def observe(self, drafted: int, accepted: int, emitted: int) -> None:
        """Learn from a verified round."""
        self.pace.add(emitted, self.costs.round(drafted or None, drafted + 1))
        self._asks = self._asks or (False if drafted else self._asks)
        for place in range(min(accepted + 1, drafted)):
            held = float(place < accepted)
            self._any.add(held)
            if place < MOST_CHAIN:
                self._depths[place].add(held)
            if place < len(self._shares):
                self._bins[bisect_right(EDGES, self._shares[place])].add(held)


class TreeChoice:
    """How deep a tree grows, which of its branches go on, and how many of its nodes are verified.

    A node's chance is the drafter's own for its path, times how much oftener than that such paths held at its depth.
    """

    def __init__(self, costs: Costs) -> None:
        self.costs = costs
        self.begin()

    def begin(self) -> None:
        """A new run: nothing is known."""
        self.pace, self._goes_on = Pace(self.costs), Share(HELD)
        self._depths = [Share(1.0, 2.0) for _ in range(MOST_LEVELS)]
        self._size = Share(8.0, 2.0)  # nodes verified
        self.start()

    def start(self) -> None:
        """A round begins."""
        self._steps, self._rows, self._least = 0, 0, 0.0
        self._following: float | None = None

    def chance(self, depth: int, score: float) -> float:
        """That the target takes a node at this depth (1: a child of the root) with this log-probability of its path."""
        return min(1.0, self._depths[min(depth, MOST_LEVELS) - 1].value() * exp(score))

    def onward(self, depth: int, scores: Sequence[float], *, stops: bool, prunes: bool) -> int:
        """How many of the nodes at this depth go on, likeliest first, by their log-probabilities; 0 ends the growth.

        With `prunes` those whose children could not be worth verifying do not; with `stops` growth ends when a level
        costs more than it can bring.
        """
        rate, on = self.pace.rate, self._goes_on.value()
        further = rate * self.costs.further(1 + round(self._size.value()))
        reach = [self.chance(depth, score) for score in scores]
        rows = sum(chance * on > further for chance in reach) if prunes else len(reach)
        gain = on * sum(reach[:rows])
        cost = rate * (self.costs.step + max(rows - 1, 0) * self.costs.row) + further
        if not rows or (stops and gain < cost):
            self._least, self._following = cost, min(gain, 1.0)
            return 0
        self._steps, self._rows = self._steps + 1, self._rows + rows
        return rows

    def size(self, nodes: Sequence[tuple[int, float]]) -> int:
        """How many of the candidates (depth, log-probability), likeliest first, are verified; at least one."""
        chances = [self.chance(depth, score) for depth, score in nodes[:MOST_NODES]]
        return max(1, best_size(chances, self.pace.rate, self.costs))

    def told(self, nodes: Sequence[tuple[int, float]]) -> Told:
        """This round's choice; `nodes` are those that are verified."""
        expected = 1 + sum(self.chance(depth, score) for depth, score in nodes)
        return Told(expected, self._ms(len(nodes)), self._least, self._following)

    def _ms(self, drafted: int) -> float:
        return self.costs.round(self._steps if drafted else None, 1 + drafted, self._rows)

    def observe(self, nodes: Sequence[tuple[int, float]], accepted: int, emitted: int) -> None:
        """Learn from a verified round of these nodes."""
        self.pace.add(emitted, self._ms(len(nodes)))
        self._size.add(len(nodes))
        deepest = max((depth for depth, _ in nodes), default=0)
        for depth in range(1, min(deepest, MOST_LEVELS) + 1):
            mass = sum(exp(score) for at, score in nodes if at == depth)
            self._depths[depth - 1].add(float(accepted >= depth), mass)
            if 1 < depth <= accepted + 1:
                self._goes_on.add(float(accepted >= depth))
