"""Runs: recorded, in a visitor's files, running, repeated and continued. See `app.wire`."""

from typing import Literal, NotRequired, TypedDict

from app.wire.catalogue import Cards
from app.wire.shape import PlainCard, PlainCompared, PlainEvent, PlainRepeated
from engine.config import KnobValue
from engine.trace.records import HeadExtras

Phase = Literal["queued", "loading"]


class Lane(TypedDict):
    """A whole run, each candidate and token with its sentence."""

    key: str
    card: PlainCard
    events: list[PlainEvent]
    file: NotRequired[str]  # of several that were opened, the one that it comes from


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
    """A lane whose run begins, and what its head is going to tell of it."""

    key: str
    card: PlainCard
    knobs: dict[str, KnobValue]
    extras: HeadExtras


class InLine(TypedDict):
    """Where a run waits: place 1 is next; `seconds` until its turn are an estimate, null while the one before it takes
    longer than all that have ended."""

    place: int
    seconds: float | None


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


class RepeatMessage(TypedDict):
    """A line about repetitions."""

    kind: Literal["queued", "running", "repeated", "error"]
    n: NotRequired[int]
    run: NotRequired[int]  # the repetition, from 0, that is running or has ended
    rounds: NotRequired[int]  # of it so far, all lanes together
    line: NotRequired[InLine]  # where the repetition waits
    lanes: NotRequired[PlainRepeated]  # with "repeated": all lanes over all repetitions so far
    error: NotRequired[str]


class ContinueMessage(TypedDict):
    """A line about a continuation: its card, then its events."""

    kind: Literal["queued", "begin", "events", "error"]
    card: NotRequired[PlainCard]
    events: NotRequired[list[PlainEvent]]
    error: NotRequired[str]
