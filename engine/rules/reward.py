"""RSD: a process reward model reads the drafted step, and keeps it or leaves the step to the target.

Liao et al., "Reward-Guided Speculative Decoding for Efficient LLM Reasoning" (arXiv 2501.19324), algorithm 1 with the
binary step weight; the baseline of EASD's tables. The target sees a step that was kept only when it next writes.
"""

from typing import ClassVar

from engine.config import Guarantee, Knob
from engine.draft import EMPTY, Draft
from engine.parts import Context, Kit, Knobs
from engine.reward.likelihood import LikelihoodReward
from engine.reward.model import RewardModel
from engine.threshold import Compare, Recorded, Setting, Threshold, bind
from engine.trace.records import Reason, RoundExtras
from engine.verify import Check, Verdict
from engine.view import RoundView

_ENOUGH = Compare(Recorded("reward", field=""), ">=", Setting("reward_threshold"))


class Reward:
    """Keep a step whose reward reaches the threshold. 0 keeps all: the draft model alone; above 1 none: the target."""

    NAME: ClassVar[str] = "reward"
    GUARANTEE: ClassVar[Guarantee] = "lossy"
    NEEDS: ClassVar[tuple[str, ...]] = ("prm",)
    DECODER_ONLY: ClassVar[str] = "reward models read question and answer as one text."
    SHAPES: ClassVar[tuple[str, ...]] = ("steps",)
    THRESHOLD: ClassVar[Threshold | None] = Threshold(
        "decide",
        _ENOUGH,
        says="a drafted step is accepted, unseen by the target, where its reward is at least reward_threshold",
        limits=(("reward", "threshold"),),
    )
    entries = 0
    bonus = False
    KNOBS: ClassVar[tuple[Knob, ...]] = (
        Knob(
            "reward_threshold",
            0.7,
            "accept a drafted step whose reward is at least this; 0 accepts all, 1.01 none",
            0.0,
            1.01,
            0.01,
            "probability",
            origin="paper",
        ),
    )

    def __init__(self, kit: Kit, knobs: Knobs) -> None:
        model = kit.assets["prm"]
        assert isinstance(model, RewardModel | LikelihoodReward)
        self.reader, self.decode = model.reader(), kit.target.tokenizer.decode
        self.threshold, self.holds = float(knobs["reward_threshold"]), bind(_ENOUGH, knobs)
        self._reward: float | None = None  # of this round's draft

    def wanted(self, draft: Draft, context: Context) -> Draft | None:
        """Score the step. The target is called for its own token only, and not at all where the step is accepted."""
        if not len(draft):
            return draft
        response = self.decode([*context.tokens[context.prompt :], *draft.tokens])
        self._reward = self.reader.score(context.question, response)
        return None if self._enough() else EMPTY

    def _enough(self) -> bool:
        return bool(self.holds({"reward": self._reward}))

    def decide(self, view: RoundView) -> Verdict:
        """All of the step, or the first token of the target's own."""
        if not len(view.draft):
            return Verdict([], view.emit(0), "target")
        keep = self._enough()
        facts: Reason = {"reward": self._reward, "threshold": self.threshold}
        state, name = ("accepted", "reward_accept") if keep else ("rejected", "reward_reject")
        nodes = range(len(view.draft))
        checks = {node: Check(state, None, None, {"id": name, **facts}) for node in nodes}
        extras: RoundExtras = {"reward": self._reward, "reward_tokens": self.reader.read}
        if keep:
            return Verdict([*nodes], None, "bonus", checks, extras)
        return Verdict([], view.emit(0), "correction", checks, extras)
