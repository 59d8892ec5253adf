"""How well a judge tells important swaps from others. Pure; no torch.

`scores` are p(important) in [0, 1], `labels` say whether a swap was important. A swap is rejected when its score is at
least the threshold (register A4), so recall is the share of important swaps that are rejected.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from engine.analysis.intervals import Interval, mean_interval, wilson, within
from engine.analysis.words import per_call, percent

DECIMALS = 4  # of scores in files
QUANTILES = 26  # thresholds of the sweep, as in the published code (register A3)
LONG = 0.25  # a share of the range of a comparison that is told where one straight line fills it
OWN = "autojudge (90 % recall)"  # the judge at its own threshold, among the settings of an evaluation
Row = Mapping[str, Any]
Floats = npt.NDArray[np.float64]
Curve = Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Roc:
    """The curve from (0, 0) to (1, 1), one point a distinct score, and the area under it (None with one class only)."""

    false_positive: list[float]
    true_positive: list[float]
    thresholds: list[float]  # the first is infinite: nothing is rejected
    auc: float | None


@dataclass(frozen=True, slots=True)
class Bin:
    """Swaps whose score lies in [low, high): how many, their mean score, and how many were important."""

    low: float
    high: float
    n: int
    mean_score: float | None
    important: int
    share: Interval | None  # of important ones


def roc(scores: Sequence[float], labels: Sequence[bool]) -> Roc:
    """Receiver operating characteristic; ties step together, so the area is right with tied scores."""
    s, y = _arrays(scores, labels)
    order = np.argsort(-s, kind="stable")
    s, y = s[order], y[order]
    ends = np.flatnonzero(np.diff(s, append=-np.inf)) if len(s) else np.array([], dtype=np.int64)
    hits, alarms = np.cumsum(y)[ends], np.cumsum(~y)[ends]
    positives, negatives = int(y.sum()), int((~y).sum())
    tpr = [0.0, *(hits / max(positives, 1)).tolist()]
    fpr = [0.0, *(alarms / max(negatives, 1)).tolist()]
    area = float(np.trapezoid(tpr, fpr)) if positives and negatives else None
    return Roc(fpr, tpr, [float("inf"), *s[ends].tolist()], area)


def area_interval(
    scores: Sequence[float], labels: Sequence[bool], prompts: Sequence[str], beside: Sequence[float] | None = None
) -> Interval | None:
    """Area under the curve of one score a label, or by how much it is above that of other scores of the same labels.

    Labels of one prompt are no independent ones: the interval (t, 95 %) is over prompts, from what each adds to the
    area's two placements, summed as Obuchowski (Biometrics 53, 1997) does; where each prompt has one label it is that
    of DeLong, DeLong and Clarke-Pearson (Biometrics 44, 1988) but for a factor of n/(n - 1). None with one class only.
    """
    ours = _pulls(scores, labels)
    theirs = (0.0, np.zeros(len(labels))) if beside is None else _pulls(beside, labels)
    if ours is None or theirs is None:
        return None
    names, place = np.unique(np.asarray(prompts), return_inverse=True)
    each = np.bincount(place, weights=ours[1] - theirs[1], minlength=len(names))
    found = mean_interval((ours[0] - theirs[0] + len(names) * each).tolist())
    return within(found, 0.0 if beside is None else -1.0, 1.0)


def _pulls(scores: Sequence[float], labels: Sequence[bool]) -> tuple[float, Floats] | None:
    """The area, and for each label by how much its share of the other class that it is rightly apart from (ties half)
    is above it, over the labels of its class."""
    s, y = _arrays(scores, labels)
    if y.all() or not y.any():
        return None
    found = np.empty(len(s))
    for own, sign in ((y, 1.0), (~y, -1.0)):
        others = np.sort(sign * s[~own])
        below, upto = (np.searchsorted(others, sign * s[own], side=side) for side in ("left", "right"))
        found[own] = (below + upto) / 2 / len(others)
    area = float(found[y].mean())
    return area, (found - area) / np.where(y, y.sum(), (~y).sum())


def recall_threshold(scores: Sequence[float], labels: Sequence[bool], recall: float = 0.9) -> float:
    """The largest threshold at which at least `recall` of the important swaps are rejected; 0 when none is important.

    Raises:
        ValueError: recall is not in (0, 1].
    """
    if not 0 < recall <= 1:
        raise ValueError(f"recall {recall} is not above 0 and at most 1")
    s, y = _arrays(scores, labels)
    important = np.sort(s[y])[::-1]
    if not len(important):
        return 0.0
    return float(important[int(np.ceil(recall * len(important) - 1e-9)) - 1])


def quantile_thresholds(scores: Sequence[float], n: int = QUANTILES) -> list[float]:
    """Thresholds at n even quantiles of the scores, 0 to 1, rising; equal ones once."""
    if not len(scores):
        return []
    return sorted(set(np.quantile(np.asarray(scores, dtype=np.float64), np.linspace(0, 1, n)).tolist()))


def at_threshold(scores: Sequence[float], labels: Sequence[bool], threshold: float) -> dict[str, float | None]:
    """Recall of important swaps, share of unimportant ones accepted, and share rejected, at one threshold."""
    s, y = _arrays(scores, labels)
    rejected = s >= threshold
    return {
        "threshold": threshold,
        "recall": float(rejected[y].mean()) if y.any() else None,
        "kept_unimportant": float((~rejected[~y]).mean()) if (~y).any() else None,
        "refused": float(rejected.mean()) if len(s) else None,
    }


def recall_curve(scores: Sequence[float], labels: Sequence[bool]) -> list[dict[str, float | None]]:
    """`at_threshold` for each threshold of the quantile sweep."""
    return [at_threshold(scores, labels, threshold) for threshold in quantile_thresholds(scores)]


def histogram(scores: Sequence[float], labels: Sequence[bool], bins: int = 20) -> dict[str, list[float]]:
    """Counts of scores in even bins on [0, 1], apart for important and unimportant swaps."""
    s, y = _arrays(scores, labels)
    edges = np.linspace(0, 1, bins + 1)
    count = [np.histogram(s[mask], edges)[0].tolist() for mask in (y, ~y)]
    return {"edges": edges.tolist(), "important": count[0], "unimportant": count[1]}


def reliability(scores: Sequence[float], labels: Sequence[bool], bins: int = 10) -> list[Bin]:
    """Per even bin of the score: how often a swap was important, with Wilson intervals, as if swaps were independent,
    which those of one problem are not. Empty bins stay, with None."""
    s, y = _arrays(scores, labels)
    index = np.minimum((s * bins).astype(np.int64), bins - 1)
    out = []
    for b in range(bins):
        mask = index == b
        n, hits = int(mask.sum()), int(y[mask].sum())
        mean = float(s[mask].mean()) if n else None
        out.append(Bin(b / bins, (b + 1) / bins, n, mean, hits, wilson(hits, n)))
    return out


def calibration_error(scores: Sequence[float], labels: Sequence[bool], bins: int = 10) -> float | None:
    """Expected calibration error: mean distance of score and share of important ones, weighted by bin size."""
    filled = [b for b in reliability(scores, labels, bins) if b.mean_score is not None and b.share is not None]
    total = sum(b.n for b in filled)
    if not total:
        return None
    return sum(b.n * abs((b.mean_score or 0.0) - b.share.mean) for b in filled if b.share) / total


def accuracy(correct: Sequence[float | bool]) -> Interval | None:
    """Share of problems solved, with its Wilson interval."""
    return wilson(sum(bool(c) for c in correct), len(correct))


def share_above(upper: Curve, lower: Curve, points: int = 400) -> float | None:
    """Share of the common range of x over which one curve of (x, y) lies at least as high as the other.

    Both are joined linearly between their points, the higher of points with equal x; None without a common range.
    """
    both = _over_common(upper, lower, points)
    return None if both is None else float((both[0] >= both[1] - 1e-12).mean())


def mean_gap(upper: Curve, lower: Curve, points: int = 400) -> float | None:
    """Mean difference of height of two curves over their common range of x; None without one."""
    both = _over_common(upper, lower, points)
    return None if both is None else float((both[0] - both[1]).mean())


def against_rules(rows: Sequence[Row]) -> str | None:
    """The judge at its own threshold beside the math rule that is best among those at least as often right, or beside
    the one that is right most often where none is; whoever is ahead. None without a rule or the judge.

    `rows` are those of an evaluation (docs/results/judge-*.json): `name`, `group`, `accuracy`, `tokens_per_call`.
    """
    judge = next((row for row in rows if row["name"] == OWN and row["accuracy"]), None)
    rules = [row for row in rows if row["group"] == "math" and row["accuracy"]]
    if judge is None or not rules:
        return None
    equal = [row for row in rules if _right(row) >= _right(judge)]
    rule = max(equal, key=_tokens) if equal else max(rules, key=lambda row: (_right(row), _tokens(row)))
    apart = judge["accuracy"]["low"] > rule["accuracy"]["high"] or rule["accuracy"]["low"] > judge["accuracy"]["high"]
    more = f"{per_call(abs(_tokens(rule) - _tokens(judge)))} tokens a call more"
    paper = "The paper has the judge ahead of rules with a top K (Table 10, on GSM8K)"
    if equal and _tokens(rule) > _tokens(judge):
        often = "more often" if apart else "at least as often"
        told = f"The rule makes {more} and is right {often}. {paper}; here the rule is."
    elif equal:
        told = "No rule that is right as often makes more tokens a call, so neither is ahead."
    elif all(_tokens(judge) >= _tokens(row) for row in rules):
        told = f"The judge makes {more}, and no math rule is right as often or makes more. {paper}; so it is here."
    else:
        told = "No math rule is right as often, but one makes more tokens a call, so neither is ahead."
    both = f"At 90 % recall the judge {_solved(judge)}; the rule {rule['name']} {_solved(rule)}."
    return f"{both} {told}{'' if apart else ' The intervals of accuracy overlap.'}"


def long_line(rows: Sequence[Row], group: str, what: str, points: int = 2001) -> str | None:
    """What `share_above` and `mean_gap` of the judge against a group rest on, where the group has settings at few
    places: how much of the common range is one straight line of its curve, and how far apart both are on the rest. None
    where no such line is long.

    `what` is the other curve in words, "top-K's"; `rows` as in `against_rules`.
    """
    own, other = (
        [(_tokens(row), _right(row)) for row in rows if row["group"] in ("exact", kind) and row["accuracy"]]
        for kind in ("own", group)
    )
    ends = _common(own, other)
    if ends is None:
        return None
    (low, high), x = ends, np.linspace(*ends, points)
    places = [low, *(at for at in _joined(other)[0].tolist() if low < at < high), high]
    width, start = max((after - before, before) for before, after in pairwise(places))
    if width < LONG * (high - low):
        return None
    told = (
        f"Settings are joined by straight lines, from SD's point on: {percent(width / (high - low))} of that range is "
        f"one line of {what}, from {per_call(start)} to {per_call(start + width)} tokens a call"
    )
    rest = (x < start) | (x > start + width)
    if rest.mean() < 0.05:
        return f"{told}."
    gap = float((np.interp(x, *_joined(own)) - np.interp(x, *_joined(other)))[rest].mean())
    by = f"{100 * abs(gap):.1f} points {'below' if gap < 0 else 'above'}" if abs(gap) >= 0.0005 else "as high"
    return f"{told}; on the rest the judge's curve is {by}."


def _right(row: Row) -> float:
    return float(row["accuracy"]["mean"])


def _tokens(row: Row) -> float:
    return float(row["tokens_per_call"])


def _solved(row: Row) -> str:
    mean, low, high = (f"{100 * row['accuracy'][name]:.1f} %" for name in ("mean", "low", "high"))
    return f"makes {per_call(_tokens(row))} tokens a target call and solves {mean} ({low} to {high})"


def _over_common(upper: Curve, lower: Curve, points: int) -> tuple[Floats, Floats] | None:
    """Heights of two curves at so many places of their common range of x; None without one."""
    ends = _common(upper, lower)
    if ends is None:
        return None
    x = np.linspace(*ends, points)
    return np.interp(x, *_joined(upper)), np.interp(x, *_joined(lower))


def _common(upper: Curve, lower: Curve) -> tuple[float, float] | None:
    """The ends of the range of x that two curves share; None without one."""
    a, b = _joined(upper)[0], _joined(lower)[0]
    if len(a) < 2 or len(b) < 2:
        return None
    low, high = float(max(a[0], b[0])), float(min(a[-1], b[-1]))
    return (low, high) if high > low else None


def _joined(curve: Curve) -> tuple[Floats, Floats]:
    best: dict[float, float] = {}
    for x, y in curve:
        best[x] = max(y, best.get(x, -np.inf))
    xs = sorted(best)
    return np.array(xs), np.array([best[x] for x in xs])


def _arrays(scores: Sequence[float], labels: Sequence[bool]) -> tuple[Floats, npt.NDArray[np.bool_]]:
    s, y = np.asarray(scores, dtype=np.float64), np.asarray(labels, dtype=np.bool_)
    if s.shape != y.shape or s.ndim != 1:
        raise ValueError(f"{s.size} scores for {y.size} labels")
    if len(s) and not (np.isfinite(s).all() and s.min() >= 0 and s.max() <= 1):
        raise ValueError("scores are probabilities, 0 to 1")
    return s, y
