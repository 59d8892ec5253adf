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

Leaf = tuple[int, float]  # a node's depth (1: a child of the root), and the log-probability of its path
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

    def value(self, prior: float | None = None) -> float:
        """The share, from another prior if one is given."""
        return (self.held + self.weight * (self.prior if prior is None else prior)) / (self.tests + self.weight)


@dataclass
class Pace:
    """Tokens a millisecond so far, by what rounds cost according to the curve; it begins as if there had been one round
    of the chain that is best where the share `HELD` of draft tokens hold."""

    costs: Costs
    tokens: float = field(init=False)
    ms: float = field(init=False)

    def __post_init__(self) -> None:
        length = best_length([HELD] * MOST_LEVELS, self.costs)
        self.tokens = sum(HELD**place for place in range(length + 1))
        self.ms = self.costs.round(length or None, length + 1)

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

    A node's chance is the drafter's own for its path, times how much oftener than that such nodes held. The likeliest
    of a depth are counted apart from the others: where the target is greedy they hold oftener than they say, and the
    others less often.
    """

    def __init__(self, costs: Costs) -> None:
        self.costs = costs
        self.begin()

    def begin(self) -> None:
        """A new run: nothing is known."""
        self.pace, self._goes_on = Pace(self.costs), Share(HELD)
        self._first, self._others = Share(1.0, 2.0), Share(1.0, 2.0)
        self._size = Share(8.0, 2.0)  # nodes verified
        self.start()

    def start(self) -> None:
        """A round begins."""
        self._steps, self._rows, self._least = 0, 0, 0.0
        self._following: float | None = None

    def onward(self, scores: Sequence[float], *, stops: bool, prunes: bool) -> int:
        """How many of the nodes of a level go on, likeliest first, by their log-probabilities; 0 ends the growth.

        With `prunes` those do whose children bring more than a row of the level and a node that is verified cost; with
        `stops` growth ends when a level costs more than it can bring.
        """
        rate = self.pace.rate
        further, row = rate * self.costs.further(1 + round(self._size.value())), rate * self.costs.row
        gains = [self._goes_on.value() * chance for chance in self.chances([(0, score) for score in scores])]
        rows = next((n for n, gain in enumerate(gains) if gain <= row + further), len(gains)) if prunes else len(gains)
        gain, cost = sum(gains[:rows]), rate * self.costs.step + (rows - 1) * row + (rows if prunes else 1) * further
        if not rows or (stops and gain < cost):
            self._least, self._following = (cost, min(gain, 1.0)) if rows else (row + further, max(gains, default=0.0))
            return 0
        self._steps, self._rows = self._steps + 1, self._rows + rows
        return rows

    def size(self, nodes: Sequence[Leaf]) -> int:
        """How many of the candidates, likeliest first, are verified; at least one."""
        return max(1, best_size(self.chances(nodes[:MOST_NODES]), self.pace.rate, self.costs))

    def chances(self, nodes: Sequence[Leaf]) -> list[float]:
        """That the target takes each of some nodes, of which those of one depth come with the likeliest first."""
        first, others, seen, found = self._first.value(), self._others.value(), set[int](), list[float]()
        for depth, score in nodes:
            found.append(min(1.0, (others if depth in seen else first) * exp(score)))
            seen.add(depth)
        return found

    def told(self, nodes: Sequence[Leaf]) -> Told:
        """This round's choice; `nodes` are those that are verified, likeliest first."""
        return Told(1 + sum(self.chances(nodes)), self._ms(len(nodes)), self._least, self._following)

    def _ms(self, drafted: int) -> float:
        return self.costs.round(self._steps if drafted else None, 1 + drafted, self._rows)

    def observe(self, nodes: Sequence[Leaf], path: Sequence[int], emitted: int) -> None:
        """Learn from a verified round of these nodes, of which those at the places `path` were accepted."""
        self.pace.add(emitted, self._ms(len(nodes)))
        self._size.add(len(nodes))
        likeliest = {depth: place for place, (depth, _) in sorted(enumerate(nodes), key=lambda one: one[1][1])}
        for place, (depth, score) in enumerate(nodes):
            share = self._first if likeliest[depth] == place else self._others
            share.add(float(place in path), exp(score))
        for depth in range(2, min(len(path) + 1, max(likeliest, default=0)) + 1):
            self._goes_on.add(float(len(path) >= depth))
