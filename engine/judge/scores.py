"""Scores of mined labels by a trained judge: what it would have said of every swap. D is the width of the features."""

from collections.abc import Callable, Mapping
from typing import Any

from engine.analysis.judge import DECIMALS
from engine.errors import ModelMismatch
from engine.judge.events import PromptFinished
from engine.judge.features import blocks_of, matrix
from engine.judge.store import labels_of
from engine.judge.weights import Judge
from engine.model import Model


def scorer(judge: Judge, models: Mapping[str, Model]) -> Callable[[PromptFinished], None]:
    """A function that writes p(important) into each label of a prompt; "draft" and "target" are in `models`.

    Raises:
        ModelMismatch: the judge was trained on other models.
    """
    judge.check({role: model.revision for role, model in models.items()})
    roles = {block.split(":")[0] for block in judge.kind.blocks}
    read = {role: model for role, model in models.items() if role in roles}

    def score(prompt: PromptFinished) -> None:
        rows_LD = matrix(blocks_of([prompt], read), judge.kind)
        for label, row_D in zip(labels_of([prompt]), rows_LD, strict=True):
            label.score = round(judge.score(row_D), DECIMALS)

    return score


def about(judge: Judge) -> dict[str, Any]:
    """What a mined file says of the judge that scored it."""
    return {"task": judge.task, "mined_sha256": judge.meta.get("mined_sha256", ""), "threshold": judge.threshold}


def fitting(judges: Mapping[str, Judge], task: str, models: Mapping[str, Model]) -> Judge | None:
    """The judge of a task that was trained on these models, if one is there; `judges` by role."""
    for judge in judges.values():
        try:
            judge.check({role: model.revision for role, model in models.items()}, task)
        except ModelMismatch:
            continue
        return judge
    return None
