"""Training: split by prompt, choice of C, threshold, and the folded weights."""

from dataclasses import replace
from typing import Literal

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from engine.errors import ConfigError
from engine.judge.classifier import GRIDS, Settings, logistic, scores_of, splits, train, unseen

RNG = np.random.default_rng(0)
PROMPTS = [f"p{i // 6}" for i in range(360)]
X = RNG.normal(size=(360, 10)) * np.linspace(0.1, 30, 10) + 5
LINE = (X[:, 2] - 5) / X[:, 2].std() - (X[:, 7] - 5) / X[:, 7].std()
Y = LINE + 0.6 * RNG.normal(size=360) > 0.8


@pytest.mark.parametrize("split", ["folds", "holdout"])
def test_a_line_is_found_and_folded(split: Literal["folds", "holdout"]) -> None:
    fit = train(X, Y.tolist(), PROMPTS, Settings(split))
    assert fit.auc > 0.9 and fit.auc == pytest.approx(roc_auc_score(fit.truth, fit.scores))
    assert len(fit.scores) == (360 if split == "folds" else 36)
    weight, bias = fit.folded
    again = logistic(fit.c, Settings()).fit(X, Y).predict_proba(X)[:, 1]
    np.testing.assert_allclose(1 / (1 + np.exp(-(X @ weight + bias))), again, atol=1e-9)
    refused = np.array(fit.scores) >= fit.threshold
    assert refused[np.array(fit.truth)].mean() >= 0.9
    tighter = np.array(fit.scores) > fit.threshold
    assert tighter[np.array(fit.truth)].mean() < 0.9


def test_a_judge_that_treats_all_swaps_alike_is_told() -> None:
    """With few labels the share of important ones is another in all of them than in those of the split, and a line that
    hardly leans gives that share to every swap: its threshold had been below all of its scores, without a word."""
    fit = train(X, Y.tolist(), PROMPTS)
    assert fit.one_sided(X) == ""
    level = replace(fit, coef=fit.coef * 0, intercept=-2.0)
    for threshold, does in ((0.1, "refuses"), (0.2, "accepts")):
        told = replace(level, threshold=threshold).one_sided(X)
        assert told.startswith(f"At its threshold this judge {does} each of the 360 swaps")


def test_the_defaults_are_those_of_the_paper_and_its_code() -> None:
    """A1 to A3: decades of C, at most 500 steps, a recall of 0.9; classes unweighted, the code's seed."""
    assert Settings() == Settings("folds", "paper", recall=0.9, max_iter=500, seed=52, balanced=False)


def test_c_has_the_largest_area_and_is_the_smallest_of_those() -> None:
    rng = np.random.default_rng(0)
    many = rng.normal(size=(120, 40))  # of which one tells something
    fit = train(many, (many[:, 0] + 2 * rng.normal(size=120) > 0).tolist(), PROMPTS[:120])
    assert fit.auc == max(fit.auc_by_c.values()) == fit.auc_by_c[f"{fit.c:.3g}"] > fit.auc_by_c["1"]
    alike = train(X[:, :1], (X[:, 0] > 5).tolist(), PROMPTS, Settings("holdout"))  # one feature that tells all
    assert set(alike.auc_by_c.values()) == {1.0} and alike.c == min(GRIDS["paper"])


@pytest.mark.parametrize("split", ["folds", "holdout"])
def test_prompts_are_never_on_both_sides(split: Literal["folds", "holdout"]) -> None:
    names = np.array(PROMPTS)
    parts = splits(PROMPTS, Y, Settings(split))
    assert len(parts) == (5 if split == "folds" else 1)
    for rows, test in parts:
        assert not set(names[rows]) & set(names[test]) and len(rows) + len(test) == 360
    if split == "folds":
        assert sorted(np.concatenate([test for _, test in parts])) == list(range(360))


def test_what_a_prompt_gives_away_is_not_learned() -> None:
    """Labels that are constant within a prompt, and features that name the prompt: nothing transfers to others."""
    rng = np.random.default_rng(1)
    of = {f"p{i}": rng.random() < 0.5 for i in range(60)}
    y = np.array([of[p] for p in PROMPTS])
    x = np.stack([np.eye(60)[int(p[1:])] for p in PROMPTS])
    assert abs(train(x, y.tolist(), PROMPTS, Settings()).auc - 0.5) < 0.2


def test_grids() -> None:
    assert GRIDS["paper"] == pytest.approx([10.0**-e for e in range(8)])
    assert len(GRIDS["repo"]) == 19 and GRIDS["repo"][0] == pytest.approx(1e-7) and GRIDS["repo"][-1] == 100
    assert GRIDS["repo"][13] == pytest.approx(10**-0.5)
    assert len(train(X, Y.tolist(), PROMPTS, Settings(grid="repo", max_iter=50)).auc_by_c) == 19


@pytest.mark.parametrize("model", ["logistic", "forest", "mlp"])
def test_other_classifiers_learn_too(model: str) -> None:
    rng = np.random.default_rng(2)
    x = rng.normal(size=(1500, 4))
    y = x[:, 0] + x[:, 1] > 0.3
    told = y.tolist(), [f"p{i // 5}" for i in range(1500)]
    rows, scores = unseen(*told, Settings("holdout")), scores_of(model, x, *told, 0.1, Settings("holdout"))
    assert len(rows) == len(set(rows)) == len(scores) == 150 and roc_auc_score(y[rows], scores) > 0.85


def test_areas_have_intervals_over_prompts() -> None:
    fit = train(X, Y.tolist(), PROMPTS, Settings())
    assert fit.intervals_by_c.keys() == fit.auc_by_c.keys()
    for c, found in fit.intervals_by_c.items():
        assert found is not None and found.mean == pytest.approx(fit.auc_by_c[c]) and found.n == 60
        assert found.low is not None and found.high is not None and found.low < found.mean < found.high


def test_too_little_to_learn_from_is_refused() -> None:
    for rows, y in ((360, [False] * 360), (360, [True] + [False] * 359), (6, [True, False] * 3)):
        with pytest.raises(ConfigError, match="too few"):
            train(X[:rows], y, PROMPTS[:rows], Settings())
