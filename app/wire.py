"""What goes over the wire between server and page, as types; `app.types` writes the page's declarations from them.

Answers are plain JSON. Where a value is made by `dataclasses.asdict`, or is an event of a trace, its shape is named by
`Annotated[..., Shape(kind)]`: the annotation is for the page, the first type for this side.
"""

from dataclasses import dataclass
from typing import Annotated, Any, Literal, NotRequired, TypedDict

from engine.analysis.compared import Compared
from engine.analysis.names import Told
from engine.analysis.repeats import Repeated
from engine.config import Card, Knob, KnobValue
from engine.trace.events import Event

KnobKind = Literal["choice", "switch", "text", "number"]
Phase = Literal["queued", "loading"]


@dataclass(frozen=True)
class Shape:
    """What a plain JSON value is made from."""

    kind: Any


@dataclass(frozen=True)
class PageKnob(Knob):
    """A knob with the control it needs."""

    kind: KnobKind = "number"
    whole: bool = False  # a number without decimals
    origin_text: str = ""  # where the default comes from, in words


@dataclass(frozen=True)
class PageCard(Card):
    """A card of the catalogue."""

    knobs: tuple[PageKnob, ...] = ()
    unavailable: str = ""  # why it cannot run with the models that are loaded; empty when it can, or nobody knows yet


Cards = Annotated[list[dict[str, Any]], Shape(list[PageCard])]
PlainCard = Annotated[dict[str, Any], Shape(Card)]
PlainCompared = Annotated[dict[str, Any], Shape(Compared)]
PlainRepeated = Annotated[dict[str, dict[str, Any]], Shape(dict[str, Repeated])]
PlainEvent = Annotated[dict[str, Any], Shape(Event)]


class LaneRequest(TypedDict):
    """One method of a comparison; knobs that are left out have their defaults."""

    method: str
    knobs: dict[str, KnobValue]


class RunRequest(TypedDict):
    """A comparison as the page asks for it: one prompt, sampling and seed for every lane (`app.request` checks it)."""

    models: str
    prompt: str
    lanes: list[LaneRequest]
    max_new_tokens: int
    temperature: float
    top_p: float
    top_k: int
    seed: int
    chat: bool
    task: NotRequired[str]  # family of the prompt, where it is a problem of one
    answer: NotRequired[str]  # its reference answer
    preset: NotRequired[str]  # the case that the settings come from, empty when none
    id: NotRequired[str]  # 32 hexadecimal digits, made by the page
    visitor: NotRequired[str]  # 32 hexadecimal digits, the same for all tabs of a browser
    stop: NotRequired[list[str]]


class PresetSampling(TypedDict, total=False):
    """Sampling of a case; what is left out has its default."""

    temperature: float
    top_k: int
    top_p: float


class PagePreset(TypedDict):
    """A case; names of settings are those of a request."""

    name: str
    title: str
    story: str
    point: str  # one sentence: what to see
    models: str
    prompt: str
    task: str  # family of the prompt, empty when it is of none
    answer: str  # the reference answer, empty when there is none
    lanes: list[LaneRequest]
    sampling: Annotated[dict[str, Any], Shape(PresetSampling)]
    seed: int
    max_new_tokens: int
    chat: bool
    recorded: bool  # traces come with it


class PageLimits(TypedDict):
    """What a visitor may ask for."""

    tokens: int
    lanes: int
    upload: int  # bytes
    nodes: int  # of all runs in an upload


class Pick(TypedDict):
    """Several methods that are chosen at once."""

    title: str
    methods: list[str]


class Kind(TypedDict):
    """A kind of problem that the embedded models know."""

    task: str
    about: str  # one sentence
    opening: str  # how a prompt of this kind begins
    cue: str  # and ends


class Catalogue(TypedDict):
    """Everything the run bar needs: GET /lab/catalogue?models=NAME."""

    methods: Cards
    presets: list[PagePreset]
    models: list[str]
    picks: list[Pick]
    kinds: list[Kind]
    taught: list[str]  # those of the models that know these kinds of problem, and little else
    first: str  # the preset that the page opens with, empty when there is none
    limits: PageLimits
    names: Annotated[list[dict[str, str]], Shape(list[Told])]  # what the numbers are called elsewhere


