"""Children of one node: the first m of a distribution, or m draws without replacement, in draw order (register S3, S7).

The order is part of the result: verification must visit the children as they were drawn (kernel K6).
"""

from collections.abc import Callable, Sequence
from operator import add

import numpy as np

from engine.lookup.distributions import MeanDistribution
from engine.lookup.noise import NoiseCache

Draws = Callable[[MeanDistribution, int], list[int]]  # and m -> indices of the chosen entries, in draw order


def first(mean: MeanDistribution, m: int) -> list[int]:
    """The m most probable (entries come largest first)."""
    return list(range(min(m, len(mean.entries))))


def sequential(mean: MeanDistribution, m: int, generator: np.random.Generator) -> list[int]:
    """Draw m times, one after another, each from what the ones before have left."""
    weights = [p for _, p in mean.distribution]
    left = list(range(len(weights)))
    chosen: list[int] = []
    for u in generator.random(min(m, len(weights))).tolist():
        at = _inverse([weights[i] for i in left], u)
        chosen.append(left.pop(at))
    return chosen


def _inverse(weights: Sequence[float], u: float) -> int:
    """The index that the uniform u draws; never one of zero weight unless all are."""
    goal, mass = u * sum(weights), 0.0
    for i, weight in enumerate(weights):
        mass += weight
        if goal < mass:
            return i
    return max((i for i, w in enumerate(weights) if w > 0), default=len(weights) - 1)


def gumbel_top(mean: MeanDistribution, m: int, cache: NoiseCache, generator: np.random.Generator) -> list[int]:
    """The m largest of log p + Gumbel noise, largest first: distributed as `sequential` (Kool et al. 2019)."""
    logs = mean.logs
    keys = list(map(add, logs, cache.take(len(logs), generator).tolist()))
    if m == 1 and keys:  # most nodes have one child
        return [keys.index(max(keys))]
    return sorted(range(len(keys)), key=keys.__getitem__, reverse=True)[:m]
