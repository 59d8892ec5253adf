"""How often a drafter's tokens hold by how sure it is of them: measured for a pair, in place of taking its word.

A pair's preset may hold some (`[forecasts.DRAFTER]`, as `engine calibrate --forecast` prints it); any other lab is
given them: `lab.forecasts = {"model": Forecast(held)}`.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

EDGES = (0.1, 0.25, 0.5, 0.7, 0.85, 0.95, 0.99, 0.999)  # of the bins in which a drafter's confidence is checked
MIDDLES = tuple((low + high) / 2 for low, high in pairwise((0.0, *EDGES, 1.0)))
TRUST = 0.75  # an untested confidence is raised to this power: the likeliest token holds oftener than it says
NEAR = 16  # draft tokens behind which forecasts are of their own: a draft that held so far mostly goes on holding
ALIKE = 4.0  # tokens that a place's share begins with, which held as often as in all places


def bin_of(share: float) -> int:
    """Of a confidence, 0 to `len(EDGES)`."""
    return bisect_right(EDGES, share)


@dataclass(frozen=True)
class Forecast:
    """By bin of confidence the share of draft tokens that held where all before them did, and the command that measured
    it: of a draft's first `NEAR` tokens, and of those behind them (none: the same)."""

    held: tuple[float, ...]
    command: str = ""
    further: tuple[float, ...] = ()

    def chances(self, before: int = 0) -> tuple[float, ...]:
        """By bin, that a token holds of which the drafter is so sure, behind so many of the same draft."""
        return self.further if self.further and before >= NEAR else self.held

    def bins(self) -> list[tuple[float, float]]:
        """Where each bin begins, and the share of its draft tokens that held among the first of a draft."""
        return _bins(self.held)

    def further_bins(self) -> list[tuple[float, float]]:
        """The same behind the first `NEAR` tokens; empty where these are not told apart."""
        return _bins(self.further) if self.further else []


def _bins(held: Sequence[float]) -> list[tuple[float, float]]:
    return list(zip((0.0, *EDGES), held, strict=True))


def forecast(tested: Iterable[tuple[float, bool, int]]) -> Forecast:
    """From tested draft tokens, each with its confidence, whether it held, and how many of its draft came before it.

    A bin begins as if one token had been tested that held as often as `TRUST` says, and its share among the first or
    the further tokens as if `ALIKE` had, that held as often as all of the bin. Where no draft was tested that far the
    two are not told apart.
    """
    known = list(tested)
    whole = _shares(known, [(1.0, middle**TRUST) for middle in MIDDLES])
    further = [one for one in known if one[2] >= NEAR]
    if not further:
        return Forecast(_rounded(whole))
    prior = [(ALIKE, ALIKE * share) for share in whole]
    near = _shares([one for one in known if one[2] < NEAR], prior)
    return Forecast(_rounded(near), further=_rounded(_shares(further, prior)))


def _shares(tested: Sequence[tuple[float, bool, int]], prior: Sequence[tuple[float, float]]) -> list[float]:
    """By bin what held of those tested, beside (tokens, of which held) that it begins with."""
    bins = [list(one) for one in prior]
    for share, held, _ in tested:
        found = bins[bin_of(share)]
        found[0] += 1
        found[1] += held
    return [held / n for n, held in bins]


def _rounded(shares: Sequence[float]) -> tuple[float, ...]:
    return tuple(round(share, 3) for share in shares)
