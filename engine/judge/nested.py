"""What judges of this recipe are worth on prompts by which nothing of them was chosen: nested folds (register A1, A3).

Each fifth of the prompts is scored by a judge that was made without it: its C and its threshold are chosen within the
other four, on the split that `train` has. Dimension key: L labels, F features.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

from engine.analysis.intervals import Interval, as_json, clustered_share
from engine.analysis.judge import area_interval
from engine.errors import ConfigError
from engine.judge.classifier import Matrix, Settings, splits, train


@dataclass(frozen=True, slots=True)
class Nested:
    """Estimates with their intervals over prompts, and the C of each fold."""

    area: Interval
    recall: Interval  # of important swaps, at each fold's own threshold
    kept_unimportant: Interval  # unimportant swaps accepted there
    c: tuple[float, ...]

    def as_json(self) -> dict[str, Any]:
        """The same in JSON types."""
        shares = {name: as_json(getattr(self, name)) for name in ("area", "recall", "kept_unimportant")}
        return {**shares, "c": list(self.c)}


def nested(x_LF: Matrix, important: Sequence[bool], prompts: Sequence[str], settings: Settings) -> Nested:
    """Estimate area, recall and accepted swaps of a judge that is trained so. Scores of all folds are pooled.

    Raises:
        ConfigError: too few labels or prompts to choose within four fifths of them.
    """
    y, names = np.asarray(important, dtype=bool), np.asarray(prompts)
    scores, refused, held, chosen = list[float](), list[bool](), list[int](), list[float]()
    for rows, test in splits(prompts, y, Settings("folds", seed=settings.seed)):
        try:
            inner = train(x_LF[rows], y[rows].tolist(), names[rows].tolist(), settings)
        except ConfigError as error:
            raise ConfigError(f"Nested folds choose within four fifths of the prompts, and there: {error}") from None
        chosen.append(inner.c)
        weight, bias = inner.folded  # fitted to all of the four fifths
        own = special.expit(x_LF[test] @ weight + bias).tolist()
        scores += own
        refused += [score >= inner.threshold for score in own]
        held += test.tolist()
    truth, of = y[held], names[held].tolist()
    area = area_interval(scores, truth.tolist(), of)
    recall = _share(refused, truth, of)
    kept = _share([not one for one in refused], ~truth, of)
    assert area and recall and kept  # splits() made sure that both classes are there
    return Nested(area, recall, kept, tuple(chosen))


def _share(hits: Sequence[bool], among: Any, prompts: Sequence[str]) -> Interval | None:
    """The share of hits among some labels, prompts being independent."""
    rows: dict[str, tuple[int, int]] = {}
    for hit, counts, name in zip(hits, among.tolist(), prompts, strict=True):
        if counts:
            found, n = rows.get(name, (0, 0))
            rows[name] = (found + hit, n + 1)
    return clustered_share(rows.values())
