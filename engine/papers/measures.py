"""Measures of recorded runs by name, each an estimate with its 95 % interval over prompts."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.analysis.intervals import Interval, estimate_interval, mean_interval, within
from engine.analysis.quality import Responses, quality_of
from engine.errors import ConfigError, unknown
from engine.papers.records import Record, Records
from engine.tasks.references import ROUGE

Sums = NDArray[Any]
Ratio = Callable[[Sums], Sums]
RATIOS: Mapping[str, tuple[tuple[str, ...], Ratio]] = {  # columns that are summed, and what is made of the sums
    "tau": (("tokens", "calls"), lambda s: s[..., 0] / s[..., 1]),
    "accepted_per_call": (("accepted", "calls"), lambda s: s[..., 0] / s[..., 1]),
    "accept_rate": (("accepted", "drafted"), lambda s: s[..., 0] / s[..., 1]),
    "fed_per_token": (("fed", "tokens"), lambda s: s[..., 0] / s[..., 1]),
    "penalised_rate": (("penalised", "tokens"), lambda s: 100 * s[..., 0] / s[..., 1]),
    "tokens_per_s": (("tokens", "ms"), lambda s: 1e3 * s[..., 0] / s[..., 1]),
    "draft_ms_per_call": (("draft_ms", "calls"), lambda s: s[..., 0] / s[..., 1]),
}
MOST = {"accept_rate": 1.0, "penalised_rate": 100.0}  # of shares
VOTED = "voted"  # right answers: of the vote where a prompt has several responses, else of the one
MEANS = {"calls_each": "calls", "fed_each": "fed"}
QUALITY = (
    "response_tokens",
    "accuracy",
    "majority",
    "bleu",
    "bleu_to_ar",
    "chrf",
    *ROUGE,
    "same_as_ar",
)
DIFFERENCE, QUOTIENT = "_difference", "_quotient"
NAMES = (
    VOTED,
    *QUALITY,
    *(f"{name}{DIFFERENCE}" for name in ("response_tokens", "accuracy", "majority", "bleu", "chrf", *ROUGE)),
    "bleu_to_ar_difference",
    *MEANS,
    *RATIOS,
    *(f"{name}{end}" for name in RATIOS for end in (DIFFERENCE, QUOTIENT)),
    *(f"{name}{QUOTIENT}" for name in MEANS),
)


def measured(found: Records, name: str, of: str, against: str, task: str) -> Interval | None:
    """A measure of the runs `of` on a task; `_difference` and `_quotient` are paired, against the runs `against`.

    None where these runs do not have it: a column that was not kept, runs that are missing, an empty sum.

    Raises:
        ConfigError: no such measure.
    """
    if name not in NAMES:
        raise ConfigError(unknown("measure", name, NAMES))
    if (task, of) not in found.by_name or (against and (task, against) not in found.by_name):
        return None
    if name == VOTED:
        name = "majority" if found.by_name[task, of].repeats > 1 else "accuracy"
    base = name.removesuffix(DIFFERENCE).removesuffix(QUOTIENT)
    if base in RATIOS or base in MEANS:
        ours = found.by_name[task, of]
        return _counted(ours, found.by_name[task, against] if against else None, name, base)
    responses = found.responses(task, of)
    other = found.responses(task, against) if against else {}
    if base == "bleu_to_ar":
        return _to_plain(found, name, responses, other, task)
    return quality_of(responses, other, {task}).get(name)


def _counted(ours: Record, other: Record | None, name: str, base: str) -> Interval | None:
    columns, ratio = RATIOS.get(base, ((MEANS.get(base, ""),), lambda s: s[..., 0]))
    mine, most = _sums(ours, columns), MOST.get(base, math.inf)
    if mine is None:
        return None
    if base == name:
        if base in RATIOS:
            return within(estimate_interval(mine, ratio, positive=True), 0.0, most)
        return mean_interval([row[0] for row in mine], positive=True)
    theirs = None if other is None else _sums(other, columns)
    if theirs is None or len(theirs) != len(mine):
        return None
    k = len(columns)
    joined = [[*a, *b] for a, b in zip(mine, theirs, strict=True)]
    if name.endswith(DIFFERENCE):
        return within(estimate_interval(joined, lambda s: ratio(s[..., :k]) - ratio(s[..., k:])), -most, most)
    return estimate_interval(joined, lambda s: ratio(s[..., :k]) / ratio(s[..., k:]), positive=True)


def _sums(one: Record, columns: Sequence[str]) -> list[list[float]] | None:
    """Counts of a prompt's repeats together: a row a prompt."""
    values = [getattr(one, name) for name in columns]
    if any(value is None for value in values):
        return None
    found: list[list[float]] = np.array(values, float).T.reshape(-1, one.repeats, len(columns)).sum(1).tolist()
    return found


def _to_plain(found: Records, name: str, ours: Responses, other: Responses, task: str) -> Interval | None:
    """BLEU with the outputs of `ar` as references: CM-ASD's table V, "relative BLEU"."""
    if (task, "ar") not in found.by_name:
        return None
    plain = [one.text for one in found.responses(task, "ar").values()]
    told = quality_of(_retold(ours, plain), _retold(other, plain), {task})
    return told.get(name.replace("bleu_to_ar", "bleu"))


def _retold(given: Responses, references: Sequence[str]) -> Responses:
    return {
        name: replace(one, reference=reference)
        for (name, one), reference in zip(given.items(), references, strict=bool(given))
    }
