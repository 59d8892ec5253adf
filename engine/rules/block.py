"""Block verification (K11): a drawn chain is tested as a whole, and the longest prefix that passes is accepted."""

from typing import ClassVar

import torch
from torch import Tensor

from engine.analysis.blocks import IDS, state
from engine.config import Guarantee, Knob
from engine.parts import Kit, Knobs
from engine.sampling import sent
from engine.threshold import Threshold
from engine.trace.records import Reason
from engine.verify import Check, Verdict, walk
from engine.view import RoundView


def weigh(p_MV: Tensor, q_NV: Tensor, tokens_N: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Sun et al. 2025, algorithm 2, for a chain of N drawn tokens. Rows p_MV are the target's distributions before each
    and behind the last (M = N + 1), q_NV the draft's.

    Returns the tokens' probabilities p_N and q_N; the weights [N] of the prefixes that end with them,
    w_i = min(1, w_(i-1) p_i / q_i); and the chances [N] that these pass. With s_i = sum (w_i p(. | i tokens) -
    q(. | i tokens))_+, the mass that the next token would leave, that is s_i / (s_i + 1 - w_i), and w_N at the end.
    """
    n = len(tokens_N)
    p_N, q_N = (x[:n].gather(1, tokens_N.unsqueeze(1)).squeeze(1) for x in (p_MV, q_NV))
    weights = [p_MV.new_ones(())]
    for ratio in torch.where(q_N > 0, p_N / q_N, 0.0).unbind():
        weights.append((weights[-1] * ratio).clamp(max=1))
    w_N = torch.stack(weights[1:])
    s = (w_N[:-1].unsqueeze(1) * p_MV[1:n] - q_NV[1:n]).clamp_(min=0).sum(-1)
    behind = s + (1 - w_N[:-1])  # in this order, or it may come out below s
    return p_N, q_N, w_N, torch.cat([torch.where(behind > 0, s / behind, 1.0), w_N[-1:]])


def rest(p_V: Tensor, q_V: Tensor, weight: float) -> Tensor:
    """The distribution [V] of the token behind an accepted prefix: norm((w p - q)_+); p where no mass is left."""
    left = (weight * p_V - q_V).clamp_(min=0)
    total = left.sum()
    return torch.where(total > 0, left / total, p_V)


class Block:
    """Sun et al. 2025, algorithm 2: as lossless as the exact rule, and no rule that is accepts more tokens a round
    (theorem 2).

    A draft token that the exact rule would reject is still accepted where one behind it passes. Drafts that were
    chosen, not drawn, and greedy runs are decided by the exact rule, which can accept no more of them.
    """

    NAME: ClassVar[str] = "block"
    TITLE: ClassVar[str] = "block verification"
    KNOBS: ClassVar[tuple[Knob, ...]] = ()
    GUARANTEE: ClassVar[Guarantee] = "lossless"
    NEEDS: ClassVar[tuple[str, ...]] = ("draft distributions",)
    SHAPES: ClassVar[tuple[str, ...]] = ("chain",)
    THRESHOLD: ClassVar[Threshold | None] = None
    entries = 0
    bonus = True

    def __init__(self, kit: Kit, knobs: Knobs) -> None: ...

    def decide(self, view: RoundView) -> Verdict:
        draft = view.draft
        if view.sampling.greedy or draft.draw != "sample" or not len(draft):
            return walk(view)
        view.along(block=_numbers)
        p, q, weights, chances = view.brought("block")
        length = max((i + 1 for i, chance in enumerate(chances) if view.u[i] < chance), default=0)
        verdict = Verdict(list(range(length)))
        for i, chance in enumerate(chances):
            fate = state(i + 1, length)
            reason: Reason = {"id": IDS[fate], "p": p[i], "q": q[i], "weight": weights[i], "u": view.u[i]}
            verdict.checks[i] = Check(fate, chance, view.u[i], reason)
        if length == len(draft):
            verdict.emit, verdict.origin = view.emit(length), "bonus"
        else:
            before = weights[length - 1] if length else 1.0
            verdict.emit, verdict.origin = view.draw(rest(view.p[length], view.q(length), before)), "correction"
        return verdict


def _numbers(view: RoundView) -> tuple[Tensor, ...]:
    q_NV = torch.stack([view.q(i) for i in range(len(view.draft))])
    return weigh(view.p, q_NV, sent(view.draft.tokens, view.p.device, torch.long))
