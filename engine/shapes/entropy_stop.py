"""AdaEDL's chain: draft on while the entropy bound allows (2410.18351; methods.md 4.23)."""

from dataclasses import replace
from typing import ClassVar

from torch import Tensor

from engine.config import Knob
from engine.draft import Draft
from engine.parts import Kit, Knobs, Outcome
from engine.sampling import entropy
from engine.stopping import KNOBS, EntropyBound


class EntropyStop:
    """The first token is always drafted; at temperature 0 the entropy is of the unscaled softmax, or it would never stop."""

    NAME: ClassVar[str] = "entropy_stop"
    KIND: ClassVar[str] = "chain"
    KNOBS: ClassVar[tuple[Knob, ...]] = (
        Knob("gamma", 10, "most tokens drafted each round", 0, 128, 1, "tokens"),
        *KNOBS,
    )

    def __init__(self, kit: Kit, knobs: Knobs) -> None:
        self.gamma, self.bound = int(knobs["gamma"]), EntropyBound(knobs)
        self._stopped: float | None = None

    def begin(self) -> None:
        self.bound.begin()

    def limit(self) -> int:
        self._stopped = None
        return self.gamma

    def more(self, drafted: int, logits_V: Tensor) -> bool:
        if drafted == 0:
            return True
        h = float(entropy(logits_V.unsqueeze(0)))
        if self.bound.stops(h):
            self._stopped = h
            return False
        return True

    def keep(self, draft: Draft) -> Draft:
        return replace(draft, extras={**draft.extras, "lambda": self.bound.threshold, "stop_entropy": self._stopped})

    def observe(self, outcome: Outcome) -> None:
        self.bound.update(len(outcome.draft), len(outcome.verdict.path), self.gamma)
