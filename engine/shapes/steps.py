"""Whole steps: a draft ends where a sentence, a line or a paragraph does (RSD, Liao et al. 2025, arXiv 2501.19324)."""

from collections.abc import Sequence
from typing import ClassVar

from torch import Tensor

from engine.config import Knob
from engine.draft import Draft
from engine.parts import Kit, Knobs, Outcome
from engine.reward.steps import BLANK_LINE, ended

AUTO, BETWEEN, BREAK = "auto", "|", "\\n"  # a knob is one line: a line break in it is written \n


class Steps:
    """Drafts to the end of the step. After a token in a draft's place the target finishes the step by itself."""

    NAME: ClassVar[str] = "steps"
    KIND: ClassVar[str] = "steps"
    NEEDS: ClassVar[tuple[str, ...]] = ()
    KNOBS: ClassVar[tuple[Knob, ...]] = (
        Knob(
            "step_end",
            AUTO,
            "what ends a step, such as \\n\\n, or several as .|\\n; auto is what the reward model was trained with, "
            "a blank line where it does not say",
        ),
        Knob("step_limit", 256, "most tokens of a drafted step", 1, 4096, 1, "tokens"),
    )

    def __init__(self, kit: Kit, knobs: Knobs) -> None:
        self.most, self.decode = int(knobs["step_limit"]), kit.target.tokenizer.decode
        own = getattr(kit.assets.get("prm"), "delimiters", BLANK_LINE)
        given = str(knobs["step_end"]).replace(BREAK, "\n")
        chosen = own if given == AUTO else tuple(given.split(BETWEEN))
        self.delimiters = tuple(filter(None, chosen)) or BLANK_LINE
        self.begin()

    def begin(self) -> None:
        self._written: list[int] = []  # by the target, of a step that it has not ended

    def limit(self) -> int:
        return 0 if self._written else self.most

    def more(self, drafted: int, logits_V: Tensor) -> bool:
        return True

    def ends(self, drafted: Sequence[int]) -> bool:
        return ended(self.decode(drafted), self.delimiters)

    def keep(self, draft: Draft) -> Draft:
        return draft

    def observe(self, outcome: Outcome) -> None:
        verdict = outcome.verdict
        before = [] if verdict.path else self._written
        own = outcome.emitted[len(verdict.path) :] if verdict.origin != "bonus" else []
        written = [*before, *own]
        self._written = [] if self.ends(written) else written
