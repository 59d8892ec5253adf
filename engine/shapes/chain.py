"""A chain of fixed length."""

from typing import ClassVar

from torch import Tensor

from engine.config import Knob
from engine.draft import Draft
from engine.parts import Kit, Knobs, Outcome


class Chain:
    """Drafts gamma tokens each round, and verifies them all."""

    NAME: ClassVar[str] = "chain"
    KIND: ClassVar[str] = "chain"
    NEEDS: ClassVar[tuple[str, ...]] = ()
    KNOBS: ClassVar[tuple[Knob, ...]] = (
        Knob("gamma", 5, "tokens drafted each round", low=0, high=128, step=1, unit="tokens"),
    )

    looks = False

    def __init__(self, kit: Kit, knobs: Knobs) -> None:
        self.gamma = int(knobs["gamma"])

    def begin(self) -> None: ...

    def limit(self) -> int:
        return self.gamma

    def more(self, drafted: int, logits_V: Tensor) -> bool:
        return True

    def keep(self, draft: Draft) -> Draft:
        return draft

    def observe(self, outcome: Outcome) -> None: ...
