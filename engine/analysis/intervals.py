"""Means and shares with their 95 % intervals; medians with their range. Pure.

Draft tokens and rounds of one prompt resemble each other, so what is counted over many prompts has a row a prompt here
(a conversation, all its turns together, counts as one): `clustered_mean` has the standard error of a ratio of sums,
`clustered_share` is Wilson's score with as many trials as the tokens are worth, `estimate_interval` leaves out one
prompt at a time. All hold for few prompts as for many; a percentile bootstrap does not (docs/design/0023-intervals.md),
and is left for what is too rough for the others (`drawn_interval`).
"""

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special  # scipy.stats has the same under better names and takes a second to import

from engine.analysis.grouping import added, summed
from engine.trace.sums import Sums

RESAMPLES = 2_000  # of a bootstrap
FARTHEST = 20.0  # a bound of a quotient that many times its mean, or that part of it, says nothing
ROOM = 1_000_000  # numbers drawn at a time, some 8 MB
Estimate = Callable[[NDArray[Any]], NDArray[Any]]  # of sums of columns [..., k]


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


def within(found: Interval | None, least: float, most: float) -> Interval | None:
    """An interval as far as its number can be: that of few prompts, which takes means for normal, may go beyond."""
    if found is None or found.low is None or found.high is None:
        return found
    low, high = max(found.low, least), min(found.high, most)
    return Interval(found.mean, min(low, found.mean), max(high, found.mean), found.n)  # rounding puts no mean outside


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


def mean_interval(values: Sequence[float], confidence: float = 0.95, *, positive: bool = False) -> Interval | None:
    """Mean and its interval (Student's t, so of independent, roughly normal means); None without values, no bounds from
    one value. `positive`: of counts or speeds, whose bounds are above 0 too (`estimate_interval`)."""
    if not values:
        return None
    if positive:
        return quotient_interval(values, np.ones(len(values)), confidence=confidence)
    data = np.asarray(values, dtype=np.float64)
    mean, n = float(data.mean()), len(data)
    if n == 1:
        return Interval(mean, None, None, n)
    half = _t(confidence, n - 1) * float(data.std(ddof=1)) / math.sqrt(n)
    return Interval(mean, mean - half, mean + half, n)


def cluster_mean(values: Sequence[float], clusters: Sequence[Hashable], *, positive: bool = False) -> Interval | None:
    """Mean of numbers, one a prompt, and its 95 % interval by `clustered_mean`, in which whole clusters count;
    `positive` as for `mean_interval`.

    `clusters` names that of each: turns of one conversation are no independent prompts. Where each prompt is a cluster
    of its own that is `mean_interval`. `n` counts clusters; one of them has no bounds. None without values.
    """
    rows = summed(clusters, [(value, 1.0) for value in values])
    if positive:
        return quotient_interval(*zip(*rows, strict=True))
    return clustered_mean((total, int(size)) for total, size in rows)


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


def gap_interval(
    gaps: Sequence[float], confidence: float = 0.95, clusters: Sequence[Hashable] | None = None
) -> Interval | None:
    """Mean of differences of two shares in [0, 1] on the same prompts, one a prompt, and its interval.

    Bonett and Price (J. Educ. Behav. Stat. 37, 2012): Wald's with one prompt more on which the first is ahead by all
    and one on which the other is. Unlike a bootstrap or t it says something where no prompt differs, and its coverage
    holds where few do. With `clusters` (a name a prompt) these count as prompts do; `n` counts them, and one has no
    bounds. None without gaps.
    """
    rows = [(gap, 1.0) for gap in gaps] if clusters is None else summed(clusters, [(gap, 1.0) for gap in gaps])
    n = len(rows)
    if not n:
        return None
    totals, sizes = np.asarray(rows, dtype=np.float64).T
    mean = float(totals.sum() / sizes.sum())
    if n == 1:
        return Interval(mean, None, None, n)
    apart = (totals - mean * sizes) / sizes.mean()
    centre = mean * n / (n + 2)
    spare = (float(apart @ apart) + n * mean**2 + 2) / (n + 2) - centre**2
    half = float(special.ndtri((1 + confidence) / 2)) * math.sqrt(spare / (n + 2))
    return Interval(mean, max(min(centre - half, mean), -1.0), min(max(centre + half, mean), 1.0), n)


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


