"""What was measured, as it goes over the wire: judges, pooled runs, trajectories, draft trees. See `app.wire`."""

from typing import Annotated, Any, Literal, NotRequired, TypedDict

from app.wire import LaneRequest, Shape
from engine.analysis.intervals import Interval
from engine.config import KnobValue

Mean = Annotated[dict[str, Any], Shape(Interval)]


class Plot(TypedDict):
    """A figure of plotly.js; `layout.meta.colours` names the colours that the page puts in."""

    data: list[dict[str, Any]]
    layout: dict[str, Any]


class Captioned(TypedDict):
    """A figure and what it says."""

    figure: Plot
    caption: str


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
    above_topk: float | None
    gap_to_topk: float | None
    above_transfer: float | None
    gap_to_transfer: float | None
    models: dict[str, Any]
    command: str
    figure: Plot
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


class Quality(TypedDict):
    """What fits a method's task, see `engine.analysis.quality`; shares from 0 to 1, BLEU, chrF and ROUGE to 100."""

    responses: int
    prompts: int
    repeats: int
    response_tokens: NotRequired[Mean]
    response_tokens_difference: NotRequired[Mean]
    same_as_ar: NotRequired[Mean]
    accuracy: NotRequired[Mean]
    accuracy_difference: NotRequired[Mean]
    majority: NotRequired[Mean]
    majority_difference: NotRequired[Mean]
    bleu: NotRequired[Mean]
    bleu_difference: NotRequired[Mean]
    bleu_relative: NotRequired[Mean]
    chrf: NotRequired[Mean]
    chrf_difference: NotRequired[Mean]
    rouge1: NotRequired[Mean]
    rouge1_difference: NotRequired[Mean]
    rouge2: NotRequired[Mean]
    rouge2_difference: NotRequired[Mean]
    rougeL: NotRequired[Mean]
    rougeL_difference: NotRequired[Mean]


class PoolMethod(TypedDict):
    """A method's counts, and intervals over prompts."""

    label: str
    method: str
    guarantee: str
    runs: int
    generated: int
    calls: int
    tokens: int  # given to the target, roots included
    calls_each: Mean | None
    tokens_each: Mean | None
    tau: Mean | None
    speedup: Mean | None
    tokens_per_s: float | None
    draft_s: float
    verify_s: float
    other_s: float
    quality: NotRequired[Quality]  # older recordings have none


class Quantiles(TypedDict):
    """Share of the rounds whose last accepted token ranks within a part of N."""

    quantile: list[float]
    share: list[float]


class Ranks(TypedDict):
    """Rounds and tokens a call by the rank of the last accepted token."""

    tcr: list[int]
    tau: list[float]
    rounds: list[int]


class RankEntropies(Ranks):
    """The same with the mean cumulative entropy, nats."""

    phi: list[float]


class Bins(TypedDict):
    """What was done in each bin of cumulative entropy."""

    bin: list[int]
    rounds: list[int]
    share: list[float]
    phi: list[float]
    tau: list[float]
    levels: list[float]
    n_verify: list[float]


class PoolTree(TypedDict):
    """The ranks of a method that drafts trees."""

    size: int  # the largest N, root included
    steady: float  # share of the rounds that have it
    rounds: int
    quantiles: Quantiles
    ranks: Ranks
    entropy: RankEntropies
    bins: Bins


class Mechanism(TypedDict):
    """A row of the ablation; savings are against the first row."""

    method: str
    calls: int
    tokens: int
    tau: float
    calls_saved: float
    tokens_saved: float
    speedup: Mean | None


class Granularity(TypedDict):
    """How far regression trees of other depths call the same rounds low in entropy; `missing` says why not."""

    label: str
    samples: int
    full: int
    rounds: NotRequired[str]
    overlap: NotRequired[dict[str, float]]
    missing: NotRequired[str]


class PoolSection(TypedDict):
    """The runs of a task, or of all."""

    task: str
    prompts: int
    even: bool  # the same prompts for all methods
    methods: list[PoolMethod]
    figures: dict[str, PoolTree]
    ablation: list[Mechanism]
    granularity: list[Granularity]


class PoolTarget(TypedDict, total=False):
    """The target of pooled runs."""

    id: str
    revision: str
    sha256: str
    parameters: int


