"""No shape: nothing is drafted."""

from typing import ClassVar

from engine.config import Knob
from engine.parts import Kit, Knobs, Outcome


class NoShape:
    """The shape of autoregressive decoding."""

    NAME: ClassVar[str] = "none"
    TITLE: ClassVar[str] = "no shape"
    KIND: ClassVar[str] = "none"
    NEEDS: ClassVar[tuple[str, ...]] = ()
    KNOBS: ClassVar[tuple[Knob, ...]] = ()

    def __init__(self, kit: Kit, knobs: Knobs) -> None: ...

    def begin(self) -> None: ...

    def observe(self, outcome: Outcome) -> None: ...
