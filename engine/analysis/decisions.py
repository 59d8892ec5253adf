"""A tested node decided again from its recorded numbers, under the run's knobs or others. No model.

What the exact rule says is recomputed here (equations: `engine/verify.py`); what a threshold says is read from the
rule's own declaration, so this file knows no rule by its knobs.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from engine.config import KnobValue
from engine.threshold import Holds, Numbers, Switch, Threshold, bind, chosen, recorded
from engine.trace.events import Node, RunStarted

Knobs = Mapping[str, KnobValue]
Fields = Mapping[str, str]  # of a node, by the recorded numbers that a declaration names


@dataclass(frozen=True, slots=True)
class Decision:
    """The state that follows, and whether a veto's condition held on the way."""

    state: str
    fired: bool = False


Decide = Callable[[Node], Decision | None]


def greedy(head: RunStarted) -> bool:
    """Whether the run takes the target's first choice."""
    return bool(head.sampling.get("temperature", 0) == 0)


def decide(head: RunStarted, node: Node, knobs: Knobs, threshold: Threshold | None) -> Decision | None:
    """What the rule says about a tested node; None where too little was recorded."""
    return decider(head, knobs, threshold)(node)


def decider(head: RunStarted, knobs: Knobs, threshold: Threshold | None) -> Decide:
    """`decide` for many nodes of a run: the declaration is bound to the knobs once."""
    if threshold is None:
        return partial(_exactly, head)
    fields, holds = recorded(threshold, knobs), bind(threshold.condition, knobs)
    if threshold.effect == "decide" and not (threshold.sampled_only and greedy(head)):
        return partial(_alone, fields, holds, bind(threshold.exact, knobs))
    if threshold.effect == "veto":
        return partial(_vetoed, head, fields, holds, bars(threshold, knobs))
    return partial(_overridden, head, fields, holds) if threshold.effect == "override" else partial(_exactly, head)


def _exactly(head: RunStarted, node: Node) -> Decision | None:
    strict = _strict(head, node, _before(node.reason or {}))
    return None if strict is None else Decision("accepted" if strict else "rejected")


def _vetoed(head: RunStarted, fields: Fields, holds: Holds, barred: str, node: Node) -> Decision | None:
    reason = node.reason or {}
    strict, held = _strict(head, node, _before(reason)), holds(_numbers(node, fields))
    if strict is None or held is None:
        return None
    return _penalised(head, node, reason, barred, strict) if held else Decision("accepted" if strict else "rejected")


def _overridden(head: RunStarted, fields: Fields, holds: Holds, node: Node) -> Decision | None:
    exact = _exactly(head, node)
    if exact is None or exact.state == "accepted":
        return exact
    held = holds(_numbers(node, fields))
    return None if held is None else Decision("relaxed" if held else "rejected")


def numbers(node: Node, threshold: Threshold, knobs: Knobs) -> Numbers:
    """The recorded numbers that a declaration names; one that was not recorded is missing."""
    return _numbers(node, recorded(threshold, knobs))


def _numbers(node: Node, fields: Fields) -> Numbers:
    reason: Mapping[str, Any] = node.reason or {}
    found = dict[str, float | str | bool | None]()
    for name, field in fields.items():
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


def _alone(fields: Fields, holds: Holds, is_exact: Holds, node: Node) -> Decision | None:
    """A rule that decides without the exact one."""
    seen = _numbers(node, fields)
    held, exact = holds(seen), is_exact(seen)
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
