"""How far a tree is grown so that tokens come fastest, from what was accepted so far and what a round costs."""

from collections.abc import Sequence
from math import exp

from engine.costs.curve import Costs
from engine.costs.pace import HELD, MOST_LEVELS, MOST_NODES, Pace, Share, Told, best_length, best_size

PATIENCE = 16  # rounds without a tree after which one is tried again
FAILS, OTHERS = 0.7, 1.0  # what a `TreeChoice` begins with
OFF_SPINE, BRING = 4, 0.8  # nodes of a tree besides its spine, and the tokens they bring, before any was grown
SURE = 1e-3  # least chance that a likeliest child is taken to fail with


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
        self.pace, self._goes_on = Pace(costs), Share(HELD)
        self._fails, self._others = Share(FAILS, 3.0), Share(OTHERS, 2.0)
        self._size = Share(8.0, 2.0)  # nodes verified
        self._branches = Share(BRING, 1.0)  # tokens that others than the spine's nodes were expected to bring, a tree
        self._dearer = Share(self._first(), 1.0)  # milliseconds that they took
        self._chains = 0  # rounds since the last tree
        self._round()

    def given(self, costs: Costs) -> None:
        """What the next texts are chosen by, which may be sampled otherwise than those before."""
        self.costs = self.pace.costs = costs

    def begin(self) -> None:
        """A new text: nothing is known of the first; of a later one what those before it taught, as little evidence."""
        self.pace.fade()
        for share in (self._goes_on, self._fails, self._others, self._size, self._branches, self._dearer):
            share.fade()
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