class SectionPlots(TypedDict):
    """Figures of a section: of all methods, and of each that drafts trees."""

    methods: list[Captioned]
    trees: dict[str, list[Captioned]]


class PoolPlots(TypedDict):
    """Figures by section; those that set tasks side by side, by method."""

    sections: list[SectionPlots]
    tasks: dict[str, Plot]


class Pooled(TypedDict):
    """Many runs taken together: GET and POST /lab/pooled."""

    kind: str
    schema: int
    target: PoolTarget
    device: str
    dtype: str
    runs: int
    created: str
    commands: list[str]
    sections: list[PoolSection]
    plots: PoolPlots


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
    task: str | None
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
    overlap: NotRequired[list[Overlap] | None]
    acceptance: NotRequired[dict[str, Replayed] | None]
    names: dict[str, str]
    figure: Plot


class OfferedProblem(TypedDict):
    """A problem to try."""

    task: str
    prompt: str


class Trajectories(TypedDict):
    """What is on show without a model: GET /lab/trajectories."""

    examples: list[TrajectoryExample]
    results: TrajectoryResults | None
    problems: list[OfferedProblem]
    most: int  # trajectories of one method


class InitialTree(TypedDict):
    """The tree that another was chosen from: rounds in which each node was accepted, and the nodes that stay."""

    parents: list[int]
    ranks: list[int]
    profile: list[int]  # nodes at each depth
    counts: list[int]
    kept: list[int]


class TreeSettings(TypedDict):
    """How a tree was counted."""

    target: str
    prompts: str
    method: str
    knobs: dict[str, KnobValue]
    n: int
    temperature: float
    max_new_tokens: int
    seed: int
    nodes: int
    tree: str


class TreeCalibration(TypedDict):
    """On which problems."""

    task: str | None
    prompts: int
    sha256: str
    each: list[str]


class DraftTree(TypedDict):
    """A draft tree: its card, node by node parent and rank, and the tree that it was chosen from (null when grown)."""

    file: str
    name: str
    title: str
    made_by: str
    note: NotRequired[str]
    made: dict[str, float]
    settings: NotRequired[TreeSettings]
    calibration: NotRequired[TreeCalibration]
    usage: NotRequired[dict[str, Any]]
    rounds: NotRequired[int]
    accepted_a_round: NotRequired[float]
    kind: str
    nodes: int
    depth: int
    profile: list[int]
    parents: list[int]
    ranks: list[int]
    initial: InitialTree | None


class Trees(TypedDict):
    """All draft trees, and figures of nodes by depth by the file of an optimised tree: GET /lab/trees."""

    trees: list[DraftTree]
    profiles: dict[str, Plot]


class PaperCount(TypedDict):
    """A paper with its verdicts counted."""

    name: str
    title: str
    method: str
    verdicts: dict[str, int]


class PaperList(TypedDict):
    """The papers: GET /lab/papers."""

    papers: list[PaperCount]


class PaperRow(TypedDict):
    """A row of a table: numbers as they are told, null where there is none."""

    name: str
    cells: list[str | None]


class PaperTable(TypedDict):
    """A table of a paper, or ours in its form; no figure where it is shown as numbers alone."""

    title: str
    x: str
    y: str
    columns: list[str]
    rows: list[PaperRow]
    figure: Plot | None


class PaperCheck(TypedDict):
    """A statement of a paper, how the numbers decide it, and the numbers."""

    says: str
    outcome: Literal["holds", "fails", "open", "missing"]
    evidence: str


class PaperLive(TypedDict):
    """What the page may run at once: methods on one problem."""

    lanes: list[LaneRequest]
    task: str
    prompt: str
    answer: str
    temperature: float
    max_new_tokens: int


class PaperItem(TypedDict):
    """A table or figure of a paper, what came of it here, and the verdict."""

    id: str
    name: str
    shows: str
    claim: str
    setting: str
    here: str
    stated: str
    larger: str
    untestable: str
    illustration: bool
    verdict: str
    command: str
    created: str
    prompts: dict[str, int]
    source: list[str]
    printed: list[PaperTable]
    ours: list[PaperTable]
    checks: list[PaperCheck]
    live: PaperLive | None
    cases: list[str]


class PaperShown(TypedDict):
    """One paper: GET /lab/paper."""

    name: str
    title: str
    method: str
    setting: str
    note: str
    items: list[PaperItem]
