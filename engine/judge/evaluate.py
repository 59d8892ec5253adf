"""Accuracy against accepted tokens on held-out problems: AutoJudge at several thresholds, top-K, the math rules, SD.

Every number comes from the ordinary loop run on every problem. Equal passes may be shared between settings (`memo`);
times are reported only where they are not. Greedy: SD gives the target's own text, and its accuracy is the target's.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol

from engine.analysis.intervals import mean_interval, speedup_interval
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

    @property
    def tau(self) -> float:
        """Tokens a target call, over all problems together; 0 where the target was never called."""
        return sum(self.tokens) / sum(self.calls) if any(self.calls) else 0.0

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
    method: str = "autojudge",
) -> list[Setting]:
    """The exact method, target and draft alone, AutoJudge at its own and further thresholds, another task's judge,
    top-K, math rules; `method` is one of `FAMILIES`, and all draft alike.

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
        found += [Setting(f"{words} {t:.4f}", group, method, knobs | {"judge_threshold": t}) for t in swept]
    found += [Setting(f"top-{k}", "topk", family.top_k, base | {"accept_k": k}) for k in ks]
    math = {"math only": 0, "math & top-4": 4, "math & top-16": 16}
    found += [Setting(name, "math", family.math, base | {"math_k": k}) for name, k in math.items()]
    found.append(Setting("target alone", "target", "ar"))
    return [*found, Setting("draft alone", "draft", "draft_alone")] if not family.trunk else found


Line = list[list[int]]  # one problem: per setting correct, tokens, accepted, calls, same text, microseconds


def evaluate(
    lab: Runs,
    found: Sequence[Setting],
    problem: Problem,
    score: Callable[[Problem, str], float],
    memories: Sequence[MemoModel],
    **decoding: Any,
) -> Line:
    """All settings on one problem, in their order. The first setting must be the exact method.

    With `memories` passes are shared, and times, which would mean nothing, are 0.
    """
    known: dict[str, int] = {}
    first, line = None, []
    for s in found:
        trace = lab.run(s.method, problem.prompt, record="light", **decoding, **s.knobs)
        numbers, text = trace.metrics(), trace.text
        first = text if first is None else first
        if text not in known:
            known[text] = int(score(problem, text) >= 1)
        spent = 0.0 if memories else numbers["draft_s"] + numbers["verify_s"] + numbers["other_s"]
        counts = [int(numbers[name]) for name in ("tokens", "accepted", "rounds")]
        line.append([known[text], *counts, int(text == first), round(1e6 * spent)])
    for memory in memories:
        memory.forget()
    return line


def collect(found: Sequence[Setting], lines: Sequence[Line]) -> list[Score]:
    """The scores of all settings over the problems done."""
    scores = []
    for i, setting in enumerate(found):
        columns = list(zip(*(line[i] for line in lines), strict=True)) or [()] * 6
        correct, tokens, accepted, calls, same, spent = (list(column) for column in columns)
        right, alike = [bool(c) for c in correct], [bool(c) for c in same]
        scores.append(Score(setting, right, tokens, accepted, calls, alike, [us / 1e6 for us in spent]))
    return scores


def report(scores: Sequence[Score]) -> dict[str, Any]:
    """All rows with their intervals, and the three claims about them, as JSON types."""
    sd = scores[0]
    plain = next((score for score in scores if score.setting.group == "target"), sd)
    rows = [_row(score, sd) | _speed(score, plain) for score in scores]
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
            mean_interval([t / c for t, c in zip(score.tokens, score.calls, strict=True) if c])
        ),
        "accuracy": _interval(share),
        "accuracy_drop": _interval(drop),
        "same_text_as_sd": sum(score.same) / max(len(score.same), 1),
    }


def _speed(score: Score, plain: Score) -> dict[str, Any]:
    """Tokens a second and their quotient by plain decoding's, where times were taken."""
    if not all(score.seconds) or not score.seconds or not all(plain.seconds):
        return {}
    rows = list(zip(score.tokens, score.seconds, plain.tokens, plain.seconds, strict=True))
    return {"tokens_per_s": sum(score.tokens) / sum(score.seconds), "speedup": _interval(speedup_interval(rows))}


def _interval(found: Any) -> dict[str, Any] | None:
    return None if found is None else asdict(found)


def table(task: str, result: Mapping[str, Any]) -> str:
    """The rows as Markdown; speeds where times were taken."""
    exact, timed = result["rows"][0]["name"], any(row.get("speedup") for row in result["rows"])
    more = (" tokens/s against the target alone |", "--:|") if timed else ("", "")
    lines = [
        f"| {task} | tokens a target call | accuracy | drop against {exact.upper()}, 95 % interval | same text |"
        f"{more[0]}",
        f"|---|--:|--:|--:|--:|{more[1]}",
    ]
    for row in result["rows"]:
        share, drop = percents(row["accuracy"]), percents(row["accuracy_drop"], "+")
        speed = f" {_times(row.get('speedup'))} |" if timed else ""
        each = f"{row['tokens_per_call']:.2f}" if row["calls"] else "-"
        lines.append(f"| {row['name']} | {each} | {share} | {drop} | {row['same_text_as_sd']:.0%} |{speed}")
    return "\n".join(lines)


def _times(found: Mapping[str, Any] | None) -> str:
    if found is None:
        return "-"
    return f"{found['mean']:.2f}" + ("" if found["low"] is None else f" ({found['low']:.2f} to {found['high']:.2f})")


def percents(found: Mapping[str, Any] | None, sign: str = "") -> str:
    """An interval in per cent, "50.0% (40.0% to 60.0%)"; its mean alone where there are no bounds."""
    if found is None:
        return "-"
    mean = f"{found['mean']:{sign}.1%}"
    return mean if found["low"] is None else f"{mean} ({found['low']:{sign}.1%} to {found['high']:{sign}.1%})"
