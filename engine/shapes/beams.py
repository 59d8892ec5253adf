"""How many beams a search keeps."""

from typing import ClassVar

from engine.config import Knob
from engine.parts import Kit, Knobs, Outcome


class BeamWidth:
    """N beams, each one response in the making."""

    NAME: ClassVar[str] = "beams"
    KIND: ClassVar[str] = "beams"
    OWN_RULE: ClassVar[bool] = True
    NEEDS: ClassVar[tuple[str, ...]] = ()
    KNOBS: ClassVar[tuple[Knob, ...]] = (
        Knob(
            "beams",
            5,
            "responses that are kept side by side; 1 is greedy decoding",
            low=1,
            high=64,
            step=1,
            unit="beams",
            origin="paper",
        ),
    )

    def __init__(self, kit: Kit, knobs: Knobs) -> None:
        self.width = int(knobs["beams"])

    def begin(self) -> None: ...

    def observe(self, outcome: Outcome) -> None: ...
