"""Verification: one step at one node, and the walk down a draft. Pure; uniforms are given.

Row convention: row 0 of a [M, V] tensor follows the last committed token, row i + 1 follows draft node i; so the row
that judges node i is parents[i] + 1. p is the target's distribution, q the drafter's.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

import torch
from torch import Tensor

from engine.trace.records import Reason, RoundExtras
from engine.view import RoundView

Correction = Literal["residual", "target"]


@dataclass(slots=True)
class Check:
    """What happened to one tested node."""

    state: str  # accepted | rejected | relaxed | vetoed
    accept_prob: float | None
    u: float | None
    reason: Reason
    judge: float | None = None
    confidence: float | None = None


@dataclass(slots=True)
class Verdict:
    """Accepted nodes from the root down, and the token that follows them (None when the rule emits no bonus)."""

    path: list[int] = field(default_factory=list)
    emit: int | None = None
    origin: str = "target"  # of the emitted token: correction | bonus | target
    checks: dict[int, Check] = field(default_factory=dict)
    extras: RoundExtras = field(default_factory=RoundExtras)
    ends: bool = False  # the text is whole, whatever its last token


@dataclass(slots=True)
class Step:
    """The outcome at one node: which child was accepted (index into the children), else the distribution left."""

    accepted: int | None
    rest_V: Tensor
    tests: list[Reason]  # one a visited child: p, q, ratio (the acceptance probability), u


def residual(p_V: Tensor, q_V: Tensor) -> Tensor:
    """norm(max(p - q, 0)), Leviathan et al. 2023 (2211.17192), algorithm 1; p itself when no mass is left."""
    rest = (p_V - q_V).clamp(min=0)
    total = rest.sum()
    return torch.where(total > 0, rest / total, p_V)


def step_sample(p_V: Tensor, q_V: Tensor, token: int, u: float, correction: Correction = "residual") -> Step:
    """One sampled child (K2; K3 with correction="target", which is not lossless): accept if u < min(1, p/q)."""
    p, q = float(p_V[token]), float(q_V[token])
    ratio = min(1.0, p / q) if q > 0 else (1.0 if p > 0 else 0.0)
    tests: list[Reason] = [{"p": p, "q": q, "ratio": ratio, "u": u}]
    if u < ratio:
        return Step(0, p_V, tests)
    return Step(None, residual(p_V, q_V) if correction == "residual" else p_V, tests)


def step_point(p_V: Tensor, tokens: Sequence[int], us: Sequence[float]) -> Step:
    """Chosen children (K5): accept x with probability p(x), else remove it from p and renormalise."""
    rest, tests = p_V.clone(), list[Reason]()
    total = 1.0
    for i, (token, u) in enumerate(zip(tokens, us, strict=True)):
        p = float(rest[token])
        ratio = min(1.0, p / total) if total > 0 else 0.0
        tests.append({"p": float(p_V[token]), "p_left": ratio, "ratio": ratio, "u": u})
        if u < ratio:
            return Step(i, rest, tests)
        rest[token] = 0
        total = float(rest.sum())
    return Step(None, rest / total if total > 0 else p_V, tests)


def step_without_replacement(p_V: Tensor, q_V: Tensor, tokens: Sequence[int], us: Sequence[float]) -> Step:
    """Children drawn without replacement from q, in draw order (K6).

    Each: accept with min(1, p/q), else p becomes the residual, and the child leaves q, which is renormalised.
    """
    p_left, q_left, tests = p_V, q_V.clone(), list[Reason]()
    for i, (token, u) in enumerate(zip(tokens, us, strict=True)):
        p, q = float(p_left[token]), float(q_left[token])
        ratio = min(1.0, p / q) if q > 0 else (1.0 if p > 0 else 0.0)
        tests.append({"p": p, "q": q, "ratio": ratio, "u": u})
        if u < ratio:
            return Step(i, p_left, tests)
        p_left = residual(p_left, q_left)
        q_left[token] = 0
        left = q_left.sum()
        q_left = torch.where(left > 0, q_left / left, q_left)
    return Step(None, p_left, tests)


Veto = Callable[[RoundView, int], Reason | None]
Override = Callable[[RoundView, int], tuple[bool, Reason, float | None] | None]


def walk(
    view: RoundView,
    *,
    correction: Correction = "residual",
    bonus: bool = True,
    veto: Veto | None = None,
    override: Override | None = None,
) -> Verdict:
    """The exact walk (K1, K2/K3, K4, K5, K6), with two hooks for rules that depart from it on purpose.

    `veto(view, node)` is asked before a node is tested; its reason names a token to `remove` from the target's
    distribution,
    which forces a rejection when it is the node's own (EASD, eq. 6); after the removal of another token the node is
    tested as usual, and its reason has the veto's numbers and `fired`. `override(view, node)` is asked about nodes that
    the exact rule rejected, children of one parent by draft score; True accepts it as "relaxed" (AutoJudge, top-K).
    """
    step = _greedy_step if view.sampling.greedy else _sampled_step
    verdict, at = Verdict(), -1
    while kids := view.draft.kids[at + 1]:
        chosen, emit_distribution = step(view, verdict, at, kids, correction, veto)
        if chosen is None and override is not None:
            chosen = _override(view, verdict, kids, override)
        if chosen is None:
            verdict.emit, verdict.origin = view.draw(emit_distribution), "correction"
            return verdict
        verdict.path.append(chosen)
        at = chosen
    if bonus or not verdict.path:
        verdict.emit = view.emit(at + 1)
        verdict.origin = "bonus" if verdict.path else "target"
    return verdict


def _override(view: RoundView, verdict: Verdict, kids: Sequence[int], override: Override) -> int | None:
    for kid in sorted(kids, key=view.draft.ranks.__getitem__):  # by draft score
        check = verdict.checks.get(kid)
        answer = None if check is None or check.state == "vetoed" else override(view, kid)
        if check is None or answer is None:
            continue
        keep, reason, judge = answer
        check.reason, check.judge = check.reason | reason, judge
        if keep:
            check.state = "relaxed"
            return kid
    return None


def _greedy_step(
    view: RoundView, verdict: Verdict, at: int, kids: Sequence[int], correction: Correction, veto: Veto | None
) -> tuple[int | None, "int | Tensor"]:
    choice = view.choice[at + 1]
    removed: list[int] = []
    for kid in kids:
        token = view.draft.tokens[kid]
        barred, mark = veto(view, kid) if veto else None, Reason()
        if barred is not None:
            removed.append(barred["remove"])
            strict, choice = choice, view.next_choice(at + 1, removed) if choice in removed else choice
            if token in removed:
                state = "vetoed" if token == strict else "rejected"
                verdict.checks[kid] = Check(state, 0.0, view.u[kid], barred | {"choice": choice, "strict": strict})
                continue
            mark = barred | {"fired": True, "strict": strict}
        if token == choice:
            verdict.checks[kid] = Check("accepted", 1.0, view.u[kid], mark | {"id": "greedy_match", "choice": choice})
            return kid, choice
        verdict.checks[kid] = Check("rejected", 0.0, view.u[kid], mark | {"id": "greedy_mismatch", "choice": choice})
    return None, choice


def _sampled_step(
    view: RoundView, verdict: Verdict, at: int, kids: Sequence[int], correction: Correction, veto: Veto | None
) -> tuple[int | None, "int | Tensor"]:
    draft, p_V = view.draft, view.p[at + 1]
    tokens, us = [draft.tokens[k] for k in kids], [view.u[k] for k in kids]
    barred = veto(view, kids[0]) if veto else None
    if barred is not None:
        strict = _one_step(view, kids, p_V)[0].accepted is not None
        p_V = view.distribution_without(at + 1, barred["remove"])
    if barred is not None and barred["remove"] == tokens[0]:
        verdict.checks[kids[0]] = Check("vetoed" if strict else "rejected", 0.0, us[0], barred)
        rest = residual(p_V, view.q(kids[0])) if correction == "residual" and draft.draw == "sample" else p_V
        return None, rest
    step, names = _one_step(view, kids, p_V, correction, fresh=barred is not None)
    for i, (kid, test) in enumerate(zip(kids, step.tests, strict=False)):
        kept = step.accepted == i
        reason: Reason = {"id": f"{names}_{'accept' if kept else 'reject'}", **test}
        if names == "ratio" and not kept:
            reason["correction"] = correction
        if barred is not None and i == 0:
            reason = barred | reason | Reason(fired=True)
        verdict.checks[kid] = Check("accepted" if kept else "rejected", test["ratio"], test["u"], reason)
    chosen = None if step.accepted is None else kids[step.accepted]
    return chosen, step.rest_V


def _one_step(
    view: RoundView, kids: Sequence[int], p_V: Tensor, correction: Correction = "residual", *, fresh: bool = False
) -> tuple[Step, str]:
    """The kernel of this draft's draw, and how its reasons are called.

    Where the rows are on another device, it runs on the host over the few tokens that it tests: those of the round come
    in one transfer. `fresh`: `p_V` is no row of the view, so the kernel must ask for its numbers one by one.
    """
    draft = view.draft
    tokens, us = [draft.tokens[k] for k in kids], [view.u[k] for k in kids]
    lump = None if view.here or fresh else view.lumped(kids)
    p = p_V if lump is None else lump.p
    if lump is not None:
        tokens = [lump.tokens.index(token) for token in tokens]
    if draft.draw == "point":
        step, names = step_point(p, tokens, us), "child"
    else:
        q = view.q(kids[0]) if lump is None or lump.q is None else lump.q
        if draft.draw == "sample":
            step, names = step_sample(p, q, tokens[0], us[0], correction), "ratio"
        else:
            step, names = step_without_replacement(p, q, tokens, us), "wr"
    if lump is not None and step.accepted is None:
        if draft.draw == "sample":
            step.rest_V = residual(p_V, view.q(kids[0])) if correction == "residual" else p_V
        else:
            step.rest_V = lump.whole(step.rest_V, p_V)
    return step, names


Predicate = Callable[[RoundView, int], Check]


def walk_by(view: RoundView, passes: Predicate, *, bonus: bool = True) -> Verdict:
    """Descend while `passes(view, node)` accepts a child; then the target's own choice follows (K8, K9 and their like).

    At temperature 0 the emitted token is the target's argmax; above, it is drawn from the target's distribution.
    """
    verdict, at = Verdict(), -1
    while kids := view.draft.kids[at + 1]:
        chosen = None
        for kid in kids:
            check = verdict.checks[kid] = passes(view, kid)
            if check.state in ("accepted", "relaxed"):
                chosen = kid
                break
        if chosen is None:
            verdict.emit, verdict.origin = view.emit(at + 1), "correction"
            return verdict
        verdict.path.append(chosen)
        at = chosen
    if bonus or not verdict.path:
        verdict.emit, verdict.origin = view.emit(at + 1), "bonus" if verdict.path else "target"
    return verdict
