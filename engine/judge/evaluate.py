"""Accuracy against accepted tokens on held-out problems: AutoJudge at several thresholds, top-K, the math rules, SD.

Every number comes from the ordinary loop run on every problem. Equal passes may be shared between settings (`memo`);
times are reported only where they are not. Greedy: SD gives the target's own text, and its accuracy is the target's.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from engine.analysis.intervals import (
    as_json,
    drawn_interval,
    estimate_interval,
    gap_interval,
    mean_interval,
    speedup_interval,
    within,
)
from engine.analysis.judge import Curve, accuracy, mean_gap, share_above
from engine.analysis.quality import APART, POINTS
from engine.analysis.words import estimate, points
from engine.judge.memo import MemoModel
from engine.tasks.problem import Problem
from engine.tasks.references import bleu_of
from engine.trace.store import Trace, sound

TOP_K = (2, 3, 4, 8, 16, 64)
GROUPS = {
    "exact": "SD",
    "target": "Target alone",
    "draft": "Draft alone",
    "own": "AutoJudge",
    "safer": "AutoJudge, higher recall",
    "transfer": "AutoJudge, other task's judge",
    "topk": "Top-K",
    "math": "Math rules",
}


class Runs(Protocol):
    """What evaluation needs of a Lab."""

    def run(self, method: str, prompt: str, **options: Any) -> Trace:
        """One whole run."""


@dataclass(frozen=True)
class Setting:
    """One method with its knobs, under the name that it has in the results."""

    name: str
    group: str  # see GROUPS
    method: str
    knobs: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Family:
    """What a judged method is set against: others with the same drafts, by the rule that they have instead."""

    exact: str
    top_k: str
    math: str
    trunk: bool  # drafts are one trunk of an EAGLE head, which counts its root (appendix J)

    def knobs(self, window: int) -> dict[str, Any]:
        """The knobs that give drafts of one window."""
        trunk = {"tree_top_k": 1, "depth": window - 1, "total_token": window}
        return trunk if self.trunk else {"gamma": window}


FAMILIES = {
    "autojudge": Family("sd", "topk_lossy", "math_rule", trunk=False),
    "autojudge_eagle": Family("eagle2", "eagle2+dynamic_tree+top_k", "eagle2+dynamic_tree+math", trunk=True),
}


@dataclass(eq=False)
class Score:
    """What one setting did on all problems, in their order."""

    setting: Setting
    correct: list[bool] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)
    accepted: list[int] = field(default_factory=list)  # draft tokens accepted
    calls: list[int] = field(default_factory=list)
    same: list[bool] = field(default_factory=list)  # the text is the exact method's
    seconds: list[float] = field(default_factory=list)  # of decoding; 0 where passes were shared
    counts: list[list[int]] = field(default_factory=list)  # of which BLEU is made, where texts are translations

    @property
    def tau(self) -> float:
        """Tokens a target call, over all problems together; 0 where the target was never called."""
        return sum(self.tokens) / sum(self.calls) if any(self.calls) else 0.0


def settings(
    window: int,
    thresholds: Sequence[float],
    judge: str,
    other: tuple[str, Sequence[float]] | None,
    ks: Sequence[int] = TOP_K,
    safer: Mapping[str, float] | None = None,
    method: str = "autojudge",
    math: bool = True,
) -> list[Setting]:
    """The exact method, target and draft alone, AutoJudge at its own and further thresholds, another task's judge,
    top-K, math rules (unless told not to); `method` is one of `FAMILIES`, and all draft alike.

    `safer` names thresholds of higher recall, for the table; they are no part of the curves.
    """
    family = FAMILIES[method]
    base = family.knobs(window)
    found = [Setting(family.exact, "exact", family.exact, base)]
    for recall, t in (safer or {}).items():
        found.append(
            Setting(f"autojudge ({recall} recall)", "safer", method, base | {"judge": judge, "judge_threshold": t})
        )
    for group, (name, swept) in {"own": (judge, thresholds), **({"transfer": other} if other else {})}.items():
        words, knobs = "autojudge" if group == "own" else group, base | {"judge": name}
        found.append(Setting(f"{words} (90 % recall)", group, method, knobs))
        found += [
            Setting(f"{words} {told}", group, method, knobs | {"judge_threshold": t})
            for t, told in zip(swept, _apart(swept), strict=True)
        ]
    found += [Setting(f"top-{k}", "topk", family.top_k, base | {"accept_k": k}) for k in ks]
    rules = {"math only": 0, "math & top-4": 4, "math & top-16": 16} if math else {}
    found += [Setting(name, "math", family.math, base | {"math_k": k}) for name, k in rules.items()]
    found.append(Setting("target alone", "target", "ar"))
    return [*found, Setting("draft alone", "draft", "draft_alone")] if not family.trunk else found


def _apart(thresholds: Sequence[float]) -> list[str]:
    """Thresholds with four decimals, or as many as tell them apart: they name what their settings gave."""
    told = ([f"{t:.{digits}f}" for t in thresholds] for digits in (4, 5, 6))
    return next((names for names in told if len(set(names)) == len(names)), [str(t) for t in thresholds])


# One problem: per setting correct, tokens, accepted, calls, same text, microseconds, and counts of a translation.
Line = list[list[int]]
PLAIN = 6  # numbers before the counts


def evaluate(
    lab: Runs,
    found: Sequence[Setting],
    problem: Problem,
    score: Callable[[Problem, str], float],
    memories: Sequence[MemoModel],
    counts: Callable[[Problem, str], list[int]] = lambda problem, text: [],
    **decoding: Any,
) -> Line:
    """All settings on one problem, in their order. The first setting must be the exact method.

    With `memories` passes are shared, and times, which would mean nothing, are 0. `counts` are those of a translation.

    Raises:
        EngineFault: a run failed.
    """
    known: dict[str, int] = {}
    first, line = None, []
    for s in found:
        trace = sound(lab.run(s.method, problem.prompt, record="light", **decoding, **s.knobs), s.name)
        numbers, text = trace.metrics(), trace.text
        first = text if first is None else first
        if text not in known:
            known[text] = int(score(problem, text) >= 1)
        spent = 0.0 if memories else numbers["draft_s"] + numbers["verify_s"] + numbers["other_s"]
        row = [known[text], *(int(numbers[name]) for name in ("tokens", "accepted", "rounds"))]
        line.append([*row, int(text == first), round(1e6 * spent), *counts(problem, text)])
    for memory in memories:
        memory.forget()
    return line


def collect(found: Sequence[Setting], lines: Sequence[Line]) -> list[Score]:
    """The scores of all settings over the problems done."""
    scores = []
    for i, setting in enumerate(found):
        rows = [line[i] for line in lines]
        columns = list(zip(*(row[:PLAIN] for row in rows), strict=True)) or [()] * PLAIN
        correct, tokens, accepted, calls, same, spent = (list(column) for column in columns)
        right, alike = [bool(c) for c in correct], [bool(c) for c in same]
        counts = [row[PLAIN:] for row in rows if row[PLAIN:]]
        scores.append(Score(setting, right, tokens, accepted, calls, alike, [us / 1e6 for us in spent], counts))
    return scores


def report(scores: Sequence[Score]) -> dict[str, Any]:
    """All rows with their intervals, and the three claims about them, as JSON types."""
    sd = scores[0]
    plain = next((score for score in scores if score.setting.group == "target"), sd)
    rows = [_row(score, sd) | _translated(score, sd) | _speed(score, plain) for score in scores]
    return {
        "problems": len(sd.correct),
        "groups": GROUPS,
        "rows": rows,
        "above_topk": _against(scores, "topk", share_above),
        "gap_to_topk": _against(scores, "topk", mean_gap),
        "above_transfer": _against(scores, "transfer", share_above),
        "gap_to_transfer": _against(scores, "transfer", mean_gap),
    }


def _against(
    scores: Sequence[Score], group: str, measure: Callable[[Curve, Curve], float | None]
) -> dict[str, Any] | None:
    """The judge's curve of (tokens a call, accuracy) against another group's, both from the exact method's point on,
    with an interval over problems; None without the group or a range that both share."""
    own = [score for score in scores if score.setting.group in ("exact", "own")]
    other = [score for score in scores if score.setting.group in ("exact", group)]
    if len(other) < 2:
        return None
    numbers = [column for score in (*own, *other) for column in (score.tokens, score.calls, score.correct)]
    columns: NDArray[Any] = np.array([np.ones(len(scores[0].correct)), *numbers], dtype=np.float64)

    def points(sums: NDArray[Any]) -> Curve:
        n, *rest = sums.tolist()
        return [(t / c if c else 0.0, right / n) for t, c, right in zip(*(rest[i::3] for i in range(3)), strict=True)]

    def measured(sums: NDArray[Any]) -> NDArray[Any]:
        curves = [points(row) for row in np.atleast_2d(sums)]
        found = [measure(curve[: len(own)], curve[len(own) :]) for curve in curves]
        return np.array([np.nan if one is None else one for one in found]).reshape(sums.shape[:-1])

    return as_json(drawn_interval(columns.T.tolist(), measured))


def _row(score: Score, sd: Score) -> dict[str, Any]:
    drops = [float(a) - float(b) for a, b in zip(sd.correct, score.correct, strict=True)]
    share, drop = accuracy(score.correct), None if score is sd else gap_interval(drops)
    setting, calls = score.setting, sum(score.calls)
    return {
        "name": setting.name,
        "group": setting.group,
        "method": setting.method,
        "knobs": dict(setting.knobs),
        "calls": calls,
        "tokens": sum(score.tokens),
        "tokens_per_call": score.tau,
        "accepted_per_call": sum(score.accepted) / max(calls, 1),
        "tokens_per_call_by_problem": as_json(
            mean_interval([t / c for t, c in zip(score.tokens, score.calls, strict=True) if c])
        ),
        "accuracy": as_json(share),
        "accuracy_drop": as_json(drop),
        "same_text_as_sd": sum(score.same) / max(len(score.same), 1),
    }


def _translated(score: Score, sd: Score) -> dict[str, Any]:
    """BLEU, and what of SD's is lost, with intervals over problems: none for SD itself; nothing where texts are no
    translations."""
    if not score.counts:
        return {}
    own = {"bleu": as_json(within(estimate_interval(score.counts, bleu_of), *POINTS))}
    if score is sd:
        return own | {"bleu_drop": None}
    both = [[*ours, *theirs] for ours, theirs in zip(score.counts, sd.counts, strict=True)]
    width = len(score.counts[0])
    lost = estimate_interval(both, lambda sums: bleu_of(sums[..., width:]) - bleu_of(sums[..., :width]))
    return own | {"bleu_drop": as_json(within(lost, *APART))}


def _speed(score: Score, plain: Score) -> dict[str, Any]:
    """Tokens a second and their quotient by plain decoding's, where times were taken."""
    if not all(score.seconds) or not score.seconds or not all(plain.seconds):
        return {}
    rows = list(zip(score.tokens, score.seconds, plain.tokens, plain.seconds, strict=True))
    return {"tokens_per_s": sum(score.tokens) / sum(score.seconds), "speedup": as_json(speedup_interval(rows))}


