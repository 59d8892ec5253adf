"""Whether speculation pays here and what decides it, from measured numbers only. Page, notebooks and files read this.

The ratio of speeds is told whenever there is a fair baseline; the cause only of runs with enough rounds to name one.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from engine.analysis.words import count, mean, number, percent
from engine.trace.metrics import metrics, unfair
from engine.trace.store import Trace

Cause = Literal[
    "too early",
    "plain decoding",
    "speculation inactive",
    "overhead-bound",
    "draft too costly",
    "target call too costly",
    "acceptance falls",
    "pays off",
]
FEW = 8  # calls below which no cause is named
INACTIVE = 0.1  # share of calls with a draft below which nothing is being speculated
OVERHEAD = 0.25  # share of time in neither model from which it is the thing to cure
COSTLY = 0.3  # a draft step of this share of a target call cannot pay at common acceptances
CALL = 1.5  # a target call over a draft of this many plain ones is no longer nearly free
EVEN = 0.02  # speeds closer than this are the same


@dataclass(frozen=True, slots=True)
class Verdict:
    """The sentence, its cause and what both rest on. Shares are of the rounds' time."""

    line: str  # what stands between double stars is to be stressed
    why: str  # the dominant cause in a sentence, or why none is named
    unsaid: str  # why no ratio of speeds is told; empty where one is
    cause: Cause
    speedup: float | None
    tau: float | None
    cost_ratio: float | None
    draft_share: float
    other_share: float
    active: float  # share of the calls that verified a draft
    call_ratio: float | None  # a target call of this run / one of the baseline
    worth: int  # leading draft positions that earn more than they cost

    @property
    def text(self) -> str:
        """Line and cause without marks, as one paragraph."""
        return f"{self.line} {self.why}".replace("**", "").strip()


def verdict(trace: Trace, baseline: Trace | None = None, names: tuple[str, str] | None = None) -> Verdict:
    """The verdict on one run; a ratio of speeds only with a run without a draft of the same process.

    `names` are what the two runs are called, by default their titles. A single run a side is told as measured once.

    Raises:
        ConfigError: see `metrics.metrics`.
    """
    name, plain = names or (trace.head.title, baseline.head.title if baseline else "")
    found = metrics(trace, baseline)
    seconds = found["draft_s"] + found["verify_s"] + found["other_s"]
    draft, other = (found[key] / seconds if seconds else 0.0 for key in ("draft_s", "other_s"))
    drafting = sum(event.drafted > 0 for event in trace.rounds)
    active = drafting / len(trace.rounds) if trace.rounds else 0.0
    worth = worthwhile(found)
    # without a baseline the target call stands for a step of plain decoding
    gain = found.get("speedup") or (found["tau"] or 0.0) * (1 - draft - other)
    call = _call_ratio(found, baseline)
    cause = _cause(found, gain, draft, other, active, call or 1.0, worth)
    return Verdict(
        f"{_speed(trace, found, name, plain)}: {_terms(found)}.",
        _why(cause, found, draft, other, drafting, call, worth),
        "" if found.get("speedup") is not None else "no lane without a draft was run",
        cause,
        found.get("speedup"),
        found["tau"],
        found["cost_ratio"],
        draft,
        other,
        active,
        call,
        worth,
    )


def verdicts(traces: Sequence[Trace], names: Sequence[str]) -> list[Verdict]:
    """One verdict a run, each against the first run among them that is a fair baseline."""
    return [_among(trace, name, traces, names) for trace, name in zip(traces, names, strict=True)]


def _among(trace: Trace, name: str, traces: Sequence[Trace], names: Sequence[str]) -> Verdict:
    plain = [
        (other, called)
        for other, called in zip(traces, names, strict=True)
        if other is not trace and other.rounds and not any(event.drafted for event in other.rounds)
    ]
    fair = next(((other, called) for other, called in plain if not unfair(trace, other)), None)
    if fair:
        return verdict(trace, fair[0], (name, fair[1]))
    found = verdict(trace, None, (name, ""))
    if not plain:
        return found
    other, called = plain[0]
    return replace(found, unsaid=f"{called} has {unfair(trace, other)}")


