"""Accuracy against accepted tokens on held-out problems: AutoJudge at several thresholds, top-K, the math rules, SD.

Every number comes from the ordinary loop run on every problem; equal passes are shared between settings (`memo`), so
the times are not reported. Greedy: SD gives the target's own text, and its accuracy is the target's.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol

from engine.analysis.intervals import mean_interval
from engine.analysis.judge import accuracy, mean_gap, share_above
from engine.judge.memo import MemoModel
from engine.tasks.problem import Problem
from engine.trace.store import Trace

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


@dataclass(eq=False)
class Score:
    """What one setting did on all problems, in their order."""

    setting: Setting
    correct: list[bool] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)
    accepted: list[int] = field(default_factory=list)  # drafted tokens kept
    calls: list[int] = field(default_factory=list)
    same: list[bool] = field(default_factory=list)  # the text is SD's

    @property
    def tau(self) -> float:
        """Tokens a target call, over all problems together."""
        return sum(self.tokens) / max(sum(self.calls), 1)

    @property
    def point(self) -> tuple[float, float]:
        """(tokens a call, accuracy)."""
        return self.tau, sum(self.correct) / max(len(self.correct), 1)


def settings(
    window: int,
    thresholds: Sequence[float],
    judge: str,
    other: tuple[str, Sequence[float]] | None,
    ks: Sequence[int] = TOP_K,
    safer: Mapping[str, float] | None = None,
) -> list[Setting]:
    """SD, target and draft alone, AutoJudge at its own and further thresholds, another task's judge, top-K, math rules.

    The draft alone is a judge that keeps everything without a bonus token; it makes no target call of its own, so that
    its tokens a call mean nothing. `safer` names thresholds of higher recall, for the table; they are no part of the
    curves.
    """
    base: dict[str, Any] = {"gamma": window}
    all_kept = base | {"judge": judge, "judge_threshold": 1.01, "bonus": False}
    found = [Setting("sd", "exact", "sd", base)]
    for recall, t in (safer or {}).items():
        found.append(
            Setting(f"autojudge ({recall} recall)", "safer", "autojudge", base | {"judge": judge, "judge_threshold": t})
        )
    for group, (name, swept) in {"own": (judge, thresholds), **({"transfer": other} if other else {})}.items():
        words, knobs = "autojudge" if group == "own" else group, base | {"judge": name}
        found.append(Setting(f"{words} (90 % recall)", group, "autojudge", knobs))
        found += [Setting(f"{words} {t:.4f}", group, "autojudge", knobs | {"judge_threshold": t}) for t in swept]
    found += [Setting(f"top-{k}", "topk", "topk_lossy", base | {"accept_k": k}) for k in ks]
    math = {"math only": 0, "math & top-4": 4, "math & top-16": 16}
    found += [Setting(name, "math", "math_rule", base | {"math_k": k}) for name, k in math.items()]
    alone = [Setting("target alone", "target", "ar"), Setting("draft alone", "draft", "autojudge", all_kept)]
    return [*found, *alone]


Line = list[list[int]]  # one problem: per setting correct, tokens, accepted, calls, same text


def evaluate(
    lab: Runs,
    found: Sequence[Setting],
    problem: Problem,
    score: Callable[[Problem, str], float],
    memories: Sequence[MemoModel],
    max_new_tokens: int,
) -> Line:
    """All settings on one problem, in their order. The first setting must be SD."""
    known: dict[str, int] = {}
    first, line = None, []
    for s in found:
        trace = lab.run(s.method, problem.prompt, record="light", max_new_tokens=max_new_tokens, **s.knobs)
        numbers, text = trace.metrics(), trace.text
        first = text if first is None else first
        if text not in known:
            known[text] = int(score(problem, text) >= 1)
        line.append(
            [known[text], int(numbers["tokens"]), int(numbers["accepted"]), int(numbers["rounds"]), int(text == first)]
        )
    for memory in memories:
        memory.forget()
    return line


def collect(found: Sequence[Setting], lines: Sequence[Line]) -> list[Score]:
    """The scores of all settings over the problems done."""
    scores = []
    for i, setting in enumerate(found):
        columns = list(zip(*(line[i] for line in lines), strict=True)) or [()] * 5
        correct, tokens, accepted, calls, same = (list(column) for column in columns)
        scores.append(Score(setting, [bool(c) for c in correct], tokens, accepted, calls, [bool(c) for c in same]))
    return scores


def report(scores: Sequence[Score]) -> dict[str, Any]:
    """All rows with their intervals, and the three claims about them, as JSON types."""
    sd = scores[0]
    rows = [_row(score, sd) for score in scores]
    own, transfer, topk = (_curve(scores, group) for group in ("own", "transfer", "topk"))
    start = [sd.point]
    return {
        "problems": len(sd.correct),
        "groups": GROUPS,
        "rows": rows,
        "above_topk": share_above(start + own, start + topk),
        "gap_to_topk": mean_gap(start + own, start + topk),
        "above_transfer": share_above(start + own, start + transfer) if transfer else None,
        "gap_to_transfer": mean_gap(start + own, start + transfer) if transfer else None,
    }


def _curve(scores: Sequence[Score], group: str) -> list[tuple[float, float]]:
    return [score.point for score in scores if score.setting.group == group]


def _row(score: Score, sd: Score) -> dict[str, Any]:
    drops = [float(a) - float(b) for a, b in zip(sd.correct, score.correct, strict=True)]
    share, drop = accuracy(score.correct), mean_interval(drops, kind="bootstrap")
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
        "tokens_per_call_by_problem": _interval(
            mean_interval([t / c for t, c in zip(score.tokens, score.calls, strict=True)])
        ),
        "accuracy": _interval(share),
        "accuracy_drop": _interval(drop),
        "same_text_as_sd": sum(score.same) / max(len(score.same), 1),
    }


def _interval(found: Any) -> dict[str, Any] | None:
    return None if found is None else asdict(found)


def table(task: str, result: Mapping[str, Any]) -> str:
    """The rows as Markdown."""
    lines = [
        f"| {task} | tokens a target call | accuracy | drop against SD, 95 % interval | same text |",
        "|---|--:|--:|--:|--:|",
    ]
    for row in result["rows"]:
        share, drop = percents(row["accuracy"]), percents(row["accuracy_drop"], "+")
        lines.append(
            f"| {row['name']} | {row['tokens_per_call']:.2f} | {share} | {drop} | {row['same_text_as_sd']:.0%} |"
        )
    return "\n".join(lines)


def percents(found: Mapping[str, Any] | None, sign: str = "") -> str:
    """An interval in per cent, "50.0% (40.0% to 60.0%)"; its mean alone where there are no bounds."""
    if found is None:
        return "-"
    mean = f"{found['mean']:{sign}.1%}"
    return mean if found["low"] is None else f"{mean} ({found['low']:{sign}.1%} to {found['high']:{sign}.1%})"
