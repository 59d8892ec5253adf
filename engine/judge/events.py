"""What happens while mining, as plain data of JSON types, so that a page can show it live."""

from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar


@dataclass(slots=True)
class Label:
    """One tested mismatch: the draft's token in place of the target's at response position `t` (from 0).

    The continuations are what follows position t; they stop at a stop id or at the length limit.
    """

    prompt: str  # id of the prompt
    t: int
    target_token: int
    draft_token: int
    important: bool
    target_rest: list[int]  # ids after the target's token, in the response so far
    draft_rest: list[int]  # ids that the target writes after the draft's token
    target_text: str
    draft_text: str
    target_answer: str | None  # what the alternative is compared with
    draft_answer: str | None
    retokenized: str = ""  # a server's text gave other ids: dropped from training | anchored at the first difference
    target_piece: str = ""
    draft_piece: str = ""
    score: float | None = None  # p(important) by a judge, where one was asked
    unlikely: bool = (
        False  # important without a trial, as the target gives the token almost no probability (mining online)
    )


@dataclass(slots=True)
class Started:
    """Mining begins: `done` of `total` prompts were mined before."""

    kind: ClassVar[str] = "started"
    total: int
    done: int
    head: dict[str, Any]


@dataclass(slots=True)
class PromptStarted:
    """The target's first response and where the draft would have written something else."""

    kind: ClassVar[str] = "prompt_started"
    prompt: str
    text: str
    prompt_ids: list[int]
    response: list[int]
    pieces: list[str]
    answer: str | None
    mismatches: list[int]


@dataclass(slots=True)
class MismatchFound:
    """The next position to test."""

    kind: ClassVar[str] = "mismatch"
    prompt: str
    t: int
    target_token: int
    draft_token: int
    target_piece: str
    draft_piece: str


@dataclass(slots=True)
class ForkGenerated:
    """The target went on after the draft's token."""

    kind: ClassVar[str] = "fork"
    prompt: str
    t: int
    rest: list[int]
    pieces: list[str]
    answer: str | None


@dataclass(slots=True)
class Labelled:
    """The mismatch has its label; `mismatches` are those left in the response as it now is."""

    kind: ClassVar[str] = "labelled"
    label: Label
    mismatches: list[int]


@dataclass(slots=True)
class PromptFinished:
    """All mismatches of a prompt are labelled. This is one line of the mined file."""

    kind: ClassVar[str] = "prompt"
    prompt: str
    key: str
    prompt_ids: list[int]
    first: list[int]  # the target's own response
    final: list[int]  # the response whose prefixes the labels refer to
    answer: str | None
    labels: list[Label] = field(default_factory=list)
    skipped: str = ""  # why a prompt was left out
    seconds: float = 0.0
    text: str = ""  # of the prompt
    pieces: list[str] = field(default_factory=list)  # of `final`


@dataclass(slots=True)
class Progress:
    """How far mining is, and how long it will take at this pace."""

    kind: ClassVar[str] = "progress"
    done: int
    total: int
    labels: int
    important: int
    seconds: float
    left_s: float | None


@dataclass(slots=True)
class Ended:
    """Mining is over: finished | stopped."""

    kind: ClassVar[str] = "ended"
    reason: str
    done: int
    total: int


MiningEvent = Started | PromptStarted | MismatchFound | ForkGenerated | Labelled | PromptFinished | Progress | Ended


def to_json(event: MiningEvent) -> dict[str, Any]:
    """The event with its kind, as JSON types."""
    return {"kind": event.kind, **asdict(event)}
