"""Top-beta and gap (K8): accept a token among the target's first beta whose log-probability is within tau of the first.

SpecDec (Xia et al. 2023, 2203.16487), and CM-ASD section III.B (c) with a threshold per token. Register: C1, C2, C5,
C11.
"""

from typing import ClassVar

from engine.config import Guarantee, Knob
from engine.parts import Kit, Knobs
from engine.threshold import All, Compare, Op, Recorded, Setting, Switch, Threshold, bind, value
from engine.trace.records import Reason
from engine.verify import Check, Verdict, walk_by
from engine.view import RoundView

_SURE = Recorded("confidence")
_MOVED = Op(
    "add",
    (
        Setting("tau_base"),
        Op(
            "mul", (Setting("tau_gamma"), Switch("threshold_mode", (("text", _SURE),), otherwise=Op("sub", (1, _SURE))))
        ),
    ),
)
_IN_TOP = Compare(Recorded("rank", field=""), "<=", Setting("top_beta"))
_NEAR = Compare(Recorded("gap", field="margin"), "<=", Op("known", (_MOVED, Setting("tau_base"))))
_FIRST = Compare(Recorded("rank", field=""), "<=", 1)


class Gap:
    """tau_t = tau_base + tau_gamma (1 - C_t) as printed, or tau_base + tau_gamma C_t as the text argues (C2)."""

    NAME: ClassVar[str] = "gap"
    TITLE: ClassVar[str] = "top-beta and gap"
    GUARANTEE: ClassVar[Guarantee] = "lossy"
    NEEDS: ClassVar[tuple[str, ...]] = ()
    SHAPES: ClassVar[tuple[str, ...]] = ()
    THRESHOLD: ClassVar[Threshold | None] = Threshold(
        "decide",
        All((_IN_TOP, _NEAR)),
        says="accepted where the draft token is among the target's first top_beta and within the gap threshold",
        limits=(("rank", "top_beta"), ("gap", "tau")),
        exact=_FIRST,
    )
    entries = 0
    KNOBS: ClassVar[tuple[Knob, ...]] = (
        Knob(
            "top_beta",
            3,
            "accept only draft tokens among this many first choices of the target; 1 is lossless when greedy",
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
        self.top_beta, self.bonus = int(knobs["top_beta"]), bool(knobs["bonus"])
        self.tau = value(_NEAR.right, knobs)
        self.in_top, self.near, self.exact = (bind(one, knobs) for one in (_IN_TOP, _NEAR, _FIRST))

    def decide(self, view: RoundView) -> Verdict:
        view.along("choice", "ranks")
        return walk_by(view, self._passes, bonus=self.bonus)

    def _passes(self, view: RoundView, node: int) -> Check:
        rank, gap = view.ranks[node]
        confidence = view.draft.confidence[node] if view.draft.confidence else None
        numbers = {"rank": rank, "gap": gap, "confidence": confidence}
        in_top, near = self.in_top(numbers), self.near(numbers)
        reason: Reason = {
            "id": "gap_accept" if in_top and near else "gap_reject",
            "rank": rank,
            "top_beta": self.top_beta,
            "gap": gap,
            "tau": self.tau(numbers),
            "choice": view.choice[view.draft.parents[node] + 1],
            "confidence": confidence,
        }
        if not (in_top and near):
            reason["failed"] = "both" if not in_top and not near else "gap" if in_top else "top_beta"
            return Check("rejected", 0.0, None, reason, confidence=confidence)
        return Check("accepted" if self.exact(numbers) else "relaxed", 1.0, None, reason, confidence=confidence)
