"""Lanes in turns: a round each, never two at once: no lane's clock runs while another computes. No gradio, no torch."""

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from app.answers import fault_words, log_fault
from app.request import Lane, Request
from engine.config import Card
from engine.errors import LabError
from engine.files.presets import Family
from engine.judge.events import MiningEvent
from engine.tasks import Problem
from engine.trace.events import Event, Round, RunEnded

Turns = Iterator[tuple[str, Event]]  # (lane key, event)


class LabLike(Protocol):
    """What the page needs of `engine.lab.Lab`."""

    @property
    def device(self) -> str:
        """Kind of the device that the models are on: "cpu", "cuda", ..."""

    @property
    def family(self) -> Family:
        """Whether the models read a source first."""

    @property
    def looks(self) -> int:
        """How many places of the source a run that is shown keeps for each token; 0 where nothing tells them."""

    def settle(self) -> None:
        """Choose torch's threads anew where the last measurement is old."""

    def prepare(self) -> None:
        """Load heads, judges and tables now instead of at their first use."""

    def methods(self) -> list[Card]:
        """The cards that the loaded models can run."""

    def unavailable(self) -> dict[str, str]:
        """The other methods and why not."""

    def hindrance(self, card: Card) -> str:
        """Why a card cannot run at its defaults; empty when it can."""

    def otherwise(self, card: Card) -> str:
        """How a card runs otherwise on the loaded models than elsewhere; empty when it does not."""

    def stream(self, method: str, **settings: Any) -> Iterator[Event]:
        """One run as events."""

    def stream_trajectories(self, method: str, prompt: str, n: int, **settings: Any) -> Iterator[Event]:
        """Several runs on one prompt, one after another, as events; what the method learns from one serves the next."""

    def mine(
        self, task: str, found: Sequence[Problem], path: Path, **settings: Any
    ) -> Generator[MiningEvent, None, None]:
        """Mining into a file that is resumed."""


def in_turns(lab: LabLike, request: Request) -> Turns:
    """All lanes' events round-robin; a lane that fails, or cannot start, ends with its reason and the others go on.

    Raises:
        LabError: no lane could even start; nothing has run then.
    """
    going: list[tuple[Lane, Iterator[Event]]] = []
    failed: list[tuple[Lane, LabError]] = []
    lab.settle()
    for lane in request.lanes:
        try:
            going.append((lane, lab.stream(lane.card.name, **request.arguments(lane, lab.looks))))
        except LabError as error:
            failed.append((lane, error))
    if failed and not going:
        raise failed[0][1]
    try:
        yield from ((lane.key, RunEnded("error", message=str(error))) for lane, error in failed)
        while going:
            for lane, stream in list(going):
                try:
                    event = next(stream, None)
                except LabError as error:
                    event = RunEnded("error", message=str(error))
                except Exception as error:  # of a part, perhaps one from outside: it is not the other lanes'
                    log_fault(error, lane.key)
                    event = RunEnded("error", message=fault_words(error))
                if event is None or isinstance(event, RunEnded):
                    going.remove((lane, stream))
                if event is not None:
                    yield lane.key, event
    finally:
        for _lane, stream in going:
            close = getattr(stream, "close", None)
            if close:
                close()


@contextmanager
def ended(turns: Turns) -> Iterator[Turns]:
    """The same, closed afterwards: whatever is still open ends within its round."""
    try:
        yield turns
    finally:
        close = getattr(turns, "close", None)
        if close:
            close()


class Tail:
    """Enough of each lane to end it properly when it is cut short."""

    def __init__(self, request: Request) -> None:
        """All lanes are open."""
        self._text = {lane.key: "" for lane in request.lanes}
        self._total_ms = {lane.key: 0.0 for lane in request.lanes}
        self.open = [lane.key for lane in request.lanes]

    def add(self, key: str, event: Event) -> Event:
        """Count an event; an end without its text gets what was emitted so far."""
        if isinstance(event, Round):
            self._text[key] += "".join(token.piece for token in event.tokens)
            self._total_ms[key] += event.draft_ms + event.verify_ms + event.other_ms
        elif isinstance(event, RunEnded):
            self.open.remove(key)
            if event.reason == "error" and not event.text:
                return self.end(key, "error", event.message)
        return event

    def end(self, key: str, reason: str, message: str = "") -> RunEnded:
        """The tail of a trace that the engine could not write itself."""
        return RunEnded(
            reason=reason, prefill_ms=0.0, total_ms=self._total_ms[key], text=self._text[key], message=message
        )
