"""Trajectories: recorded examples, results over many problems, what is drawn live. See `app.wire`."""

from typing import Any, NotRequired, TypedDict

from app.wire.figures import Plot
from app.wire.shape import Mean
from engine.config import KnobValue
from engine.files.presets import Family


class Vote(TypedDict):
    """The majority so far."""

    answer: str | None
    count: int
    n: int
    share: float
    right: bool | None


class TrajectoryRow(TypedDict):
    """A finished trajectory. By position: length of the n-gram it ends, times it was seen, the trajectory it was in."""

    trajectory: int
    seed: int
    pieces: list[str]
    tokens: int
    rounds: int
    seconds: float
    tau: float | None
    reused: list[int]
    times: list[int]
    first: list[int]
    answer: str | None
    right: bool | None
    reason: str
    message: str
    vote: Vote | None


class TrajectoryMethod(TypedDict):
    """A method that trajectories are drawn with."""

    key: str
    method: str
    title: str
    knobs: dict[str, KnobValue]


class TrajectoryLane(TrajectoryMethod):
    """The same with what it drew."""

    rows: list[TrajectoryRow]


class TrajectoryHead(TypedDict):
    """What is being drawn live."""

    prompt: str
    task: str  # by which an answer is read
    answer: str | None
    n: int
    temperature: float
    max_new_tokens: int
    seed: int
    models: str
    methods: list[TrajectoryMethod]


class TrajectoryTarget(TypedDict):
    """The target of a recorded example."""

    id: str
    revision: str
    parameters: int
    layers: int
    width: int
    vocab: int
    context: int
    lean: bool


class TrajectoryExample(TypedDict):
    """A recorded problem."""

    kind: str
    name: str
    command: str
    created: str
    target: TrajectoryTarget
    device: str
    prompt: str
    task: str
    answer: str | None
    n: int
    temperature: float
    max_new_tokens: int
    seed: int
    methods: list[TrajectoryLane]
    figure: Plot


class Measured(TypedDict):
    """How a part of the results was measured."""

    family: str
    split: str
    n: int
    temperature: float
    max_new_tokens: int
    seed: int
    target: str


class FirstK(TypedDict):
    """A method over the first k trajectories."""

    method: str
    k: int
    problems: int
    tau: Mean | None
    tau_pooled: float
    tokens_per_s: float
    verify_per_token: float


class OneTrajectory(TypedDict):
    """A method's i-th trajectory alone."""

    method: str
    trajectory: int
    problems: int
    tau: Mean | None


class Gap(TypedDict):
    """One method less another, paired over problems."""

    a: str
    b: str
    k: int
    problems: int
    difference: Mean | None


class TrajectoryPart(TypedDict):
    """Methods compared over many problems; `accuracy` by method and number of trajectories."""

    settings: Measured
    over_k: list[FirstK]
    by_trajectory: list[OneTrajectory]
    growth: list[dict[str, Any]]
    differences: list[Gap]
    accuracy: dict[str, dict[str, float | None]]


class Replayed(TypedDict):
    """Acceptance of the first draft token on the same texts: the most probable one, or one that is drawn."""

    n: int
    deterministic: Mean | None
    stochastic: Mean | None
    difference: Mean | None


class Overlap(TypedDict):
    """Shares of n-grams of one order over the first trajectories."""

    trajectories: int
    order: int
    problems: int
    repeated: float
    seen_before: float


class TrajectoryResults(TypedDict):
    """docs/results/trajectories.json with its figure and what the methods are called."""

    kind: str
    created: str
    commands: list[str]
    compare: TrajectoryPart
    ablation: NotRequired[TrajectoryPart | None]
    trees: NotRequired[TrajectoryPart | None]
    others: NotRequired[TrajectoryPart | None]
    elsewhere: NotRequired[TrajectoryPart | None]
    overlap: NotRequired[list[Overlap] | None]
    acceptance: NotRequired[dict[str, Replayed] | None]
    names: dict[str, str]
    figure: Plot


class OfferedProblem(TypedDict):
    """A problem to try."""

    task: str
    prompt: str
    family: Family  # of the models that can answer it


class Trajectories(TypedDict):
    """What is on show without a model: GET /lab/trajectories."""

    examples: list[TrajectoryExample]
    results: TrajectoryResults | None
    problems: list[OfferedProblem]
    reads: dict[str, str]  # by task, how an answer that can be compared is read off a text
    most: int  # trajectories of one method
