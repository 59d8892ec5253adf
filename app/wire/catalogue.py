"""The catalogue: methods, cases, models, limits; a problem to try, and a method from its parts. See `app.wire`."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypedDict

from app.wire.requests import LaneRequest
from app.wire.shape import Shape
from engine.analysis.names import Told
from engine.config import Card, Knob
from engine.files.presets import Family

KnobKind = Literal["choice", "switch", "text", "number"]


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
    here: str = ""  # how it runs otherwise with the models that are loaded, in sentences


Cards = Annotated[list[dict[str, Any]], Shape(list[PageCard])]


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
    family: Family  # of the models that know it
    judged: bool  # whether its answers are right or wrong, so that draft tokens can be told important
    words: list[str]  # of its prompts, in small letters, but for what stands in quotes


class Catalogue(TypedDict):
    """Everything the run bar needs: GET /lab/catalogue?models=NAME."""

    methods: Cards
    presets: list[PagePreset]
    models: list[str]
    families: dict[str, Family]  # of the models; a pair that is not loaded may not be known yet
    picks: list[Pick]
    kinds: list[Kind]
    taught: list[str]  # those of the models that know these kinds of problem, and little else
    first: str  # the preset that the page opens with, empty when there is none
    limits: PageLimits
    trajectory_temperature: float  # where several answers to one prompt are drawn, until another is asked for
    names: Annotated[list[dict[str, str]], Shape(list[Told])]  # what the numbers are called elsewhere
    closed: str  # why visitors cannot load models of their own here; empty where they can


class Problem(TypedDict):
    """A fresh problem that no model was trained on: GET /lab/problem?task=&seed=."""

    task: str
    seed: int
    prompt: str
    answer: str  # the reference; empty where answers are run, not compared


class Entry(TypedDict):
    """A part in a menu of the composer."""

    name: str
    title: str  # what composed methods call it
    against: str  # why it does not fit beside the other two; empty when it does


class Menus(TypedDict):
    """All parts."""

    drafter: list[Entry]
    shape: list[Entry]
    rule: list[Entry]


class Composed(TypedDict):
    """What three parts give: GET /lab/compose?drafter=&shape=&rule=&models=."""

    menus: Menus
    title: str  # what they are called together
    reason: str  # why they do not fit; empty when they do
    card: Annotated[dict[str, Any] | None, Shape(PageCard | None)]


class BeingLoaded(TypedDict):
    """A model or head that is being fetched or read, the `step`-th `of` so many; sizes in bytes, null where unknown."""

    what: str  # role and name
    step: int
    of: int
    size: int | None
    done: int  # bytes of those before it
    read: int  # bytes of it so far
    doing: str  # Loading | Downloading
    seconds: float  # since it began


class LoadingNow(TypedDict):
    """GET /lab/loading: what the server is loading, null while it loads nothing."""

    loading: BeingLoaded | None
