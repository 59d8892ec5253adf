"""Top-K (K9): the exact rule, but a rejected draft token stays when it is among the target's K first choices."""

from typing import ClassVar

from engine.config import Guarantee, Knob
from engine.parts import Kit, Knobs
from engine.threshold import Compare, Recorded, Setting, Threshold, bind
from engine.trace.records import Reason
from engine.verify import Verdict, walk
from engine.view import RoundView

_IN_TOP = Compare(Recorded("rank", field=""), "<=", Setting("accept_k"))


class TopK:
    """AutoJudge, section 4, baseline "Top-K". K = 1 is lossless when greedy.

    The published code compares draft token i with the target's choices for token i + 1, so that its K = 1 is not
    lossless; here each token is compared with the choices at its own position.
    """

    NAME: ClassVar[str] = "top_k"
    TITLE: ClassVar[str] = "Top-K"
    GUARANTEE: ClassVar[Guarantee] = "lossy"
    NEEDS: ClassVar[tuple[str, ...]] = ()
    SHAPES: ClassVar[tuple[str, ...]] = ()
    THRESHOLD: ClassVar[Threshold | None] = Threshold(
        "override",
        _IN_TOP,
        says="accepted where the draft token is among the target's first accept_k",
        limits=(("rank", "k"),),
    )
    entries = 0
    KNOBS: ClassVar[tuple[Knob, ...]] = (
        Knob(
            "accept_k",
            4,
            "accept any draft token among this many first choices of the target for its position; 1 is lossless when "
            "greedy",
            1,
            1_000_000,
            1,
            "tokens",
            origin="paper",
        ),
        Knob("bonus", True, "emit the target's next token after a fully accepted draft", advanced=True),
    )

    def __init__(self, kit: Kit, knobs: Knobs) -> None:
        self.k, self.bonus = int(knobs["accept_k"]), bool(knobs["bonus"])
        self.holds = bind(_IN_TOP, knobs)

    def decide(self, view: RoundView) -> Verdict:
        view.along("choice", "ranks")
        return walk(view, bonus=self.bonus, override=self._override)

    def _override(self, view: RoundView, node: int) -> tuple[bool, Reason, None]:
        rank, gap = view.ranks[node]
        keep = bool(self.holds({"rank": rank}))
        reason: Reason = {"rank": rank, "k": self.k, "gap": gap}
        return keep, reason | Reason(id="topk_relaxed") if keep else reason, None
