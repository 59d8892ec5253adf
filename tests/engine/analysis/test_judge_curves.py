"""Curves of a judge against worked examples and scikit-learn."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import roc_auc_score

from engine.analysis.intervals import wilson
from engine.analysis.judge import (
    accuracy,
    area_interval,
    at_threshold,
    calibration_error,
    histogram,
    mean_gap,
    quantile_thresholds,
    recall_curve,
    recall_threshold,
    reliability,
    roc,
    share_above,
)
from tests.typed import some

cases = st.lists(st.tuples(st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.9, 1.0]), st.booleans()), min_size=1, max_size=40)


@given(cases)
def test_the_area_is_that_of_scikit_learn(pairs: list[tuple[float, bool]]) -> None:
    scores, labels = [s for s, _ in pairs], [y for _, y in pairs]
    curve = roc(scores, labels)
    if len(set(labels)) < 2:
        assert curve.auc is None
    else:
        assert curve.auc == pytest.approx(roc_auc_score(labels, scores))
    assert curve.false_positive == sorted(curve.false_positive) and curve.true_positive == sorted(curve.true_positive)


@given(cases, st.sampled_from([0.5, 0.8, 0.9, 1.0]))
def test_the_recall_threshold_is_the_largest_that_reaches_it(pairs: list[tuple[float, bool]], wanted: float) -> None:
    scores, labels = [s for s, _ in pairs], [y for _, y in pairs]
    threshold = recall_threshold(scores, labels, wanted)
    if not any(labels):
        assert threshold == 0
        return
    assert some(at_threshold(scores, labels, threshold)["recall"]) >= wanted - 1e-12
    higher = [s for s in scores if s > threshold]
    assert not higher or some(at_threshold(scores, labels, min(higher))["recall"]) < wanted


def test_at_a_threshold_equal_scores_are_refused() -> None:
    assert at_threshold([0.3, 0.3, 0.1], [True, False, False], 0.3) == {
        "threshold": 0.3,
        "recall": 1.0,
        "kept_unimportant": 0.5,
        "refused": pytest.approx(2 / 3),
    }
    assert at_threshold([], [], 0.5) == {"threshold": 0.5, "recall": None, "kept_unimportant": None, "refused": None}


def test_the_sweep_has_26_quantiles() -> None:
    scores = np.linspace(0, 1, 101).tolist()
    assert quantile_thresholds(scores) == pytest.approx(np.arange(26) / 25)
    curve = recall_curve(scores, [s > 0.5 for s in scores])
    recalls = [some(point["recall"]) for point in curve]
    assert recalls == sorted(recalls, reverse=True) and recalls[0] == 1.0
    assert quantile_thresholds([]) == [] and quantile_thresholds([0.5] * 9) == [0.5]


def test_reliability_of_a_calibrated_and_an_overconfident_judge() -> None:
    scores, labels = [0.25] * 4 + [0.95] * 20, [True, False, False, False] + [True] * 19 + [False]
    bins = reliability(scores, labels)
    assert [b.n for b in bins] == [0, 0, 4, 0, 0, 0, 0, 0, 0, 20] and some(bins[2].share).mean == 0.25
    assert bins[0].share is None and bins[0].mean_score is None
    assert calibration_error(scores, labels) == pytest.approx(0)
    assert calibration_error([1.0] * 10, [True, False] * 5) == pytest.approx(0.5)
    assert calibration_error([], []) is None


def test_histogram_counts_each_label() -> None:
    found = histogram([0.0, 0.05, 0.5, 1.0], [True, False, False, True], bins=10)
    assert sum(found["important"]) == 2 and sum(found["unimportant"]) == 2
    assert found["important"][0] == 1 and found["important"][-1] == 1 and len(found["edges"]) == 11


def test_accuracy_has_a_wilson_interval() -> None:
    found = some(accuracy([1.0] * 8 + [0.0] * 2))
    assert (found.mean, found.n) == (0.8, 10) and (found.low, found.high) == pytest.approx((0.4902, 0.9433), abs=1e-3)
    assert accuracy([]) is None


def test_curves_are_compared_over_their_common_range() -> None:
    high, low = [(2, 1.0), (4, 0.8), (6, 0.6)], [(2, 0.9), (5, 0.5)]
    assert share_above(high, low) == 1.0 and share_above(low, high) == 0.0
    assert mean_gap(high, low) == pytest.approx(-some(mean_gap(low, high)))
    crossing = [(2, 0.9), (5, 0.9)]
    assert share_above(high, crossing) == pytest.approx(1 / 3, abs=0.01)
    assert share_above(high, [(9, 1.0), (10, 1.0)]) is None and share_above([(1, 1.0)], high) is None


def test_scores_must_be_probabilities() -> None:
    for scores, labels in (([1.2], [True]), ([float("nan")], [True]), ([0.1], [])):
        with pytest.raises(ValueError):
            roc(scores, labels)


def test_a_curve_goes_through_the_shares_at_each_score() -> None:
    """Scores 0.9 (important), 0.9 (not), 0.4 (not), 0.2 (important): two steps of a half, one with a tie."""
    curve = roc([0.2, 0.9, 0.4, 0.9], [True, True, False, False])
    assert curve.true_positive == [0.0, 0.5, 0.5, 1.0] and curve.false_positive == [0.0, 0.5, 1.0, 1.0]
    assert curve.thresholds == [float("inf"), 0.9, 0.4, 0.2]
    assert curve.auc == pytest.approx(0.125 + 0.25)
    nothing = roc([], [])
    assert (nothing.true_positive, nothing.false_positive, nothing.auc) == ([0.0], [0.0], None)


def test_the_threshold_of_a_recall_that_is_no_share_is_refused() -> None:
    for recall in (0.0, -0.1, 1.01):
        with pytest.raises(ValueError, match=f"recall {recall} is not above 0"):
            recall_threshold([0.5], [True], recall)
    ten = [i / 10 for i in range(10)]
    assert recall_threshold(ten, [True] * 10) == 0.1, "nine of ten are rejected at 0.1"


def test_bins_of_reliability_say_where_they_lie_and_what_is_in_them() -> None:
    bins = reliability([0.0, 0.25, 0.3, 0.5, 1.0], [False, True, False, True, True], bins=4)
    assert [(b.low, b.high) for b in bins] == [(0, 0.25), (0.25, 0.5), (0.5, 0.75), (0.75, 1)]
    assert [(b.n, b.important) for b in bins] == [(1, 0), (2, 1), (1, 1), (1, 1)]
    assert bins[1].mean_score == pytest.approx(0.275) and bins[1].share == wilson(1, 2)
    # |0 - 0| + 2 |0.275 - 0.5| + |0.5 - 1| + |1 - 1|, over five
    assert calibration_error([0.0, 0.25, 0.3, 0.5, 1.0], [False, True, False, True, True], bins=4) == pytest.approx(
        0.19
    )
    assert len(histogram([], [])["edges"]) == 21 and len(reliability([], [])) == 10


def test_curves_of_few_points_and_in_any_order() -> None:
    falling, flat = [(4.0, 0.5), (2.0, 1.0)], [(1.0, 0.5), (3.0, 0.5), (3.0, 0.1)]
    assert mean_gap(falling, flat) == pytest.approx(0.375), "from 2 to 3: half of 1 - 0.75, above 0.5"
    assert mean_gap(falling, flat, points=2) == pytest.approx((0.5 + 0.25) / 2)
    assert mean_gap(flat, falling, points=2) == pytest.approx(-(0.5 + 0.25) / 2)
    assert mean_gap(falling, [(3.0, 0.5)]) is mean_gap([(3.0, 0.5)], falling) is None
    assert share_above(falling, [(4.0, 0.5), (5.0, 0.5)]) is None, "a single common point is no range"
    assert share_above(falling, falling) == 1.0, "at least as high"


@pytest.mark.parametrize("scores", [[-0.1], [1.1], [float("inf")], [float("-inf")]])
def test_what_is_no_probability_is_refused(scores: list[float]) -> None:
    with pytest.raises(ValueError, match="scores are probabilities, 0 to 1"):
        roc(scores, [True])
    with pytest.raises(ValueError, match="2 scores for 2 labels"):
        roc([[0.1, 0.2]], [[True, False]])  # type: ignore[list-item]


def labels(seed: int, n: int, each: int, tied: bool) -> tuple[list[float], list[float], list[bool], list[str]]:
    """Scores of two judges of `n` prompts with so many labels each, alike within a prompt; some of them equal."""
    rng = np.random.default_rng(seed)
    y = rng.random(n * each) < 0.3
    shared, own = np.repeat(rng.normal(size=n), each), rng.normal(size=(2, n * each))
    one, other = 1 / (1 + np.exp(-(y + shared + own)))
    if tied:
        one, other = one.round(1), other.round(1)
    return one.tolist(), other.tolist(), y.tolist(), [f"p{i // each}" for i in range(n * each)]


def test_with_one_label_a_prompt_an_areas_interval_is_delongs() -> None:
    one, other, y, prompts = labels(0, 80, 1, tied=True)
    hits, others = ([s for s, t in zip(one, y, strict=True) if t is kind] for kind in (True, False))
    wins = np.array([[(a > b) + (a == b) / 2 for b in others] for a in hits])
    area, m, n = wins.mean(), len(hits), len(others)
    variance = wins.mean(1).var() / m + wins.mean(0).var() / n  # DeLong's, with m and n for m - 1 and n - 1
    found = area_interval(one, y, prompts)
    assert found is not None and found.high is not None and found.n == 80
    assert found.mean == pytest.approx(area) == pytest.approx(roc(one, y).auc)
    assert found.high - found.mean == pytest.approx(stats.t.ppf(0.975, 79) * np.sqrt(variance * 80 / 79))
    none = area_interval(one, y, prompts, one)
    assert none is not None and (none.mean, none.low, none.high) == (0, 0, 0)
    assert area_interval(one, [True] * 80, prompts) is None and area_interval(one, y, prompts, other) is not None


def test_no_area_of_few_prompts_is_told_beyond_0_and_1() -> None:
    one, other = [0.9, 0.5, 0.8, 0.3, 0.6, 0.4], [0.1, 0.3, 0.7, 0.8, 0.2, 0.3]
    told = [True, False, True, False, False, True], ["a", "a", "a", "b", "b", "b"]
    found, apart = area_interval(one, *told), area_interval(other, *told, one)
    assert found is not None and found.low is not None and found.low >= 0 and found.high == 1
    assert apart is not None and apart.low == -1


@pytest.mark.parametrize("tied", [False, True])
def test_an_areas_interval_is_that_of_prompts_drawn_again(tied: bool) -> None:
    one, other, y, prompts = labels(1, 150, 6, tied)
    rng, of = np.random.default_rng(2), np.array(prompts).reshape(150, 6)
    rows = np.arange(900).reshape(150, 6)
    assert (of[:, 0] == of[:, 5]).all()
    drawn = []
    for _ in range(600):
        again = rows[rng.integers(0, 150, 150)].ravel()
        truth = [y[i] for i in again]
        areas = [roc([scores[i] for i in again], truth).auc for scores in (one, other)]
        drawn.append((areas[0], (areas[0] or 0) - (areas[1] or 0)))
    spread = np.array(drawn, dtype=float).std(0)
    for found, expected in zip(
        (area_interval(one, y, prompts), area_interval(one, y, prompts, other)), spread, strict=True
    ):
        assert found is not None and found.high is not None
        assert (found.high - found.mean) / stats.t.ppf(0.975, 149) == pytest.approx(expected, rel=0.12)
