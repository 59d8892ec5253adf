"""A tested guess decided again from its recorded numbers, under the run's knobs or others. No model.

Which tests apply follows from the knobs a run has, so composed methods are covered. Equations: `engine/verify.py` and
the rules; here only numbers that were written down are compared.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from engine.config import KnobValue
from engine.trace.events import Node, RunStarted

Knobs = Mapping[str, KnobValue]
ATLEAST = 1e-9  # overlaps are quotients: 4 / 5 must reach 0.8
MOVABLE = (
    "tau_entropy",
    "tau_entropy_draft",
    "tau_overlap",
    "top_beta",
    "tau_base",
    "tau_gamma",
    "accept_k",
    "math_k",
    "judge_threshold",
)


@dataclass(frozen=True, slots=True)
class Decision:
    """The state that follows, and whether an entropy trigger fired on the way."""

    state: str
    fired: bool = False


def greedy(head: RunStarted) -> bool:
    """Whether the run takes the target's first choice."""
    return bool(head.sampling.get("temperature", 0) == 0)


def decide(head: RunStarted, node: Node, knobs: Knobs) -> Decision | None:
    """What the rule says about a tested guess; None where too little was recorded."""
    reason = node.reason or {}
    if "top_beta" in knobs and "rank" in reason:
        return _gap(reason, knobs)
    if str(reason.get("id", "")).startswith("typical"):
        return _typical(reason)
    strict, fires = _strict(head, node, _before(reason)), _fires(node, reason, knobs)
    if strict is None or fires is None:
        return None
    if fires:
        return _penalised(head, node, reason, knobs, strict)
    if strict:
        return Decision("accepted")
    return Decision("relaxed" if _overridden(reason, knobs) else "rejected")


def acceptance(node: Node) -> float | None:
    """Probability with which the exact rule keeps a guess: p / q up to 1 if drawn, p of what is left if chosen."""
    return _chance(node, node.reason or {})


def _chance(node: Node, reason: Mapping[str, Any]) -> float | None:
    if "p_left" in reason:
        return float(reason["p_left"])
    drawn = "q" in reason or node.law_draft is not None
    p, q = reason.get("p", node.p), reason.get("q", node.q) if drawn else 1.0
    if p is None or q is None:
        return None
    return min(1.0, p / q) if q > 0 else float(p > 0)


def overlap(node: Node, n: int) -> float | None:
    """|top-n of the draft and top-n of the target| / n (EASD, eq. 5), n at most the entries kept."""
    if not node.top_draft or not node.top_target:
        return node.overlap
    n = min(n, len(node.top_draft), len(node.top_target))
    return len({token for token, _ in node.top_draft[:n]} & {token for token, _ in node.top_target[:n]}) / n


def _strict(head: RunStarted, node: Node, reason: Mapping[str, Any]) -> bool | None:
    """Whether the exact rule keeps the guess."""
    if greedy(head):
        choice = reason.get("strict", reason.get("choice"))  # after a veto, `choice` is the one that was left
        choice = choice if choice is not None else (node.top_target[0][0] if node.top_target else None)
        return None if choice is None else bool(node.token == choice)
    chance, u = _chance(node, reason), reason.get("u", node.u)
    return None if chance is None or u is None else bool(u < chance)


def _before(reason: Mapping[str, Any]) -> dict[str, Any]:
    """A reason without the numbers that hold after another token than the guess was barred (`fired`)."""
    after = ("choice", "p", "q", "p_left") if reason.get("fired") else ()
    return {name: value for name, value in reason.items() if name not in after}


def _penalised(head: RunStarted, node: Node, reason: Mapping[str, Any], knobs: Knobs, strict: bool) -> Decision | None:
    """A trigger that fired bars the guess, or the draft's first choice (register E4), and then the numbers after it decide."""
    first = node.top_draft[0][0] if node.top_draft else None
    barred = reason.get("remove", first if knobs.get("penalize") == "argmax" else node.token)
    if barred == node.token:
        return Decision("vetoed" if strict else "rejected", fired=True)
    after = {name: value for name, value in reason.items() if name != "strict"}
    kept = _strict(head, node, after) if reason.get("fired") else None
    return None if kept is None else Decision("accepted" if kept else "rejected", fired=True)


def _fires(node: Node, reason: Mapping[str, Any], knobs: Knobs) -> bool | None:
    """The entropy trigger of EASD, eq. 3 to 5 and register E1, E8; None where its entropies (option of E3) were not recorded."""
    if "tau_entropy" not in knobs:
        return False
    h_draft, h_target = reason.get("h_draft", node.h_draft), reason.get("h_target", node.h_target)
    common = reason.get("overlap", overlap(node, int(knobs.get("overlap_n", 5))))
    if h_draft is None or h_target is None or common is None:
        return False
    if knobs.get("entropy_temperature", 1.0) != 1.0 and "h_draft" not in reason:
        return None
    tau, least = float(knobs["tau_entropy"]), float(knobs.get("tau_overlap", 0.8))
    own = float(knobs.get("tau_entropy_draft", -1.0))
    ablation = knobs.get("ablation", "none")
    agree = common > least if knobs.get("overlap_cmp") == "gt" else common >= least - ATLEAST
    unsure = h_draft > (tau if own < 0 else own)
    return (
        h_target > tau
        and (unsure or ablation in ("no_draft_entropy", "target_entropy_only"))
        and (agree or ablation in ("no_overlap", "target_entropy_only"))
    )


def _overridden(reason: Mapping[str, Any], knobs: Knobs) -> bool:
    """Whether a lossy rule that was asked keeps a refused guess."""
    if "score" in reason:
        return reason["score"] is not None and bool(reason["score"] < _judge_threshold(reason, knobs))
    if "math_k" in knobs and "rank" in reason and "found" in reason:
        return reason["found"] is None and (knobs["math_k"] == 0 or bool(reason["rank"] <= int(knobs["math_k"])))
    if "accept_k" in knobs and "rank" in reason:
        return bool(reason["rank"] <= int(knobs["accept_k"]))
    return str(reason.get("id", "")).endswith("_relaxed")


def _judge_threshold(reason: Mapping[str, Any], knobs: Knobs) -> float:
    """The knob, unless it is -1: then the judge's own, which the decision recorded."""
    given = float(knobs.get("judge_threshold", -1.0))
    return given if given >= 0 else float(reason.get("threshold", 0.0))


def _gap(reason: Mapping[str, Any], knobs: Knobs) -> Decision:
    """Top-beta and gap with the threshold moved by confidence (CM-ASD, register C2)."""
    sure, tau = reason.get("confidence"), float(knobs.get("tau_base", reason.get("tau", 0.0)))
    if sure is not None:
        tau += float(knobs.get("tau_gamma", 0.0)) * (sure if knobs.get("threshold_mode") == "text" else 1 - sure)
    if reason["rank"] > int(knobs["top_beta"]) or not reason["gap"] <= tau:
        return Decision("rejected")
    return Decision("accepted" if reason["rank"] == 1 else "relaxed")


def _typical(reason: Mapping[str, Any]) -> Decision | None:
    """Typical acceptance (Medusa): p above min(eps, delta exp(-H))."""
    if "p" not in reason or "threshold" not in reason:
        return None
    return Decision("accepted" if reason["p"] > reason["threshold"] else "rejected")