def table(task: str, result: Mapping[str, Any]) -> str:
    """The rows as Markdown; BLEU of translations, and speeds where times were taken."""
    rows: Sequence[Mapping[str, Any]] = result["rows"]
    drop = f"drop against {rows[0]['name'].upper()}"
    columns: dict[str, Callable[[Mapping[str, Any]], str]] = {
        "tokens a target call": lambda row: f"{row['tokens_per_call']:.2f}" if row["calls"] else "-",
        "accuracy": lambda row: estimate(row["accuracy"], ".1%"),
        f"{drop}, points, 95 % interval": lambda row: points(row["accuracy_drop"], "+.1f"),
    }
    if any(row.get("bleu") for row in rows):
        columns |= {
            "BLEU": lambda row: estimate(row.get("bleu"), ".1f"),
            f"BLEU's {drop}, 95 % interval": lambda row: estimate(row.get("bleu_drop"), "+.1f"),
        }
    columns["same text"] = lambda row: f"{row['same_text_as_sd']:.0%}"
    if any(row.get("speedup") for row in rows):
        columns["tokens/s against the target alone"] = lambda row: estimate(row.get("speedup"), ".2f")
    lines = [f"| {' | '.join([task, *columns])} |", f"|---|{'--:|' * len(columns)}"]
    lines += [f"| {' | '.join([row['name'], *(cell(row) for cell in columns.values())])} |" for row in rows]
    return "\n".join(lines)
