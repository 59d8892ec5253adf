"""The shape of a text that is written in place: how many places it has is for whoever writes it."""

from typing import ClassVar

from engine.config import Knob
from engine.parts import Kit, Knobs, Outcome


class WholeCanvas:
    """All places at once."""

    NAME: ClassVar[str] = "canvas"
    KIND: ClassVar[str] = "canvas"
    OWN_RULE: ClassVar[bool] = True
    NEEDS: ClassVar[tuple[str, ...]] = ()
    KNOBS: ClassVar[tuple[Knob, ...]] = ()

    def __init__(self, kit: Kit, knobs: Knobs) -> None: ...

    def begin(self) -> None: ...

    def observe(self, outcome: Outcome) -> None: ...
