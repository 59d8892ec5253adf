"""The empty drafter: nothing is drafted, and the loop becomes ordinary autoregressive decoding."""

from collections.abc import Sequence
from typing import Any, ClassVar

from engine.config import Knob
from engine.draft import EMPTY, Draft
from engine.parts import Context, Kit, Knobs, Outcome


class NoDrafter:
    """Proposes EMPTY in every round."""

    NAME: ClassVar[str] = "none"
    TITLE: ClassVar[str] = "No draft"
    KNOBS: ClassVar[tuple[Knob, ...]] = ()
    SHAPES: ClassVar[tuple[str, ...]] = ("none",)
    NEEDS: ClassVar[tuple[str, ...]] = ()
    DISTRIBUTIONS: ClassVar[bool] = False
    WANTS: ClassVar[tuple[str, ...]] = ()
    taps: tuple[int, ...] = ()

    def __init__(self, kit: Kit, knobs: Knobs) -> None: ...

    def begin(self, tokens: Sequence[int]) -> None: ...

    def propose(self, context: Context, shape: Any) -> Draft:
        return EMPTY

    def observe(self, outcome: Outcome) -> None: ...