class Lane(TypedDict):
    """A whole run, each candidate and token with its sentence."""

    key: str
    card: PlainCard
    events: list[PlainEvent]


class Opened(TypedDict):
    """The runs in a visitor's files: POST /lab/open."""

    lanes: list[Lane]
    compared: PlainCompared


class Recorded(TypedDict):
    """The recorded runs of a preset: GET /lab/trace?name=NAME."""

    recorded: str
    lanes: list[Lane]
    compared: PlainCompared


class StartedLane(TypedDict):
    """A lane whose run begins."""

    key: str
    card: PlainCard


class InLine(TypedDict):
    """Where a run waits: place 1 is next; `seconds` until its turn are an estimate, null before any run has ended."""

    place: int
    seconds: float | None


class BeingLoaded(TypedDict):
    """A model or head that is being read from disk, the `step`-th `of` so many; sizes in bytes, null where unknown."""

    what: str  # role and name
    step: int
    of: int
    size: int | None
    done: int  # bytes of those before it
    seconds: float  # since it began


class LoadingNow(TypedDict):
    """GET /lab/loading: what the server is loading, null while it loads nothing."""

    loading: BeingLoaded | None


class RunMessage(TypedDict):
    """A message of a running comparison; `seq` counts the events before it, so that a page notices what it missed."""

    id: str
    seq: int
    phase: NotRequired[Phase]
    line: NotRequired[InLine]  # where it waits
    lanes: NotRequired[list[StartedLane]]
    methods: NotRequired[Cards]
    ev: NotRequired[list[tuple[str, PlainEvent]]]
    notice: NotRequired[str]  # what went wrong
    done: NotRequired[bool]
    compared: NotRequired[PlainCompared | None]  # with the last message, once all lanes have ended


class RepeatRequest(RunRequest):
    """A comparison that is to run n times: POST /lab/repeat, answered by `RepeatMessage`s (`app.repeats` checks it)."""

    n: int


class RepeatMessage(TypedDict):
    """A line about repetitions."""

    kind: Literal["queued", "running", "repeated", "error"]
    n: NotRequired[int]
    run: NotRequired[int]  # the repetition, from 0, that is running or has ended
    rounds: NotRequired[int]  # of it so far, all lanes together
    line: NotRequired[InLine]  # where the repetition waits
    lanes: NotRequired[PlainRepeated]  # with "repeated": all lanes over all repetitions so far
    error: NotRequired[str]


class ContinueRequest(RunRequest):
    """A run of one method that goes on from a forced beginning: POST /lab/continue (`app.continuing` checks it)."""

    prompt_ids: list[int]
    forced: list[int]  # token ids that the response begins with


class ContinueMessage(TypedDict):
    """A line about a continuation: its card, then its events."""

    kind: Literal["queued", "begin", "events", "error"]
    card: NotRequired[PlainCard]
    events: NotRequired[list[PlainEvent]]
    error: NotRequired[str]


class Problem(TypedDict):
    """A fresh problem that no model was trained on: GET /lab/problem?task=&seed=."""

    task: str
    seed: int
    prompt: str
    answer: str  # the reference; empty where answers are run, not compared


class Entry(TypedDict):
    """A part in a menu of the composer."""

    name: str
    against: str  # why it does not fit beside the other two; empty when it does


class Menus(TypedDict):
    """All parts."""

    drafter: list[Entry]
    shape: list[Entry]
    rule: list[Entry]


class Composed(TypedDict):
    """What three parts give: GET /lab/compose?drafter=&shape=&rule=&models=."""

    menus: Menus
    reason: str  # why they do not fit; empty when they do
    card: Annotated[dict[str, Any] | None, Shape(PageCard | None)]