def estimate_interval(
    rows: Sequence[Sequence[float]] | NDArray[Any],
    estimate: Estimate,
    confidence: float = 0.95,
    *,
    positive: bool = False,
) -> Interval | None:
    """An estimate from sums and its interval: one row (prompt) is left out at a time (jackknife), and Student's t has
    as many degrees of freedom as rows less one.

    `rows` [n, k] hold a row a prompt; `estimate` takes sums of the columns [k] or [n, k] to the number, and has to be a
    smooth function of them, as quotients and BLEU are. Of a mean it is `mean_interval`. `positive`: the interval is
    that of the logarithm, for speeds and other quotients, where neither they nor what is left without a row is 0. None
    without rows or where the estimate is not finite; no bounds from one row, nor where one row makes or breaks it, nor
    of a logarithm where they would lie more than 20 times off, as those of two unlike prompts do.
    """
    data = np.asarray(rows, dtype=np.float64)
    n = len(data)
    if not n:
        return None
    total = data.sum(0)
    with np.errstate(all="ignore"):
        mean = float(estimate(total))
        without = np.asarray(estimate(total - data), dtype=np.float64) if n > 1 else np.empty(0)
    if not math.isfinite(mean):
        return None
    if n == 1 or not np.isfinite(without).all():
        return Interval(mean, None, None, n)
    logarithm = positive and mean > 0 and bool((without > 0).all())
    scaled = np.log(without) if logarithm else without
    half = _t(confidence, n - 1) * math.sqrt((n - 1) / n * float(((scaled - scaled.mean()) ** 2).sum()))
    if logarithm and half > math.log(FARTHEST):
        return Interval(mean, None, None, n)
    if logarithm:
        return Interval(mean, mean * math.exp(-half), mean * math.exp(half), n)
    return Interval(mean, mean - half, mean + half, n)


def drawn_interval(
    rows: Sequence[Sequence[float]], estimate: Estimate, confidence: float = 0.95, seed: int = 0
) -> Interval | None:
    """As `estimate_interval`, of an estimate that jumps: whole rows are drawn again, 2,000 times, seeded.

    The percentiles are those of the expanded interval of Hesterberg (Am. Stat. 69, 2015), wider for few rows as
    Student's is. No bounds where one of the drawn estimates is not finite.
    """
    data = np.asarray(rows, dtype=np.float64)
    n = len(data)
    if not n:
        return None
    with np.errstate(all="ignore"):
        mean = float(estimate(data.sum(0)))
        drawn = estimate(_drawn_again(data, seed)) if n > 1 else np.empty(0)
    if not math.isfinite(mean):
        return None
    if n == 1 or not np.isfinite(drawn).all():
        return Interval(mean, None, None, n)
    outside = float(special.ndtr(-math.sqrt(n / (n - 1)) * _t(confidence, n - 1)))
    low, high = np.quantile(drawn, [outside, 1 - outside])
    return Interval(mean, float(low), float(high), n)


def _drawn_again(data: NDArray[Any], seed: int) -> NDArray[Any]:
    """Sums [2000, k] of as many rows as there are, drawn again; some at a time, so that many rows take no more room."""
    n, generator = len(data), np.random.default_rng(seed)
    some = max(1, ROOM // data.size)
    sizes = [min(some, RESAMPLES - done) for done in range(0, RESAMPLES, some)]
    return np.concatenate([data[generator.integers(0, n, (size, n))].sum(1) for size in sizes])


def speedup_interval(rows: Sequence[tuple[float, float, float, float]]) -> Interval | None:
    """Our tokens a second over those of plain decoding, 95 %, by `quotient_interval`.

    A row a prompt: our tokens and time, plain decoding's tokens and time, both times in the same unit.
    """
    return quotient_interval(*zip(*rows, strict=True))


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
    """Sum a / sum b, or (sum a / sum b) / (sum c / sum d), over rows, by `estimate_interval` of positive numbers.

    None without rows or where a sum that divides is 0.
    """
    rows = np.column_stack(columns) if columns else ()
    return estimate_interval(rows, _quotient, confidence, positive=True)


def _quotient(sums: NDArray[Any]) -> NDArray[Any]:
    """Of sums a and b, or a to d, along the last axis: a / b, or (a / b) / (c / d)."""
    found = sums[..., 0] / sums[..., 1]
    return np.asarray(found / (sums[..., 2] / sums[..., 3]) if sums.shape[-1] == 4 else found)


def of_sums(each: Sequence[Sums], clusters: Sequence[Hashable]) -> dict[str, Interval | None]:
    """95 % intervals from the sums of each run and what tells its cluster from others, its prompt or conversation.

    Runs of one cluster are taken together, for their rounds and draft tokens are no independent ones: `tau` by
    `quotient_interval`, acceptance rates by `clustered_share`; `tokens_per_s` is the mean of the
    clusters' speeds.
    """
    total, own = sum(each, Sums()), added(clusters, each)
    speeds = [speed for speed in (one.tokens_per_s for one in own) if speed is not None]
    tested = [(one.accepted, one.accepted + one.rejected) for one in own if one.rejected is not None]
    called = [(one.tokens, one.rounds) for one in own]
    return {
        "tau": quotient_interval(*zip(*called, strict=True)) if total.rounds else None,
        "accept_rate_drafted": clustered_share([(one.accepted, one.drafted) for one in own]),
        "accept_rate_tested": None if total.rejected is None else clustered_share(tested),
        "tokens_per_s": mean_interval(speeds, positive=True),
    }
