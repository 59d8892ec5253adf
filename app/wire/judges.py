"""What judges are worth, as measured. See `app.wire`."""

from typing import Any, NotRequired, TypedDict

from app.wire.figures import Captioned, Plot
from app.wire.shape import Mean
from engine.config import KnobValue


class JudgeScores(TypedDict):
    """Scores of labels that a judge had not seen in training, their truth, and the threshold that it has."""

    scores: list[float]
    truth: list[int]  # 1: the label is important
    threshold: float


class JudgedSetting(TypedDict):
    """One setting on all held-out problems."""

    name: str
    group: str
    method: str
    knobs: dict[str, KnobValue]
    calls: int
    tokens: int
    tokens_per_call: float
    accepted_per_call: float
    tokens_per_call_by_problem: Mean | None
    accuracy: Mean | None
    accuracy_drop: Mean | None  # against speculative decoding, paired over problems
    bleu: NotRequired[Mean | None]  # of the corpus, where the task has one
    bleu_drop: NotRequired[Mean | None]  # against speculative decoding, paired over problems
    same_text_as_sd: float
    tokens_per_s: NotRequired[float]  # where times were taken
    speedup: NotRequired[Mean | None]  # over the target alone


class JudgeResult(TypedDict):
    """What a judge is worth: docs/results/judge-TASK.json, with its figure."""

    task: str
    problems: int
    window: int  # tokens drafted a round
    limit: int
    problem_seed: int
    threshold: float | None
    auc: float | None
    groups: dict[str, str]  # what the groups of settings are called
    rows: list[JudgedSetting]
    above_topk: Mean | None  # share of the range that both curves have
    gap_to_topk: Mean | None  # accuracy, on average over that range
    above_transfer: Mean | None
    gap_to_transfer: Mean | None
    models: dict[str, Any]
    command: str
    figure: Plot
    rules: NotRequired[str | None]  # the judge beside the best math rule, in words; null where there is no rule
    lines: NotRequired[dict[str, str | None]]  # by group: what its comparison rests on where it has few settings
    decoding: NotRequired[dict[str, Any]]  # of all settings; the recorded ones were greedy, without a template
    shots: NotRequired[int]
    notes: NotRequired[list[str]]


class Evaluation(TypedDict):
    """A task; what was not measured is null, and `command` measures it."""

    task: str
    command: str
    result: JudgeResult | None
    judge: JudgeScores | None


class Evaluations(TypedDict):
    """All tasks: GET /lab/evaluations."""

    tasks: list[Evaluation]


class Judged(TypedDict):
    """The curves of scored labels: POST /lab/judged."""

    figures: list[Captioned]
