"""Means and shares with their 95 % intervals; medians with their range. Pure and seeded."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import special  # scipy.stats has the same under better names and takes a second to import

from engine.errors import ConfigError
from engine.trace.store import Trace
from engine.trace.sums import Sums

RESAMPLES = 2_000  # of a bootstrap
ROOM = 1_000_000  # numbers drawn at a time, some 8 MB


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate from n values; `low` and `high` are None where n is too small to say."""

    mean: float
    low: float | None
    high: float | None
    n: int


@dataclass(frozen=True, slots=True)
class Spread:
    """The middle of n values and their ends: of runs on one prompt, which are no sample from which to infer more."""

    median: float
    low: float
    high: float
    n: int


def spread(values: Sequence[float]) -> Spread | None:
    """Median and range; None without values."""
    return Spread(float(np.median(values)), float(min(values)), float(max(values)), len(values)) if values else None


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
        means = np.array([data[generator.integers(0, n, n)].mean() for _ in range(RESAMPLES)])
        low, high = np.quantile(means, [(1 - confidence) / 2, (1 + confidence) / 2])
        return Interval(mean, float(low), float(high), n)
    half = _t(confidence, n - 1) * float(data.std(ddof=1)) / math.sqrt(n)
    return Interval(mean, mean - half, mean + half, n)


def _t(confidence: float, freedom: float) -> float:
    """Half the width of Student's interval, in standard errors."""
    return float(special.stdtrit(freedom, (1 + confidence) / 2))


def wilson(successes: int, n: int, confidence: float = 0.95) -> Interval | None:
    """A share and its score interval (Wilson 1927), which stays within 0 and 1; None when n is 0.

    Raises:
        ValueError: successes is not in 0 to n.
    """
    if not 0 <= successes <= n:
        raise ValueError(f"{successes} successes of {n}")
    if n == 0:
        return None
    return _score(successes / n, n, confidence)


def share_interval(shares: Sequence[float], confidence: float = 0.95) -> Interval | None:
    """Mean of shares in [0, 1], one a prompt, and Wilson's score interval with as many trials as prompts.

    That is Wilson's own interval where each is 0 or 1, and too wide rather than too narrow where each is itself a mean
    of repeats; unlike a bootstrap it says something when all are right. None without shares.
    """
    n = len(shares)
    if not n:
        return None
    return _score(sum(shares) / n, n, confidence)


def _score(p: float, n: int, confidence: float) -> Interval:
    z = float(special.ndtri((1 + confidence) / 2))
    centre, half = p + z * z / (2 * n), z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    low, high = ((centre + side * half) / (1 + z * z / n) for side in (-1, 1))
    return Interval(p, max(min(low, p), 0.0), min(max(high, p), 1.0), n)  # rounding puts no mean outside


def ratio_interval(
    columns: Sequence[Sequence[float]],
    ratio: Callable[[NDArray[Any]], NDArray[Any]],
    confidence: float = 0.95,
    seed: int = 0,
) -> Interval | None:
    """A ratio of sums and its percentile bootstrap interval: whole rows (prompts) are drawn again, 2,000 times, seeded.

    `columns` [n, k] holds a row a prompt; `ratio` takes the sums of the columns [k] or [2000, k] to the estimate. None
    without rows or where the estimate is not finite; no bounds from one row.
    """
    data = np.asarray(columns, dtype=np.float64)
    n = len(data)
    if not n:
        return None
    with np.errstate(all="ignore"):
        mean = float(ratio(data.sum(0)))
        drawn = ratio(_drawn_again(data, seed)) if n > 1 else np.empty(0)
    if not math.isfinite(mean):
        return None
    if n == 1 or not np.isfinite(drawn).all():
        return Interval(mean, None, None, n)
    low, high = np.quantile(drawn, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Interval(mean, float(low), float(high), n)


def _drawn_again(data: NDArray[Any], seed: int) -> NDArray[Any]:
    """Sums [2000, k] of as many rows as there are, drawn again; some at a time, so that many rows take no more room."""
    n, generator = len(data), np.random.default_rng(seed)
    some = max(1, ROOM // data.size)
    sizes = [min(some, RESAMPLES - done) for done in range(0, RESAMPLES, some)]
    return np.concatenate([data[generator.integers(0, n, (size, n))].sum(1) for size in sizes])


def speedup_interval(rows: Sequence[tuple[float, float, float, float]]) -> Interval | None:
    """Our tokens a second over those of plain decoding, 95 %, by `ratio_interval`.

    A row a prompt: our tokens and time, plain decoding's tokens and time, both times in the same unit.
    """
    return ratio_interval(rows, lambda s: (s[..., 0] / s[..., 1]) / (s[..., 2] / s[..., 3]))


def counted_interval(counts: Sequence[int], confidence: float = 0.95) -> Interval | None:
    """Mean of the numbers 0, 1, ... that come so often, and its interval (t), without writing them out."""
    weights = np.asarray(counts, dtype=np.float64)
    n = float(weights.sum())
    if not n:
        return None
    numbers = np.arange(len(weights))
    mean = float((weights * numbers).sum() / n)
    if n == 1:
        return Interval(mean, None, None, 1)
    spare = math.sqrt(float((weights * (numbers - mean) ** 2).sum()) / (n - 1) / n)
    half = _t(confidence, n - 1) * spare
    return Interval(mean, mean - half, mean + half, int(n))


def quotient_interval(*columns: "Sequence[float] | NDArray[Any]", confidence: float = 0.95) -> Interval | None:
    """Sum a / sum b, or (sum a / sum b) / (sum c / sum d), over many rows; None where a sum is 0, no bounds from one.

    The interval is that of the linearised logarithm: for so many rows that drawing them again would take long.
    """
    values = [np.asarray(column, dtype=np.float64) for column in columns]
    totals, n = [float(column.sum()) for column in values], len(values[0])
    if not all(totals):
        return None
    signs = (1, -1, -1, 1)[: len(values)]
    mean = math.exp(sum(sign * math.log(total) for sign, total in zip(signs, totals, strict=True)))
    if n == 1:
        return Interval(mean, None, None, n)
    pull = sum((sign * a / total for sign, a, total in zip(signs, values, totals, strict=True)), np.zeros(n))
    half = _t(confidence, n - 1) * math.sqrt(n / (n - 1) * float((pull**2).sum()))
    return Interval(mean, mean * math.exp(-half), mean * math.exp(half), n)


def intervals(traces: Iterable[Trace]) -> dict[str, Interval | None]:
    """95 % intervals: `tau` over rounds, shares by Wilson's score, `tokens_per_s` over runs (t, from two runs on).

    Raises:
        ConfigError: no trace.
    """
    kept = [Sums.of_run(trace) for trace in traces]
    if not kept:
        raise ConfigError("There is no trace to measure.")
    return of_sums(kept)


def of_sums(each: Sequence[Sums]) -> dict[str, Interval | None]:
    """The same from the sums of each run."""
    total = sum(each, Sums())
    speeds = [speed for speed in (one.tokens_per_s for one in each) if speed is not None]
    tested = None if total.rejected is None else total.accepted + total.rejected
    emitted = np.repeat(np.arange(len(total.emitted_counts)), total.emitted_counts)
    return {
        "tau": mean_interval(emitted.tolist()),
        "accept_rate_drafted": wilson(total.accepted, total.drafted),
        "accept_rate_tested": None if tested is None else wilson(total.accepted, tested),
        "tokens_per_s": mean_interval(speeds),
    }
