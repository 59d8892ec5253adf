"""The engine as the page uses it: one queue, lanes in turns, stop within a round. The only file of the app that runs models."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from app.knobs import catalogue
from app.recorded import Sentence, event_message
from app.request import Lane, Request
from app.state import Limits, RunLog, RunStore
from engine.config import Card
from engine.errors import LabError
from engine.trace.events import Event, Round, RunEnded, RunStarted

EVERY = 1 / 15  # seconds between messages to a page
Message = dict[str, Any]


class LabLike(Protocol):
    """What the page needs of `engine.lab.Lab`."""

    def methods(self) -> list[Card]:
        """The cards that the loaded models can run."""

    def unavailable(self) -> dict[str, str]:
        """The other methods and why not."""

    def stream(self, method: str, **settings: Any) -> Iterator[Event]:
        """One run as events."""


class Service:
    """Models that are loaded once, runs that are watched by their own page only."""

    def __init__(
        self, cards: Sequence[Card], loaders: Mapping[str, Callable[[], LabLike]], sentence: Sentence | None = None,
        limits: Limits | None = None, clock: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        """Take all cards, and for each set of models the function that loads it."""
        self.cards, self.models, self.limits = tuple(cards), tuple(loaders), limits or Limits()
        self.runs = RunStore()
        self._loaders, self._labs, self._sentence, self._clock = dict(loaders), dict[str, LabLike](), sentence, clock
        self._loading = threading.Lock()

    def lab(self, models: str) -> LabLike:
        """The lab of a set of models, loaded at its first use."""
        with self._loading:
            if models not in self._labs:
                self._labs[models] = self._loaders[models]()
            return self._labs[models]

    def methods(self, models: str = "") -> list[dict[str, Any]]:
        """All cards; once the models are loaded each says whether it can run."""
        lab = self._labs.get(models or (self.models[0] if self.models else ""))
        return catalogue(self.cards, lab.unavailable() if lab else None)

    def run(self, request: Request) -> Iterator[Message]:
        """The comparison as messages `{id, seq, ...}`; `seq` counts the events before the message.

        Lanes take turns, one round each and never two at once, so that no lane's clock runs while another computes.
        Closing the iterator, or `stop`, ends every lane within one round.
        """
        log = self.runs.open(request.run)
        yield {"id": request.run, "seq": 0, "phase": "queued" if request.models in self._labs else "loading"}
        try:
            lab = self.lab(request.models)
            lanes = [{"key": lane.key, "card": lane.card.to_json()} for lane in request.lanes]
            yield {"id": request.run, "seq": 0, "lanes": lanes, "methods": self.methods(request.models)}
            yield from self._batches(request, log, in_turns(lab, request, log.stopped))
            yield {"id": request.run, "seq": len(log.messages), "done": True}
        finally:
            self.runs.close(request.run)

    def _batches(self, request: Request, log: RunLog, events: Iterator[tuple[str, Event]]) -> Iterator[Message]:
        heads: dict[str, RunStarted] = {}
        sent, due = 0, self._clock()
        for key, event in events:
            if isinstance(event, RunStarted):
                heads[key] = event
            log.messages.append((key, event_message(heads.get(key), event, self._sentence)))
            if self._clock() >= due:
                yield {"id": request.run, "seq": sent, "ev": log.messages[sent:]}
                sent, due = len(log.messages), self._clock() + EVERY
        if sent < len(log.messages):
            yield {"id": request.run, "seq": sent, "ev": log.messages[sent:]}

    def stop(self, run: str) -> bool:
        """Ask a run to end after the round in progress; false when nobody knows it."""
        log = self.runs.get(run)
        if log:
            log.stopped.set()
        return log is not None

    def resync(self, run: str, have: int) -> Message | None:
        """What a page missed: all events from number `have` on."""
        log = self.runs.get(run)
        return {"id": run, "seq": have, "ev": log.messages[have:], "done": log.ended is not None} if log and have >= 0 else None

    def decode(self, request: Request) -> dict[str, list[dict[str, Any]]]:
        """The same comparison at once: lane key -> all events of its trace."""
        traces: dict[str, list[dict[str, Any]]] = {}
        for message in self.run(request):
            for key, event in message.get("ev", ()):
                traces.setdefault(key, []).append(event)
        return traces


def in_turns(lab: LabLike, request: Request, stopped: threading.Event) -> Iterator[tuple[str, Event]]:
    """The lanes' events, one at a time round-robin; a lane that fails ends with its reason and the others go on."""
    going: list[tuple[Lane, Iterator[Event]]] = [
        (lane, lab.stream(lane.card.name, **request.arguments(lane))) for lane in request.lanes
    ]
    partial = {lane.key: Partial() for lane in request.lanes}
    started = False
    try:
        while going:
            for lane, stream in list(going):
                if stopped.is_set() and started:
                    break
                try:
                    event = next(stream, None)
                except LabError as error:
                    if not started:
                        raise
                    event = partial[lane.key].end("error", str(error))
                started = True
                if event is not None:
                    partial[lane.key].add(event)
                    yield lane.key, event
                if event is None or isinstance(event, RunEnded):
                    going.remove((lane, stream))
            if stopped.is_set():
                break
        for lane, _stream in going:
            yield lane.key, partial[lane.key].end("stopped")
    finally:
        for _lane, stream in going:
            close = getattr(stream, "close", None)
            if close:
                close()


class Partial:
    """Enough of a lane to end it properly when it is cut short."""

    def __init__(self) -> None:
        """Nothing yet."""
        self.text, self.total_ms = "", 0.0

    def add(self, event: Event) -> None:
        """Count a round."""
        if isinstance(event, Round):
            self.text += "".join(token.piece for token in event.tokens)
            self.total_ms += event.draft_ms + event.verify_ms + event.other_ms

    def end(self, reason: str, message: str = "") -> RunEnded:
        """The tail of a trace that the engine could not write itself."""
        return RunEnded(reason=reason, prefill_ms=0.0, total_ms=self.total_ms, text=self.text, message=message)
