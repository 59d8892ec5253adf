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
CHAIN_HELD = 0.9  # the same, where the pace of chains begins: tokens of which a drafter is not sure are not among them
MEMORY = 0.8  # weight of the past in the pace of chains, each round
TRUST = 0.75  # an untested confidence is raised to this power: the likeliest token holds oftener than it says
PAUSE, LONGEST = 16, 64  # rounds without a draft before one is tried again: at first, and at most
PATIENCE = 16  # rounds without a tree after which one is tried again
FAILS, OTHERS = 0.7, 1.0  # what a `TreeChoice` begins with
OFF_SPINE, BRING = 4, 0.8  # nodes of a tree besides its spine, and the tokens they bring, before any was grown
SURE = 1e-3  # least chance that a likeliest child is taken to fail with
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
    of the chain that is best where the share `held` of draft tokens hold. Earlier rounds weigh `memory` times less."""

    costs: Costs
    held: float = HELD
    memory: float = 1.0
    tokens: float = field(init=False)
    ms: float = field(init=False)

    def __post_init__(self) -> None:
        length = best_length([self.held] * MOST_LEVELS, self.costs)
        self.tokens = sum(self.held**place for place in range(length + 1))
        self.ms = self.costs.round(length or None, length + 1)

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


class ChainChoice:
    """The length of a chain. A drafter that asks before each token is told token by token, by its confidence; of one
    that does not, the length is set before the round from how far earlier drafts held.

    Rounds without a draft follow where drafts have been slower than plain decoding; they double where a new one is too.
    """

    def __init__(self, costs: Costs) -> None:
        self.costs = costs
        self._plain = 1 / costs.round(None, 1)
        self.begin()

    def begin(self) -> None:
        """A new run: nothing is known."""
        self.pace = Pace(self.costs, CHAIN_HELD, MEMORY)  # of the rounds that draft
        self._any = Share(HELD)
        self._bins = [Share(0.5, 1.0) for _ in range(len(EDGES) + 1)]
        self._depths = [Share(HELD, 2.0) for _ in range(MOST_CHAIN)]
        self._pause = PAUSE  # how long the next one is
        self._left = 0 if self._pays else PAUSE  # rounds of this one
        self._round(stepwise=True)

    def _round(self, stepwise: bool) -> None:
        self._stepwise, self._asked = stepwise, 0
        self._shares, self._chances, self._reached = list[float](), list[float](), 1.0
        self._least = 0.0
        self._following: float | None = None

    @property
    def _pays(self) -> bool:
        return self.pace.rate > self._plain

    def limit(self, *, stepwise: bool = False) -> int:
        """Most tokens of this round's draft; `stepwise` says that its drafter makes them one by one, and asks before
        each."""
        self._round(stepwise)
        if self._left:
            self._left -= 1
            return 0
        if stepwise:
            return MOST_CHAIN
        return max(1, best_length(self._known(), self.costs)) if self._any.tests else FIRST_LENGTH

    def _known(self) -> list[float]:
        """By place the chance that a draft token holds where those before it did."""
        overall = self._any.value()
        return [share.value(overall) for share in self._depths]

    def more(self, drafted: int, share: float) -> bool:
        """Whether the next token, of which the drafter is so sure, joins the draft: its own time is spent."""
        self._asked = drafted + 1
        chance = self._bins[bisect_right(EDGES, share)].value(share**TRUST)
        self._least, following = self._worth(drafted, 0.0), self._reached * chance
        if drafted and following < self._least:
            self._following = following
            return False
        self._shares.append(share)
        self._chances.append(chance)
        self._reached, self._following = following, None
        return True

    def among(self, shares: Sequence[float]) -> int:
        """How many of the tokens of a draft that was made in one pass are verified, by how sure the drafter is of
        each."""
        taken = next((n for n, share in enumerate(shares) if not self.more(n, share)), len(shares))
        self._asked = len(shares)
        return taken

    def ends(self, drafted: int) -> bool:
        """Whether another step would cost more than it can bring, which is a token if all before it hold."""
        if not self._stepwise:  # nothing is saved
            return False
        self._least = self._worth(drafted, self.costs.step)
        self._following = self._reached if self._reached < self._least else None
        return self._following is not None

    def _worth(self, drafted: int, step: float) -> float:
        """The chance from which on one more token, and so much drafting, is worth its time."""
        return max(self.pace.rate, self._plain) * (step + self.costs.further(drafted + 1))

    def told(self, drafted: int) -> Told:
        """This round's choice."""
        reached, tokens = 1.0, 1.0
        for chance in (self._chances or self._known())[:drafted]:
            reached *= chance
            tokens += reached
        return Told(tokens, self.costs.round(drafted or None, drafted + 1), self._least, self._following)

    def observe(self, drafted: int, accepted: int) -> None:
        """Learn from a verified round. The pace takes the tokens that were expected, which scatter less than those that
        came; how often the expectation is wrong is learnt with the chances."""
        if drafted:
            self.pace.add(self.told(drafted).expected, self.costs.round(max(drafted, self._asked), drafted + 1))
        for place in range(min(accepted + 1, drafted)):
            held = float(place < accepted)
            self._any.add(held)
            if place < MOST_CHAIN:
                self._depths[place].add(held)
            if place < len(self._shares):
                self._bins[bisect_right(EDGES, self._shares[place])].add(held)
        if drafted:
            self._left = 0 if self._pays else self._pause
            self._pause = PAUSE if self._pays else min(2 * self._pause, LONGEST)


