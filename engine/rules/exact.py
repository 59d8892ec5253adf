"""The exact rule: output follows the target's distribution (K1 and K4 greedy; K2, K5, K6 sampled)."""

from typing import ClassVar, cast

from engine.config import Guarantee, Knob
from engine.parts import Kit, Knobs
from engine.threshold import Threshold
from engine.verify import Correction, Verdict, walk
from engine.view import RoundView

CORRECTION = Knob(
    "correction",
    "residual",
    "distribution of the token that replaces a rejected draft token; 'target' is not lossless above temperature 0",
    choices=("residual", "target"),
    origin="paper",
    advanced=True,
    lossy=("target",),
)


class Exact:
    """Leviathan et al. 2023, algorithm 1; on trees the walk of SpecInfer and EAGLE, without bias for any draw."""

    NAME: ClassVar[str] = "exact"
    TITLE: ClassVar[str] = "exact rule"
    KNOBS: ClassVar[tuple[Knob, ...]] = (CORRECTION,)
    GUARANTEE: ClassVar[Guarantee] = "lossless"
    NEEDS: ClassVar[tuple[str, ...]] = ()
    SHAPES: ClassVar[tuple[str, ...]] = ()
    THRESHOLD: ClassVar[Threshold | None] = None
    entries = 0
    bonus = True

    def __init__(self, kit: Kit, knobs: Knobs) -> None:
        self.correction = cast(Correction, knobs["correction"])

    def decide(self, view: RoundView) -> Verdict:
        return walk(view, correction=self.correction)
