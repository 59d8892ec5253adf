"""Means and shares with their 95 % intervals; medians with their range. Pure and seeded.

Draft tokens and rounds of one prompt resemble each other, so what is counted over many prompts has a row a prompt here
(a conversation, all its turns together, counts as one):
`ratio_interval` draws prompts again, `clustered_share` is Wilson's score with as many trials as the tokens are worth,
`clustered_mean` has the ratio's own standard error.
"""

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import special  # scipy.stats has the same under better names and takes a second to import

from engine.analysis.grouping import added, summed
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


def as_json(found: Interval | None) -> dict[str, Any] | None:
    """An interval in JSON types."""
    return None if found is None else asdict(found)


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
        return ratio_interval([(value, 1.0) for value in values], _mean, confidence, seed)
    half = _t(confidence, n - 1) * float(data.std(ddof=1)) / math.sqrt(n)
    return Interval(mean, mean - half, mean + half, n)


def cluster_mean(values: Sequence[float], clusters: Sequence[Hashable]) -> Interval | None:
    """Mean of numbers, one a prompt, and its 95 % bootstrap interval, for which whole clusters are drawn again.

    `clusters` names that of each: turns of one conversation are no independent prompts. Where each prompt is a cluster
    of its own that is `mean_interval(kind="bootstrap")`. `n` counts clusters; one of them has no bounds. None without
    values.
    """
    return ratio_interval(summed(clusters, [(value, 1.0) for value in values]), _mean)


def _mean(sums: NDArray[Any]) -> NDArray[Any]:
    return np.asarray(sums[..., 0] / sums[..., 1])


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


def share_interval(
    shares: Sequence[float], confidence: float = 0.95, clusters: Sequence[Hashable] | None = None
) -> Interval | None:
    """Mean of shares in [0, 1], one a prompt, and Wilson's score interval with as many trials as prompts, or as there
    are different `clusters` (a name a prompt), which are counted as `n` then.

    That is Wilson's own interval where each is 0 or 1, and too wide rather than too narrow where each is itself a mean
    of repeats; unlike a bootstrap it says something when all are right. None without shares.
    """
    n = len(shares)
    if not n:
        return None
    return _score(sum(shares) / n, n if clusters is None else len(set(clusters)), confidence)


def _score(p: float, n: int, confidence: float, trials: float | None = None) -> Interval:
    """Wilson's interval of a share p of n, from so many independent trials, n where nothing else is said."""
    z, m = float(special.ndtri((1 + confidence) / 2)), n if trials is None else trials
    centre, half = p + z * z / (2 * m), z * math.sqrt(p * (1 - p) / m + z * z / (4 * m * m))
    low, high = ((centre + side * half) / (1 + z * z / m) for side in (-1, 1))
    return Interval(p, max(min(low, p), 0.0), min(max(high, p), 1.0), n)  # rounding puts no mean outside


def clustered_mean(rows: Iterable[tuple[float, int]], confidence: float = 0.95) -> Interval | None:
    """A mean of numbers that come in clusters, the prompts: a row a prompt, (their sum, how many).

    The standard error is that of the ratio of sums with prompts as clusters (linearised), and Student's t has as many
    degrees of freedom as prompts less one: `mean_interval` where every prompt has one number. `n` counts the prompts
    that have a number; one of them has no bounds. None without a number.
    """
    kept = [(total, n) for total, n in rows if n]
    if not kept:
        return None
    mean, prompts = sum(total for total, _ in kept) / sum(n for _, n in kept), len(kept)
    if prompts == 1:
        return Interval(mean, None, None, 1)
    half = _t(confidence, prompts - 1) * math.sqrt(_clustered(kept, mean))
    return Interval(mean, mean - half, mean + half, prompts)


def _clustered(rows: Sequence[tuple[float, int]], mean: float) -> float:
    """Variance of a ratio of sums, rows being independent."""
    n = len(rows)
    return n / (n - 1) * sum((total - mean * size) ** 2 for total, size in rows) / sum(size for _, size in rows) ** 2


def clustered_share(rows: Iterable[tuple[int, int]], confidence: float = 0.95) -> Interval | None:
    """A share of tokens (or rounds) that come in clusters, the prompts: a row a prompt, (successes, tokens).

    Wilson's score interval with the effective number of trials of Korn and Graubard (1998): the tokens over the design
    effect, which is the variance of the ratio with prompts as clusters over that of as many independent tokens, and
    times (t at tokens - 1 over t at prompts - 1 degrees of freedom) squared; never more trials than tokens. It is
    Wilson's own interval where every prompt has one token. Where all tokens or none succeed their likeness shows
    nothing, and there are as many trials as prompts. `n` counts the prompts that have a token; one of them has no
    bounds, for it says nothing of others. None without a token.

    Raises:
        ValueError: successes are not in 0 to the tokens of their prompt.
    """
    kept = [(hits, n) for hits, n in rows if n or hits]
    if wrong := next(((hits, n) for hits, n in kept if not 0 <= hits <= n), None):
        raise ValueError(f"{wrong[0]} successes of {wrong[1]}")
    prompts, tokens = len(kept), sum(n for _, n in kept)
    if not prompts:
        return None
    p = sum(hits for hits, _ in kept) / tokens
    if prompts == 1:
        return Interval(p, None, None, 1)
    if not 0 < p < 1:
        return _score(p, prompts, confidence)
    spare = _clustered(kept, p)
    alone = p * (1 - p) / (tokens - 1)  # the variance, were all tokens independent
    fewer = (_t(confidence, tokens - 1) / _t(confidence, prompts - 1)) ** 2
    worth = min(1.0, alone / spare * fewer) if spare else 1.0
    return _score(p, prompts, confidence, tokens * worth)


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


def of_sums(each: Sequence[Sums], clusters: Sequence[Hashable]) -> dict[str, Interval | None]:
    """95 % intervals from the sums of each run and what tells its cluster from others, its prompt or conversation.

    Runs of one cluster are taken together, for their rounds and draft tokens are no independent ones: `tau` by
    `ratio_interval` (clusters drawn again), acceptance rates by `clustered_share`; `tokens_per_s` is the mean of the
    clusters' speeds (t).
    """
    total, own = sum(each, Sums()), added(clusters, each)
    speeds = [speed for speed in (one.tokens_per_s for one in own) if speed is not None]
    tested = [(one.accepted, one.accepted + one.rejected) for one in own if one.rejected is not None]
    called = [(one.tokens, one.rounds) for one in own]
    return {
        "tau": ratio_interval(called, lambda s: s[..., 0] / s[..., 1]) if total.rounds else None,
        "accept_rate_drafted": clustered_share([(one.accepted, one.drafted) for one in own]),
        "accept_rate_tested": None if total.rejected is None else clustered_share(tested),
        "tokens_per_s": mean_interval(speeds),
    }