class TreeChoice:
    """How deep a tree grows, which of its branches go on, how many of its nodes are verified, and whether it branches
    at all.

    Nodes are ranked by the chance that the target takes them: the drafter's own, step by step, with what was learnt of
    it. A node's likeliest child fails so many times as often as the drafter says (seldomer where the target is greedy),
    and where it fails, the others hold so many times as often.

    The spine of a tree, the likeliest child again and again, is the chain that might have been drafted in its place; so
    every tree tells what its other branches can bring, and what they cost. While that is less than their time could
    bring elsewhere chains are drafted, and now and then a tree to ask again. Before the first tree the costs tell.
    """

    def __init__(self, costs: Costs) -> None:
        self.costs = costs
        self.begin()

    def begin(self) -> None:
        """A new run: nothing is known."""
        self.pace, self._goes_on = Pace(self.costs), Share(HELD)
        self._fails, self._others = Share(FAILS, 3.0), Share(OTHERS, 2.0)
        self._size = Share(8.0, 2.0)  # nodes verified
        self._branches = Share(BRING, 1.0)  # tokens that others than the spine's nodes were expected to bring, a tree
        self._dearer = Share(self._first(), 1.0)  # milliseconds that they took
        self._chains = 0  # rounds since the last tree
        self._round()

    def _first(self) -> float:
        """What branches are taken to cost before any were grown: those of the chain that would be best, with as many
        nodes again in its levels."""
        levels = max(1, best_length([HELD] * MOST_LEVELS, self.costs))
        tree = self.costs.round(levels, 1 + levels + OFF_SPINE, 2 * levels)
        return tree - self.costs.round(levels, 1 + levels)

    def _round(self) -> None:
        rate, nodes = self.pace.rate, round(self._size.value())
        self._further = rate * self.costs.further(1 + nodes)  # tokens that verifying one more node must bring
        self._row, self._level, self._gain = rate * self.costs.row, rate * self.costs.step, self._goes_on.value()
        self._steps, self._rows, self._least = 0, 0, 0.0
        self._following: float | None = None
        self._spine: tuple[float, float] | None = None  # where a chain is chosen what branches would bring, and must
        self._forks = True

    def start(self, forks: bool | None = None) -> bool:
        """A round begins; whether its draft is a tree, and not a spine alone. `forks` says it where that is not left to
        this choice."""
        self._round()
        self._forks = self._worth_it() if forks is None else forks
        self._level += self.pace.rate * self.costs.fork if self._forks else 0.0
        self._chains = 0 if self._forks else self._chains + 1
        return self._forks

    def _worth_it(self) -> bool:
        bring, must = self._branches.value(), self.pace.rate * self._dearer.value()
        if self._chains < PATIENCE and bring <= must:
            self._spine = bring, must
        return self._spine is None

    def trust(self) -> tuple[float, float]:
        """How many times as often as the drafter says a likeliest child fails, and another holds."""
        fails = self._fails.value()
        return fails, fails * self._others.value()

    def onward(self, chances: Sequence[float], *, stops: bool, prunes: bool) -> int:
        """How many of the nodes of a level go on, likeliest first, by their chances; 0 ends the growth.

        With `prunes` those do whose children bring more than a row of the level and a node that is verified cost; with
        `stops` growth ends when a level costs more than it can bring.
        """
        further, row = self._further, self._row
        gains = [self._gain * chance for chance in chances]
        rows = next((n for n, gain in enumerate(gains) if gain <= row + further), len(gains)) if prunes else len(gains)
        gain, cost = sum(gains[:rows]), self._level + (rows - 1) * row + (rows if prunes else 1) * further
        if not rows or (stops and gain < cost):
            self._least, self._following = (cost, min(gain, 1.0)) if rows else (row + further, max(gains, default=0.0))
            return 0
        self._steps, self._rows = self._steps + 1, self._rows + rows
        return rows

    def size(self, chances: Sequence[float]) -> int:
        """How many of the candidates, likeliest first, by their chances, are verified; at least one."""
        return max(1, best_size(chances[:MOST_NODES], self.pace.rate, self.costs))

    def told(self, chances: Sequence[float]) -> Told:
        """This round's choice, by the chances of the nodes that are verified."""
        return Told(1 + sum(chances), self._ms(len(chances)), self._least, self._following, self._spine)

    def _ms(self, drafted: int) -> float:
        return self.costs.round(self._steps if drafted else None, 1 + drafted, self._rows if self._forks else None)

    def observe(
        self,
        kids: Sequence[Sequence[int]],
        scores: Sequence[float],
        chances: Sequence[float],
        path: Sequence[int],
        emitted: int,
        *,
        deeper: bool,
    ) -> None:
        """Learn from a verified round: the children of the root (entry 0) and of node i (entry i + 1), likeliest first;
        the drafter's log-probabilities of the nodes' paths, and the chances by which they were ranked; the nodes that
        were accepted, and whether any was deeper than these."""
        self.pace.add(emitted, self._ms(len(scores)))
        self._size.add(len(scores))
        for _ in path[1:]:
            self._goes_on.add(1.0)
        if path and deeper:
            self._goes_on.add(0.0)
        for at, taken in zip((-1, *path), (*path, -1), strict=True):
            if kids[at + 1]:
                self._test(
                    kids[at + 1], [exp(scores[kid] - (scores[at] if at >= 0 else 0.0)) for kid in kids[at + 1]], taken
                )
        if scores and self._forks:
            self._compare(_spine(kids), chances)

    def _test(self, kids: Sequence[int], said: Sequence[float], taken: int) -> None:
        """One accepted node's children, what the drafter said of each, and the one that was taken (-1: none)."""
        left = max(1 - said[0], SURE)
        self._fails.add(float(taken != kids[0]), left)
        if taken != kids[0] and len(kids) > 1:
            self._others.add(float(taken >= 0), sum(said[1:]) / left)

    def _compare(self, spine: Sequence[int], chances: Sequence[float]) -> None:
        """What a tree was expected to bring more than its spine, which scatters less than what came, and its cost."""
        self._branches.add(sum(chances) - sum(chances[node] for node in spine))
        self._dearer.add(self._ms(len(chances)) - self.costs.round(self._steps, 1 + len(spine)))


def _spine(kids: Sequence[Sequence[int]]) -> list[int]:
    """The likeliest child of the root, its likeliest child, and so on."""
    places, at = list[int](), -1
    while kids[at + 1]:
        at = kids[at + 1][0]
        places.append(at)
    return places
