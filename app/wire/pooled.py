"""Many runs taken together. See `app.wire`."""

from typing import Any, NotRequired, TypedDict

from app.wire.figures import Captioned, Plot
from app.wire.shape import Mean


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
    iterations: NotRequired[int]  # of texts that are written in place; an index has none
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
    within: NotRequired[list[Mean | None]]  # those shares over prompts; older files have none
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
    """Figures by section; those that set tasks side by side, by method; reports of engines beside own runs."""

    sections: list[SectionPlots]
    tasks: dict[str, Plot]
    served: list[Captioned]


class Depths(TypedDict):
    """Share of verify passes that accepted the draft up to each depth from 1, with 95 % where counts are told."""

    depth: list[int]
    marginal: list[float]
    low: list[float | None]
    high: list[float | None]


class Served(TypedDict):
    """What an engine reports, or the same of own runs; null where it is not told, with its name in `lacks`."""

    label: str
    engine: str
    model: str
    reports: int
    of: str  # what the reports are: requests, counters, lines of a log
    tokens: int | None
    rounds: int | None  # calls that verified a draft
    drafted: int | None
    accepted: int | None
    tau: Mean | None
    accept_rate_drafted: Mean | None
    accept_by_depth: Depths | None
    accepted_histogram: list[int] | None
    tokens_per_s: float | None
    lacks: list[str]


class AdviceOption(TypedDict):
    """A method with its settings and its forecast; `computed_from_gamma`: the longer draft that it was cut from."""

    label: str
    method: str
    title: str
    knobs: dict[str, Any]
    speedup: Mean | None
    tau: float
    levels: int
    computed_from_gamma: int | None


class CloseCall(TypedDict):
    """A rival whose speed these prompts do not tell from the best's; `prompts` would, null: choose either."""

    label: str
    ratio: float | None
    low: float | None
    high: float | None
    prompts: int | None


class Configuration(TypedDict):
    """What an engine takes; without text it has no such method, and `note` says so."""

    engine: str
    fields: dict[str, Any] | None
    text: str
    note: str


class AdviceKind(TypedDict):
    """What to use for one kind of prompts; `pays` is null where the interval holds 1."""

    kind: str
    prompts: int
    best: AdviceOption
    pays: bool | None
    close: list[CloseCall]
    options: list[AdviceOption]
    batches: list[dict[str, Any]]
    configurations: list[Configuration]


class NamedRun(TypedDict):
    """A run of an index by its file, which is opened on demand."""

    file: str
    label: str
    task: str
    key: str
    prompt: str
    tokens: int
    calls: int
    tau: float


class Advice(TypedDict, total=False):
    """Advice from the runs at hand, with what it was measured on; `missing` says why there is none."""

    label: str
    kinds: list[AdviceKind]
    missing: str


class Pooled(TypedDict):
    """Many runs taken together: GET and POST /lab/pooled."""

    kind: str
    schema: int
    target: PoolTarget
    device: str
    dtype: str
    runs: int
    left_out: NotRequired[int]  # runs that were cut off, which no number holds
    created: str
    commands: list[str]
    sections: list[PoolSection]
    named: NotRequired[list[NamedRun]]  # of an index
    served: NotRequired[list[Served]]  # where files of engines were among them
    advice: NotRequired[Advice]  # of a visitor's runs
    plots: PoolPlots
