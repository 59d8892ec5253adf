"""How far a drafter's probabilities can be trusted as forecasts of acceptance.

EAGLE-2 grows its tree by them; the expected calibration error is that of Guo et al. (2017), over ten equal bins.
app/static/numbers.js computes the same of the visible rounds; tests/vectors hold the two together.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import nan

from engine.trace.events import Round
from engine.trace.outcome import ACCEPTED

BINS = 10  # of equal width


@dataclass(frozen=True, slots=True)
class Bin:
    """Draft tokens whose probabilities lie within a tenth."""

    low: float
    high: float
    n: int = 0
    kept: int = 0
    said: float = nan  # mean of their probabilities
    share: float = nan  # of them that were accepted


@dataclass(frozen=True, slots=True)
class Calibration:
    """Tested draft tokens by the probability that their drafter gave them."""

    bins: tuple[Bin, ...]
    n: int

    @property
    def said(self) -> float:
        """Mean probability, which is the share accepted that the drafter forecasts; nan of nothing."""
        return sum(one.n * one.said for one in self.bins if one.n) / self.n if self.n else nan

    @property
    def share(self) -> float:
        """Share accepted; nan of nothing."""
        return sum(one.kept for one in self.bins) / self.n if self.n else nan

    @property
    def error(self) -> float:
        """Expected calibration error: how far the two are apart within a bin, on average over draft tokens."""
        return sum(one.n * abs(one.share - one.said) for one in self.bins if one.n) / self.n if self.n else nan


def placed_trials(rounds: Iterable[Round]) -> Iterator[tuple[float, bool, int]]:
    """Of rounds that were recorded in full the probability of each tested draft token, whether it was accepted, and
    its depth, from 1; what nobody gave a probability is left out."""
    for node in (node for event in rounds for node in event.nodes):
        if node.q is not None and node.state != "discarded":
            yield node.q, node.state in ACCEPTED, node.depth


def trials(rounds: Iterable[Round]) -> Iterator[tuple[float, bool]]:
    """The same without the depth."""
    return ((q, held) for q, held, _ in placed_trials(rounds))


def calibration(given: Iterable[tuple[float, bool]]) -> Calibration:
    """Of `trials`. A greedy target takes its likeliest token and no other, a sampled one takes a token with
    min(1, p / q): there a drafter that is always right about p is always accepted, and lies above its own forecast."""
    counts = [[0, 0] for _ in range(BINS)]
    sums = [0.0] * BINS
    for q, held in given:
        at = min(BINS - 1, int(BINS * q))
        counts[at][0] += 1
        counts[at][1] += held
        sums[at] += q
    bins = (
        Bin(at / BINS, (at + 1) / BINS, n, kept, said / n, kept / n) if n else Bin(at / BINS, (at + 1) / BINS)
        for at, ((n, kept), said) in enumerate(zip(counts, sums, strict=True))
    )
    return Calibration(tuple(bins), sum(n for n, _ in counts))
