"""The rule of a text that is written in place: nothing counts before its last iteration, and then all of it."""

from typing import ClassVar

from engine.config import Guarantee, Knob
from engine.draft import CanvasDraft
from engine.parts import Kit, Knobs
from engine.threshold import Threshold
from engine.verify import Verdict
from engine.view import RoundView


class FinalCanvas:
    """Takes the final canvas as the text. Nothing is checked, and temperature, top-k and top-p do nothing."""

    NAME: ClassVar[str] = "canvas"
    KNOBS: ClassVar[tuple[Knob, ...]] = ()
    GUARANTEE: ClassVar[Guarantee] = "lossy"
    NEEDS: ClassVar[tuple[str, ...]] = ()
    SHAPES: ClassVar[tuple[str, ...]] = ("canvas",)
    THRESHOLD: ClassVar[Threshold | None] = None
    entries = 0
    bonus = False

    def __init__(self, kit: Kit, knobs: Knobs) -> None: ...

    def decide(self, view: RoundView) -> Verdict:
        """The whole text, or nothing yet."""
        draft = view.draft
        assert isinstance(draft, CanvasDraft)
        return Verdict([*range(len(draft))], ends=True) if draft.final else Verdict()
