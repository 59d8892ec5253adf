"""What the Learn room reads: lessons, words, pages of the docs, the gallery of cases. See `app.wire`."""

from typing import NotRequired, TypedDict

from engine.files.presets import View
from engine.learn.lessons import Kind, Room


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

    kind: Kind
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
    room: Room
    view: View
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


class WordLink(TypedDict):
    """Where to read on: the anchor of another word or methods/NAME, and what it is called."""

    name: str
    title: str


class Word(TypedDict):
    """A word of the glossary; `text` is HTML, `formula` MathML or empty."""

    term: str
    anchor: str
    text: str
    formula: str
    symbols: list[WordSymbol]
    see: list[WordLink]
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
    iterations: int  # of a text that is written in place
    tokens: int


class GalleryCase(TypedDict):
    """A recorded case at a glance."""

    name: str
    title: str
    point: str
    group: str
    lanes: list[GalleryLane]
    losses: list[str]  # what goes wrong in it
    view: View  # of the stage
    track: str  # shown in the score beside the usual ones, empty where none is
    at: LearnPlace | None  # the token that it is about


class Gallery(TypedDict):
    """All recorded cases: GET /lab/gallery."""

    cases: list[GalleryCase]