class MinedAbout(TypedDict):
    """A recorded mined set in the list."""

    name: str
    task: str
    naive: bool
    prompts: int
    command: str


class MinedList(TypedDict):
    """The recorded mined sets: GET /lab/mined."""

    sets: list[MinedAbout]


class MineRequest(TypedDict):
    """What is to be mined: POST /lab/mine, /lab/mine/kept (`app.miningjob` checks it)."""

    key: str
    models: str
    task: str
    source: Literal["heldout", "train", "prompt"]
    n: int
    naive: bool
    prompt: NotRequired[str]


class LearnPlace(TypedDict):
    """A place of a recorded run; `lane` counts the runs of the case, `node` is null for a token not drafted."""

    lane: int
    round: int
    node: int | None
    pos: int


class TaskOption(TypedDict):
    """An answer to choose; `text` and `why` are HTML."""

    text: str
    why: str
    right: bool


class PageTask(TypedDict):
    """What a learner is asked (docs/design/0013-learn.md); `ask`, `after` and `hint` are HTML."""

    kind: Literal["choice", "predict", "select", "set"]
    ask: str
    after: str  # told once it is done
    hint: str
    options: NotRequired[list[TaskOption]]  # of a choice
    answer: NotRequired[float]  # of a prediction
    tolerance: NotRequired[float]
    unit: NotRequired[str]
    lane: NotRequired[int]  # of a selection or a setting
    answers: NotRequired[list[LearnPlace]]  # of a selection
    knob: NotRequired[str]  # of a setting: the knob, and the state that is counted
    state: NotRequired[str]
    want: NotRequired[int]
    counts: NotRequired[list[tuple[float, int]]]  # value of the knob and count, rising


class PageStep(TypedDict):
    """A step of a lesson; `text` is HTML."""

    title: str
    text: str
    case: str
    room: Literal["compare", "many", "trajectories", "judge", "papers", "learn"]
    view: Literal["text", "score", "trees", "shares"]
    lane: int | None
    at: LearnPlace | None
    task: PageTask | None


class PageLesson(TypedDict):
    """A lesson; `text` is HTML, `links` are methods/NAME, cases/NAME and lessons/NAME."""

    name: str
    title: str
    teaches: str
    text: str
    order: int
    minutes: int
    links: list[str]
    cases: list[str]
    steps: list[PageStep]


class Lessons(TypedDict):
    """All lessons in order: GET /lab/lessons."""

    lessons: list[PageLesson]


class WordSymbol(TypedDict):
    """A symbol of a formula as MathML, and the recorded field that gives its value for a selected token."""

    symbol: str
    field: str


class Word(TypedDict):
    """A word of the glossary; `text` is HTML, `formula` MathML or empty."""

    term: str
    anchor: str
    text: str
    formula: str
    symbols: list[WordSymbol]
    see: list[str]  # anchors of other words, or methods/NAME
    names: list[str]  # numbers of a run that it explains


class Glossary(TypedDict):
    """The words of the page in alphabetical order: GET /lab/glossary."""

    words: list[Word]


class PageTitle(TypedDict):
    """A page in the list."""

    name: str
    title: str


class PageIndex(TypedDict):
    """The pages of docs/methods: GET /lab/pages."""

    pages: list[PageTitle]


class DocPage(TypedDict):
    """A page of docs/methods: GET /lab/page?name=NAME."""

    name: str
    title: str
    html: str


class GalleryLane(TypedDict):
    """A run in small: `spans` are origin and number of tokens in order."""

    title: str
    spans: list[tuple[str, int]]
    calls: int
    tokens: int


class GalleryCase(TypedDict):
    """A recorded case at a glance."""

    name: str
    title: str
    point: str
    group: str
    lanes: list[GalleryLane]
    losses: list[str]  # what goes wrong in it
    view: Literal["text", "score", "trees", "shares"]  # of the stage
    at: LearnPlace | None  # the token that it is about


class Gallery(TypedDict):
    """All recorded cases: GET /lab/gallery."""

    cases: list[GalleryCase]
