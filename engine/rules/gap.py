"""Top-beta and gap (K8): keep a guess among the target's first beta whose log-probability is within tau of the first.

SpecDec (Xia et al. 2023, 2203.16487), and CM-ASD section III.C with a threshold per token. Register: C1, C2, C5, C11.
"""

from typing import Any, ClassVar

from engine.config import Guarantee, Knob
from engine.parts import Kit, Knobs
from engine.verify import Check, Verdict, walk_by
from engine.view import RoundView


class Gap:
    """tau_t = tau_base + tau_gamma (1 - C_t) as printed, or tau_base + tau_gamma C_t as the text argues (C2)."""

    NAME: ClassVar[str] = "gap"
    GUARANTEE: ClassVar[Guarantee] = "lossy"
    NEEDS: ClassVar[tuple[str, ...]] = ()
    SHAPES: ClassVar[tuple[str, ...]] = ()
    entries = 0
    KNOBS: ClassVar[tuple[Knob, ...]] = (
        Knob(
            "top_beta",
            3,
            "keep only guesses among this many first choices of the target; 1 is lossless when greedy",
            1,
            1_000_000,
            1,
            "tokens",
        ),
        Knob(
            "tau_base",
            0.1,
            "largest allowed gap in log-probability to the target's first choice",
            0.0,
            1000.0,
            0.05,
            "nats",
            origin="paper",
        ),
        Knob("tau_gamma", 1.0, "how strongly confidence moves the threshold; 0 fixes it", 0.0, 1000.0, 0.05, "nats"),
        Knob(
            "threshold_mode",
            "equation",
            "equation: looser when unsure, as printed; text: looser when confident, as argued",
            choices=("equation", "text"),
            origin="paper",
        ),
        Knob("bonus", True, "emit the target's next token after a fully accepted draft", advanced=True),
    )

    def __init__(self, kit: Kit, knobs: Knobs) -> None:
        self.top_beta, self.tau_base = int(knobs["top_beta"]), float(knobs["tau_base"])
        self.tau_gamma, self.mode = float(knobs["tau_gamma"]), str(knobs["threshold_mode"])
        self.bonus = bool(knobs["bonus"])

    def decide(self, view: RoundView) -> Verdict:
        return walk_by(view, self._passes, bonus=self.bonus)

    def threshold(self, confidence: float | None) -> float:
        """Tau for one token, nats; without a confidence the fixed tau_base."""
        if confidence is None:
            return self.tau_base
        return self.tau_base + self.tau_gamma * (confidence if self.mode == "text" else 1 - confidence)

    def _passes(self, view: RoundView, node: int) -> Check:
        rank, gap = view.ranks[node]
        confidence = view.draft.confidence[node] if view.draft.confidence else None
        tau = self.threshold(confidence)
        in_top, near = rank <= self.top_beta, gap <= tau
        reason: dict[str, Any] = {
            "id": "gap_accept" if in_top and near else "gap_reject",
            "rank": rank,
            "top_beta": self.top_beta,
            "gap": gap,
            "tau": tau,
            "choice": view.choice[view.draft.parents[node] + 1],
            "confidence": confidence,
        }
        if not (in_top and near):
            reason["failed"] = "both" if not in_top and not near else "gap" if in_top else "top_beta"
            return Check("rejected", 0.0, None, reason, confidence=confidence)
        return Check("accepted" if rank == 1 else "relaxed", 1.0, None, reason, confidence=confidence)
