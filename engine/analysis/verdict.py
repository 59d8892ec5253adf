"""One line on whether speculation pays here and what decides it, from measured numbers only."""

from dataclasses import dataclass
from typing import Any, Literal

from engine.analysis.words import number
from engine.trace.metrics import metrics
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
    """The line and what it rests on. Shares are of the rounds' time."""

    text: str
    cause: Cause
    speedup: float | None
    tau: float | None
    cost_ratio: float | None
    draft_share: float
    other_share: float
    active: float  # share of the calls that verified a draft
    call_ratio: float | None  # a target call of this run / one of the baseline
    worth: int  # leading draft positions that earn more than they cost


def verdict(trace: Trace, baseline: Trace | None = None) -> Verdict:
    """The verdict on one run; a quotient of speeds only with an `ar` run of the same process.

    Raises:
        ConfigError: see `metrics.metrics`.
    """
    found = metrics(trace, baseline)
    seconds = found["draft_s"] + found["verify_s"] + found["other_s"]
    draft, other = (found[name] / seconds if seconds else 0.0 for name in ("draft_s", "other_s"))
    active = sum(event.drafted > 0 for event in trace.rounds) / len(trace.rounds) if trace.rounds else 0.0
    worth = worthwhile(found)
    # without a baseline the target call stands for a step of plain decoding
    gain = found.get("speedup") or (found["tau"] or 0.0) * (1 - draft - other)
    call = _call_ratio(found, baseline)
    cause = _cause(found, gain, draft, other, active, call or 1.0, worth) if found["rounds"] >= FEW else "too early"
    told = {
        "speculation inactive": f"; speculation inactive: {active:.0%} of the calls had a draft",
        "overhead-bound": f"; overhead-bound: {other:.0%} of the time is in neither model",
        "draft too costly": f"; the draft is too costly: it takes {draft:.0%} of the time",
        "target call too costly": f"; a target call over the draft costs {number(call)} plain ones",
        "acceptance falls": _fall(worth),
    }
    text = f"{_speed(trace, found)}: {_terms(found)}{told.get(cause, '')}."
    return Verdict(
        text, cause, found.get("speedup"), found["tau"], found["cost_ratio"], draft, other, active, call, worth
    )


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


def _call_ratio(found: dict[str, Any], baseline: Trace | None) -> float | None:
    if baseline is None or not found["rounds"] or not baseline.rounds:
        return None
    plain = sum(event.verify_ms for event in baseline.rounds) / len(baseline.rounds)
    return 1e3 * found["verify_s"] / found["rounds"] / plain if plain else None


def _fall(worth: int) -> str:
    if worth == 0:
        return "; acceptance is too low from the first position on"
    return f"; acceptance falls after position {worth}"


def _speed(trace: Trace, found: dict[str, Any]) -> str:
    here = f"here ({trace.head.device}, {trace.head.dtype.removeprefix('torch.')})"
    speedup = found.get("speedup")
    if speedup is None or not found["drafted"]:
        return f"{trace.head.title} {here}"
    if abs(speedup - 1) < EVEN:
        return f"{trace.head.title} is as fast as AR {here}"
    times, word = (speedup, "faster") if speedup > 1 else (1 / speedup, "slower")
    return f"{trace.head.title} is {times:.{1 if times >= 1.5 else 2}f}x {word} than AR {here}"


def _terms(found: dict[str, Any]) -> str:
    if found["tau"] is None:
        return "no token yet"
    tokens = f"{found['tau']:.1f} tokens a target call" if found["tau"] > 1 else "one token a target call"
    if found["cost_ratio"] is None:
        return tokens
    return f"{tokens}; a draft step costs {number(found['cost_ratio'])} of one"
