"""Training a judge: logistic regression over hidden states, and the ablations of appendix B. float64 throughout.

Registers: A1 (grid of C), A2 (max_iter 500, standard scaler), A3 (threshold). Dimension key: L labels, F features.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy import special
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from engine.analysis.intervals import Interval
from engine.analysis.judge import area_interval, recall_threshold, roc
from engine.errors import ConfigError, first_line

Matrix = npt.NDArray[np.float64]
Booleans = npt.NDArray[np.bool_]
Split = Literal["holdout", "folds"]
GRIDS: dict[str, tuple[float, ...]] = {
    "paper": tuple(10.0**-e for e in range(8)),
    "repo": (*(10.0 ** (-e / 2) for e in range(14, 0, -1)), 1.0, 3.0, 10.0, 50.0, 100.0),
}
SEED = 52  # of the split, as in the published code
FOLDS = 5


@dataclass(frozen=True, slots=True)
class Settings:
    """How to train: "holdout" validates on a tenth of the prompts, "folds" scores each prompt out of its fold."""

    split: Split = "folds"
    grid: str = "paper"
    recall: float = 0.9
    max_iter: int = 500
    seed: int = SEED
    balanced: bool = False  # weigh both classes alike; the paper does not


@dataclass(eq=False)
class Fit:
    """A trained line w . (x - mean) / scale + b, with the scores of labels that it had not seen; how C was chosen."""

    coef: Matrix  # [F], on standardised features
    intercept: float
    mean: Matrix
    scale: Matrix
    c: float
    threshold: float
    scores: list[float]  # p(important) of unseen labels
    truth: list[bool]
    auc_by_c: dict[str, float]
    auc: float
    intervals_by_c: dict[str, Interval | None] = field(default_factory=dict)  # of auc_by_c, over prompts

    @property
    def folded(self) -> tuple[Matrix, float]:
        """Weights and bias that take raw features."""
        weight = self.coef / self.scale
        return weight, self.intercept - float(weight @ self.mean)

    def one_sided(self, x_LF: Matrix) -> str:
        """What to know where the line treats all labels alike at its threshold; empty where it does not."""
        weight, bias = self.folded
        refused = special.expit(x_LF @ weight + bias) >= self.threshold
        if refused.any() and not refused.all():
            return ""
        return (
            f"At its threshold this judge {'refuses' if refused.any() else 'accepts'} each of the {len(refused)} swaps "
            "that it learnt from: the threshold is that of classifiers which had not seen the prompts held out, and "
            "from so few labels the one that is fitted to all gives other scores. Mine more prompts."
        )


def train(x_LF: Matrix, important: Sequence[bool], prompts: Sequence[str], settings: Settings | None = None) -> Fit:
    """Choose C by the ROC area on unseen prompts, set the threshold there, and refit on all labels.

    Raises:
        ConfigError: too few labels, one class only, or prompts that cannot be split so that both classes are seen.
    """
    settings = settings or Settings()
    x, y = np.asarray(x_LF, dtype=np.float64), np.asarray(important, dtype=bool)
    parts = splits(prompts, y, settings)
    held = np.concatenate([test for _, test in parts])
    truth, names = y[held].tolist(), [prompts[row] for row in held]
    scores = {c: _unseen(lambda c=c: logistic(c, settings), x, y, parts) for c in GRIDS[settings.grid]}
    areas = {c: _area(scores[c], y[held]) for c in scores}
    best = max(scores, key=lambda c: (areas[c], -c))
    fitted = logistic(best, settings).fit(x, y)
    scaler, line = fitted[0], fitted[1]
    return Fit(
        coef=line.coef_[0],
        intercept=float(line.intercept_[0]),
        mean=scaler.mean_,
        scale=scaler.scale_,
        c=best,
        threshold=recall_threshold(scores[best], truth, settings.recall),
        scores=scores[best],
        truth=truth,
        auc_by_c={f"{c:.3g}": area for c, area in areas.items()},
        auc=areas[best],
        intervals_by_c={f"{c:.3g}": area_interval(scores[c], truth, names) for c in scores},
    )


def scores_of(
    model: str, x_LF: Matrix, important: Sequence[bool], prompts: Sequence[str], c: float, settings: Settings
) -> list[float]:
    """P(important) of unseen labels, in the order of `unseen`, by one kind of classifier: "logistic" with this C,
    "forest", or "mlp" (appendix B).

    Raises:
        ConfigError: too few labels for it.
    """
    makers = {
        "logistic": lambda: logistic(c, settings),
        "forest": lambda: forest(settings),
        "mlp": lambda: mlp(settings),
    }
    x, y = np.asarray(x_LF, dtype=np.float64), np.asarray(important, dtype=bool)
    parts = splits(prompts, y, settings)
    try:
        return _unseen(makers[model], x, y, parts)
    except ValueError as error:  # an early stop needs labels of both classes to spare
        raise ConfigError(
            f"{len(y)} labels are too few for the ablation {model!r}: {first_line(error)} Mine more, or leave it out."
        ) from None


def unseen(important: Sequence[bool], prompts: Sequence[str], settings: Settings) -> list[int]:
    """The labels that some part of the split holds back, in the order in which they are scored."""
    parts = splits(prompts, np.asarray(important, dtype=bool), settings)
    return [int(row) for _, test in parts for row in test]


def logistic(c: float, settings: Settings) -> Pipeline:
    """Standardised logistic regression with L2 penalty 1/C."""
    weights = "balanced" if settings.balanced else None
    return make_pipeline(StandardScaler(), LogisticRegression(C=c, max_iter=settings.max_iter, class_weight=weights))


def forest(settings: Settings) -> Pipeline:
    """128 trees with at least a thousandth of the labels in a leaf."""
    return make_pipeline(
        StandardScaler(), RandomForestClassifier(128, min_samples_leaf=0.001, random_state=settings.seed, n_jobs=1)
    )


def mlp(settings: Settings) -> Pipeline:
    """One hidden layer of 128, stopped early on a tenth of the training labels."""
    return make_pipeline(StandardScaler(), MLPClassifier((128,), early_stopping=True, random_state=settings.seed))


def splits(
    prompts: Sequence[str], y: Booleans, settings: Settings
) -> list[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]]:
    """(training rows, unseen rows) of each part; all labels of a prompt are on one side.

    Raises:
        ConfigError: a part would not hold both classes to learn from.
    """
    names = np.asarray(prompts)
    unique = np.array(sorted(set(prompts)))
    order = np.random.default_rng(settings.seed).permutation(unique)
    count = min(FOLDS, len(order)) if settings.split == "folds" else 1
    held = (
        [order[k::FOLDS] for k in range(count)]
        if settings.split == "folds"
        else [order[: max(1, round(len(order) / 10))]]
    )
    parts = []
    for group in held:
        out = np.isin(names, group)
        parts.append((np.flatnonzero(~out), np.flatnonzero(out)))
    unseen = np.concatenate([test for _, test in parts]) if parts else np.array([], dtype=np.int64)
    if len(order) < 2 or any(len(set(y[train].tolist())) < 2 for train, _ in parts) or len(set(y[unseen].tolist())) < 2:
        raise ConfigError(
            f"{len(y)} labels of {len(order)} prompts, {int(y.sum())} of them important: too few to learn from and to "
            "check. Mine more."
        )
    return parts


def _unseen(make: Any, x: Matrix, y: Booleans, parts: Any) -> list[float]:
    scores: list[float] = []
    for rows, test in parts:
        if len(test):
            scores += make().fit(x[rows], y[rows]).predict_proba(x[test])[:, 1].tolist()
    return scores


def _area(scores: Sequence[float], truth: Booleans) -> float:
    area = roc(scores, truth.tolist()).auc
    assert area is not None  # splits() made sure that both classes are there
    return area
