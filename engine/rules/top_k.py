"""Top-K (K9): the exact rule, but a refused guess stays when it is among the target's K first choices (AutoJudge's baseline)."""

from typing import Any, ClassVar

from engine.config import Guarantee, Knob
from engine.parts import Kit, Knobs
from engine.verify import Verdict, walk
from engine.view import RoundView


class TopK:
    """AutoJudge section 4, baseline "Top-K". K = 1 is lossless when greedy."""

    NAME: ClassVar[str] = "top_k"
    GUARANTEE: ClassVar[Guarantee] = "lossy"
    NEEDS: ClassVar[tuple[str, ...]] = ()
    SHAPES: ClassVar[tuple[str, ...]] = ()
    entries = 0
    KNOBS: ClassVar[tuple[Knob, ...]] = (
        Knob(
            "accept_k",
            4,
            "keep any guess among this many first choices of the target",
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

    def decide(self, view: RoundView) -> Verdict:
        return walk(view, bonus=self.bonus, override=self._override)

    def _override(self, view: RoundView, node: int) -> tuple[bool, dict[str, Any], None]:
        rank, gap = view.ranks[node]
        keep = rank <= self.k
        return keep, {"rank": rank, "k": self.k, "gap": gap} | ({"id": "topk_relaxed"} if keep else {}), None
