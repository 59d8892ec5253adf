"""The papers' tables and figures beside ours, with what decides each verdict. See `app.wire`."""

from typing import Literal, TypedDict

from app.wire.figures import Plot
from app.wire.requests import LaneRequest


class PaperCount(TypedDict):
    """A paper with its verdicts counted."""

    name: str
    title: str
    method: str
    verdicts: dict[str, int]


class PaperList(TypedDict):
    """The papers: GET /lab/papers; last the page of all methods, which has no method of its own and no verdicts."""

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

    models: str  # that the entry's runs are made with
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
    """One paper: GET /lab/paper; of the page of all methods, an item a recording."""

    name: str
    title: str
    method: str
    setting: str
    note: str
    items: list[PaperItem]
