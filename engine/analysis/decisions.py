"""A tested node decided again from its recorded numbers, under the run's knobs or others. No model.

What the exact rule says is recomputed here (equations: `engine/verify.py`); what a threshold says is read from the
rule's own declaration, so this file knows no rule by its knobs.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from engine.config import KnobValue
from engine.threshold import Numbers, Switch, Threshold, bind, chosen, recorded
from engine.trace.events import Node, RunStarted

Knobs = Mapping[str, KnobValue]


@dataclass(frozen=True, slots=True)
class Decision:
    """The state that follows, and whether a veto's condition held on the way."""

    state: str
    fired: bool = False


def greedy(head: RunStarted) -> bool:
    """Whether the run takes the target's first choice."""
    return bool(head.sampling.get("temperature", 0) == 0)


def decide(head: RunStarted, node: Node, knobs: Knobs, threshold: Threshold | None) -> Decision | None:
    """What the rule says about a tested node; None where too little was recorded."""
    reason = node.reason or {}
    if threshold is not None and threshold.effect == "decide" and not (threshold.sampled_only and greedy(head)):
        return _alone(node, knobs, threshold)
    strict = _strict(head, node, _before(reason))
    held = None if threshold is None else bind(threshold.condition, knobs)(numbers(node, threshold, knobs))
    if threshold is not None and threshold.effect == "veto":
        if strict is None or held is None:
            return None
        if held:
            return _penalised(head, node, reason, bars(threshold, knobs), strict)
        return Decision("accepted" if strict else "rejected")
    if strict is None or strict:
        return None if strict is None else Decision("accepted")
    if threshold is not None and threshold.effect == "override":
        return None if held is None else Decision("relaxed" if held else "rejected")
    return Decision("rejected")


def numbers(node: Node, threshold: Threshold, knobs: Knobs) -> Numbers:
    """The recorded numbers that a declaration names; one that was not recorded is missing."""
    reason: Mapping[str, Any] = node.reason or {}
    found = dict[str, float | str | bool | None]()
    for name, field in recorded(threshold, knobs).items():
        if name in reason:
            found[name] = reason[name]
        elif field and getattr(node, field, None) is not None:
            found[name] = getattr(node, field)
    return found


def bars(threshold: Threshold, knobs: Knobs) -> str:
    """Which token a veto removes under these knobs: "proposed", or "first", the draft's first choice."""
    return chosen(threshold.bars, knobs) if isinstance(threshold.bars, Switch) else threshold.bars


def acceptance(node: Node) -> float | None:
    """Probability with which the exact rule accepts a token: p / q up to 1 if drawn, p of what is left if chosen."""
    return _chance(node, node.reason or {})


def overlap(node: Node, n: int) -> float | None:
    """|top-n of the draft and top-n of the target| / n (EASD, eq. 5), n at most the entries kept; None without
    lists."""
    if not node.top_draft or not node.top_target:
        return None
    n = min(n, len(node.top_draft), len(node.top_target))
    return len({token for token, _ in node.top_draft[:n]} & {token for token, _ in node.top_target[:n]}) / n


def _alone(node: Node, knobs: Knobs, threshold: Threshold) -> Decision | None:
    """A rule that decides without the exact one."""
    seen = numbers(node, threshold, knobs)
    held, exact = (bind(one, knobs)(seen) for one in (threshold.condition, threshold.exact))
    if held is None or (held and exact is None):
        return None
    return Decision(("accepted" if exact else "relaxed") if held else "rejected")


def _chance(node: Node, reason: Mapping[str, Any]) -> float | None:
    if "p_left" in reason:
        return float(reason["p_left"])
    drawn = "q" in reason or node.law_draft is not None
    p, q = reason.get("p", node.p), reason.get("q", node.q) if drawn else 1.0
    if p is None or q is None:
        return None
    return min(1.0, p / q) if q > 0 else float(p > 0)


def _strict(head: RunStarted, node: Node, reason: Mapping[str, Any]) -> bool | None:
    """Whether the exact rule accepts the token."""
    if greedy(head):
        choice = reason.get("strict", reason.get("choice"))  # after a veto, `choice` is the one that was left
        choice = choice if choice is not None else (node.top_target[0][0] if node.top_target else None)
        return None if choice is None else bool(node.token == choice)
    chance, u = _chance(node, reason), reason.get("u", node.u)
    return None if chance is None or u is None else bool(u < chance)


def _before(reason: Mapping[str, Any]) -> dict[str, Any]:
    """A reason without the numbers that hold after another token than the proposed one was barred (`fired`)."""
    after = ("choice", "p", "q", "p_left") if reason.get("fired") else ()
    return {name: value for name, value in reason.items() if name not in after}


def _penalised(head: RunStarted, node: Node, reason: Mapping[str, Any], bars: str, strict: bool) -> Decision | None:
    """A veto bars the token, or the draft's first choice (register E4), and then the numbers after it decide."""
    first = node.top_draft[0][0] if node.top_draft else None
    barred = reason.get("remove", first if bars == "first" else node.token)
    if barred == node.token:
        return Decision("vetoed" if strict else "rejected", fired=True)
    after = {name: value for name, value in reason.items() if name != "strict"}
    kept = _strict(head, node, after) if reason.get("fired") else None
    return None if kept is None else Decision("accepted" if kept else "rejected", fired=True)
