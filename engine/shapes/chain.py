"""A chain of fixed length, or of one that is chosen round by round so that tokens come fastest."""

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from torch import Tensor

from engine.config import AUTO, Knob
from engine.costs.chains import ChainChoice
from engine.draft import Draft
from engine.parts import Kit, Knobs, Outcome
from engine.sampling import first_argmax, sureness, surest


class Chain:
    """Drafts gamma tokens each round, and verifies them all."""

    NAME: ClassVar[str] = "chain"
    KIND: ClassVar[str] = "chain"
    NEEDS: ClassVar[tuple[str, ...]] = ()
    KNOBS: ClassVar[tuple[Knob, ...]] = (
        Knob("gamma", 5, "tokens drafted each round", low=0, high=128, step=1, unit="tokens", auto=True),
    )

    def __init__(self, kit: Kit, knobs: Knobs) -> None:
        self.choice = ChainChoice(kit.known_costs(), kit.forecast) if knobs["gamma"] == AUTO else None
        self.gamma = 0 if self.choice else int(knobs["gamma"])
        self.looks = self.choice is not None
        self.greedy = kit.sampling.greedy
        self._refused: Tensor | None = None  # logits [V] or [1, V] of the token at which the draft ended

    def given(self, kit: Kit) -> None:
        self.greedy = kit.sampling.greedy
        if self.choice:
            self.choice.given(kit.known_costs(), kit.forecast)

    def begin(self) -> None:
        if self.choice:
            self.choice.begin()

    def limit(self) -> int:
        self._refused = None
        return self.choice.limit() if self.choice else self.gamma

    def stepwise(self) -> int:
        self._refused = None
        return self.choice.limit(stepwise=True) if self.choice else self.gamma

    def more(self, drafted: int, logits_V: Tensor) -> bool:
        return self.choice is None or self.goes_on(drafted, sureness(logits_V), logits_V)

    def joins(self, drafted: int, logits_1V: Tensor, largest: int) -> bool:
        return self.goes_on(drafted, sureness(logits_1V, largest), logits_1V)

    def weigh(self, logits_NV: Tensor) -> Tensor:
        return surest(logits_NV)

    def goes_on(self, drafted: int, weight: float, logits_V: Tensor) -> bool:
        if self.choice is None or self.choice.more(drafted, weight):
            return True
        self._refused = logits_V
        return False

    def among(self, logits_NV: Tensor) -> int:
        if self.choice is None:
            return logits_NV.shape[0]
        taken = self.choice.among(surest(logits_NV).tolist())
        self._refused = logits_NV[taken] if taken < logits_NV.shape[0] else None
        return taken

    def ends(self, drafted: Sequence[int]) -> bool:
        return self.choice is not None and self.choice.ends(len(drafted))

    def keep(self, draft: Draft) -> Draft:
        if self.choice is None:
            return draft
        return replace(draft, extras={**draft.extras, **self.choice.told(len(draft), draft.steps).extras()})

    def observe(self, outcome: Outcome) -> None:
        if self.choice:
            drafted, accepted = len(outcome.draft), len(outcome.verdict.path)
            self.choice.observe(drafted, accepted, outcome.draft.steps, self._further(outcome))

    def _further(self, outcome: Outcome) -> bool | None:
        """Whether the target's own token behind a draft that held is the one at which the draft ended."""
        held = len(outcome.draft) == len(outcome.verdict.path) < len(outcome.emitted)
        if self._refused is None or not self.greedy or not held:
            return None
        return int(first_argmax(self._refused)) == outcome.emitted[-1]
