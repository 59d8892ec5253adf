"""How often a drafter's tokens hold by how sure it is of them: measured for a pair, in place of taking its word.

A pair's preset may hold some (`[forecasts.DRAFTER]`, as `engine calibrate --forecast` prints it); any other lab is
given them: `lab.forecasts = {"model": Forecast(held)}`.
"""

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

EDGES = (0.1, 0.25, 0.5, 0.7, 0.85, 0.95, 0.99, 0.999)  # of the bins in which a drafter's confidence is checked
MIDDLES = tuple((low + high) / 2 for low, high in pairwise((0.0, *EDGES, 1.0)))
TRUST = 0.75  # an untested confidence is raised to this power: the likeliest token holds oftener than it says


def bin_of(share: float) -> int:
    """Of a confidence, 0 to `len(EDGES)`."""
    return bisect_right(EDGES, share)


@dataclass(frozen=True)
class Forecast:
    """By bin of confidence the share of draft tokens that held, and the command that measured it."""

    held: tuple[float, ...]
    command: str = ""

    def chance(self, share: float) -> float:
        """That a token holds of which the drafter is so sure."""
        return self.held[bin_of(share)]

    def bins(self) -> list[tuple[float, float]]:
        """Where each bin begins, and the share of its draft tokens that held."""
        return list(zip((0.0, *EDGES), self.held, strict=True))


def forecast(tested: Iterable[tuple[float, bool]]) -> Forecast:
    """From tested draft tokens, each with its confidence and whether it held; a bin begins as if one token had been
    tested that held as often as `TRUST` says."""
    bins = [[1.0, middle**TRUST] for middle in MIDDLES]
    for share, held in tested:
        found = bins[bin_of(share)]
        found[0] += 1
        found[1] += held
    return Forecast(tuple(round(held / n, 3) for n, held in bins))
