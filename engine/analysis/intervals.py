"""Means and shares with their 95 % intervals. Pure and seeded."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from engine.trace.metrics import pooled
from engine.trace.store import Trace


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate from n values; `low` and `high` are None where n is too small to say."""

    mean: float
    low: float | None
    high: float | None
    n: int


def mean_interval(
    values: Sequence[float], confidence: float = 0.95, kind: Literal["t", "bootstrap"] = "t", seed: int = 0
) -> Interval | None:
    """Mean and its interval; None without values, no bounds from one value.

    "t" assumes independent, roughly normal means; "bootstrap" is the percentile bootstrap with 2,000 seeded resamples.
    """
    if not values:
        return None
    data = np.asarray(values, dtype=np.float64)
    mean, n = float(data.mean()), len(data)
    if n == 1:
        return Interval(mean, None, None, n)
    if kind == "bootstrap":
        generator = np.random.default_rng(seed)
        means = np.array([data[generator.integers(0, n, n)].mean() for _ in range(2_000)])
        low, high = np.quantile(means, [(1 - confidence) / 2, (1 + confidence) / 2])
        return Interval(mean, float(low), float(high), n)
    half = t_quantile(n - 1, confidence) * float(data.std(ddof=1)) / math.sqrt(n)
    return Interval(mean, mean - half, mean + half, n)


def wilson(successes: int, n: int, confidence: float = 0.95) -> Interval | None:
    """A share and its score interval (Wilson 1927), which stays within 0 and 1; None when n is 0.

    Raises:
        ValueError: successes is not in 0 to n.
    """
    if not 0 <= successes <= n:
        raise ValueError(f"{successes} successes of {n}")
    if n == 0:
        return None
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    share = successes / n
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    # at the ends the formula gives the end itself, up to rounding
    low = 0.0 if successes == 0 else middle - half
    return Interval(share, low, 1.0 if successes == n else middle + half, n)


def t_quantile(freedom: int, confidence: float = 0.95) -> float:
    """The t with P(|T| <= t) = confidence, by bisection.

    Raises:
        ValueError: no degree of freedom, or a confidence outside (0, 1).
    """
    if freedom < 1 or not 0 < confidence < 1:
        raise ValueError(f"freedom {freedom}, confidence {confidence}")
    low, high = 0.0, 1.0
    while _t_inside(high, freedom) < confidence:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _t_inside(middle, freedom) < confidence else (low, middle)
    return (low + high) / 2


def _t_inside(t: float, freedom: int) -> float:
    """P(|T| <= t) for a whole number of degrees of freedom: Abramowitz and Stegun 26.7.3 and 26.7.4."""
    if freedom > 10_000:  # the series grows long, and the normal law is right to 0.0003
        return 2 * NormalDist().cdf(t) - 1
    angle = math.atan(t / math.sqrt(freedom))
    odd = freedom % 2
    term = math.cos(angle) if odd else 1.0
    total = term if freedom > 1 else 0.0
    for step in range(2 + odd, freedom - 1, 2):
        term *= math.cos(angle) ** 2 * (step - 1) / step
        total += term
    return 2 / math.pi * (angle + math.sin(angle) * total) if odd else math.sin(angle) * total


def ratio_interval(
    columns: Sequence[Sequence[float]],
    ratio: Callable[[NDArray[Any]], NDArray[Any]],
    confidence: float = 0.95,
    seed: int = 0,
) -> Interval | None:
    """A ratio of sums and its percentile bootstrap interval: whole rows (prompts) are drawn again, 2,000 times, seeded.

    `columns` [n, k] holds a row a prompt; `ratio` takes the sums of the columns [k] or [2000, k] to the estimate. None without
    rows or where the estimate is not finite; no bounds from one row.
    """
    data = np.asarray(columns, dtype=np.float64)
    n = len(data)
    if not n:
        return None
    with np.errstate(all="ignore"):
        mean = float(ratio(data.sum(0)))
        drawn = ratio(data[np.random.default_rng(seed).integers(0, n, (2_000, n))].sum(1)) if n > 1 else np.empty(0)
    if not math.isfinite(mean):
        return None
    if n == 1 or not np.isfinite(drawn).all():
        return Interval(mean, None, None, n)
    low, high = np.quantile(drawn, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Interval(mean, float(low), float(high), n)


def intervals(traces: Iterable[Trace]) -> dict[str, Interval | None]:
    """95 % intervals: `tau` over rounds, shares by Wilson's score, `tokens_per_s` over runs (t, from two runs on).

    Raises:
        ConfigError: no trace.
    """
    kept = list(traces)
    counts = pooled(kept)
    speeds = [speed for speed in (trace.metrics()["tokens_per_s"] for trace in kept) if speed is not None]
    tested = None if counts["rejected"] is None else counts["accepted"] + counts["rejected"]
    return {
        "tau": mean_interval([event.emitted for trace in kept for event in trace.rounds]),
        "accept_rate_drafted": wilson(counts["accepted"], counts["drafted"]),
        "accept_rate_tested": None if tested is None else wilson(counts["accepted"], tested),
        "tokens_per_s": mean_interval(speeds),
    }
