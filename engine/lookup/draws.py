"""Children of one node: the first m of a distribution, or m draws without replacement, in draw order (register S3, S7).

The order is part of the result: verification must visit the children as they were drawn (kernel K6).
"""

from collections.abc import Callable, Sequence
from math import log

import numpy as np

from engine.lookup.distributions import Entries
from engine.lookup.noise import NoiseCache

Draws = Callable[[Entries, int], list[int]]  # entries of a distribution and m -> indices of the chosen, in draw order


def first(entries: Entries, m: int) -> list[int]:
    """The m most probable (entries come largest first)."""
    return list(range(min(m, len(entries))))


def sequential(entries: Entries, m: int, generator: np.random.Generator) -> list[int]:
    """Draw m times, one after another, each from what the ones before have left."""
    left = list(range(len(entries)))
    weights = [p for _, p in entries]
    chosen: list[int] = []
    for u in generator.random(min(m, len(entries))).tolist():
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


def gumbel_top(entries: Entries, m: int, cache: NoiseCache, generator: np.random.Generator) -> list[int]:
    """The m largest of log p + Gumbel noise, largest first: distributed as `sequential` (Kool et al. 2019)."""
    noise = cache.take(len(entries), generator).tolist()
    keys = [log(p) + g for (_, p), g in zip(entries, noise, strict=True)]
    return sorted(range(len(keys)), key=keys.__getitem__, reverse=True)[:m]