def worthwhile(found: dict[str, Any]) -> int:
    """Leading draft positions that pay: marginal(d) tokens for one more draft step, against tokens a second now."""
    marginal, speed = found["accept_by_depth"]["marginal"], found["tokens_per_s"]
    if not speed or found["cost_ratio"] is None:
        return 0
    step = found["cost_ratio"] * found["verify_s"] / found["rounds"]
    return next((position for position, gain in enumerate(marginal) if gain <= speed * step), len(marginal))


def _cause(
    found: dict[str, Any], gain: float, draft: float, other: float, active: float, call: float, worth: int
) -> Cause:
    if found["rounds"] < FEW:
        return "too early"
    if not found["drafted"]:
        return "plain decoding"
    if active < INACTIVE:
        return "speculation inactive"
    if other >= OVERHEAD and other > draft:
        return "overhead-bound"
    if gain < 1 and (found["cost_ratio"] or 0.0) >= COSTLY:
        return "draft too costly"
    if gain < 1 and call >= CALL:
        return "target call too costly"
    if worth < len(found["accept_by_depth"]["depth"]):
        return "acceptance falls"
    if gain >= 1 - EVEN:
        return "pays off"
    return "overhead-bound" if other > draft else "draft too costly"


def _why(
    cause: Cause, found: dict[str, Any], draft: float, other: float, drafting: int, call: float | None, worth: int
) -> str:
    calls = count(found["rounds"], "target call")
    if cause == "too early":
        return f"Only {calls}: too few to name a cause."
    if cause == "plain decoding":
        return "Nothing was drafted."
    if cause == "speculation inactive":
        return f"Speculation inactive: {drafting} of its {calls} had a draft."
    if cause == "overhead-bound":
        return f"Overhead-bound: {percent(other)} of its decoding time is in neither model."
    if cause == "draft too costly":
        return f"Draft too costly: it takes {percent(draft)} of the decoding time."
    if cause == "target call too costly":
        length, times = mean(found["drafted"] / drafting), mean(call or 0.0)
        tokens = "token" if length == "1" else "tokens"
        return f"Target call too costly: over a draft of {length} {tokens} it takes as long as {times} plain ones."
    marginal = found["accept_by_depth"]["marginal"]
    of = f"of the {count(drafting, 'round')} with a draft"
    if cause == "pays off":
        return (
            f"Every draft position pays for itself, up to position {len(marginal)} "
            f"(accepted in {percent(marginal[-1])} {of})."
        )
    share = f"accepted in {percent(marginal[worth])} {of}, less than its draft step costs"
    if worth == 0:
        return f"Acceptance is too low from the first position on: {share}."
    return f"Acceptance falls after position {worth}: position {worth + 1} is {share}."


def _call_ratio(found: dict[str, Any], baseline: Trace | None) -> float | None:
    if baseline is None or not found["rounds"] or not baseline.rounds:
        return None
    plain = sum(event.verify_ms for event in baseline.rounds) / len(baseline.rounds)
    return 1e3 * found["verify_s"] / found["rounds"] / plain if plain else None


def _speed(trace: Trace, found: dict[str, Any], name: str, plain: str) -> str:
    place = f"{trace.head.device}, {trace.head.dtype.removeprefix('torch.')}"
    speedup = found.get("speedup")
    if speedup is None:
        return f"{name} ({place})"
    if abs(speedup - 1) < EVEN:
        return f"{name} is as fast as {plain} (once, {place})"
    ratio, word = (speedup, "faster") if speedup > 1 else (1 / speedup, "slower")
    return f"{name} is **{ratio:.{1 if ratio >= 1.5 else 2}f}x** {word} than {plain} (once, {place})"


def _terms(found: dict[str, Any]) -> str:
    if found["tau"] is None:
        return "no token yet"
    tokens = f"**{found['tau']:.1f}** tokens a target call" if found["tau"] > 1 else "one token a target call"
    if found["cost_ratio"] is None:
        return tokens
    return f"{tokens}; a draft step costs **{number(found['cost_ratio'])}** of one"
