"""The engine as the page uses it: one queue, lanes in turns, stop within a round. Only this file runs models."""

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import asdict
from itertools import chain
from typing import Any

from app.ending import ENDING
from app.knobs import catalogue
from app.labs import Labs
from app.opener import Opener
from app.recorded import Narrator, Sentence, thresholds
from app.request import Request
from app.rounds import Visitor, address_of
from app.state import Events, Limits, RunLog, RunStore
from app.turns import LabLike, Tail, Turns, ended, in_turns
from app.turnstile import Ticket, Turnstile
from app.wire.runs import RunMessage, StartedLane
from engine.analysis.compared import compared
from engine.config import Card
from engine.errors import ConfigError, LabError
from engine.files.presets import Family, family
from engine.runs.findings import Offered
from engine.trace.events import RunStarted
from engine.trace.store import Trace

LOG = logging.getLogger(__name__)
CLOSED = (
    "This server loads no models but its own. Start Draftscope on a machine of yours, without --public, to load others."
)
IDLE = 0.5  # seconds between two looks at whether anybody runs
EVERY = 1 / 15  # seconds between messages to a page


class Service:
    """Models that are loaded once, runs that are watched by their own page only."""

    def __init__(
        self,
        cards: Sequence[Card],
        loaders: Mapping[str, Callable[[], LabLike]],
        sentence: Sentence | None = None,
        limits: Limits | None = None,
        turns: Callable[[str, Request], Turns] | None = None,
        eager: bool = False,
        opener: Opener | None = None,
        clock: Callable[[], float] = time.monotonic,
        foresee: Callable[[str], Sequence[Offered]] = lambda _: (),
    ) -> None:
        """Take all cards, and for each set of models the function that loads it; `turns` runs elsewhere (ZeroGPU).

        `eager` loads the first models soon after the first visit, not at the first run. `opener` loads what visitors
        name; None where they may not. `foresee` tells what becomes of methods on models that are not loaded yet.
        """
        self.cards, self.limits, self.runs = tuple(cards), limits or Limits(), RunStore()
        self._labs, self._device = Labs(loaders), Turnstile(clock=clock)
        self._turns, self._sentence, self._clock = turns, sentence, clock
        self.eager, self._warmed = eager, False
        self.opener, self._opens = opener, threading.Lock()
        self._foresee, self._foreseen = foresee, dict[str, dict[str, Offered]]()

    @property
    def models(self) -> tuple[str, ...]:
        """The names of all sets of models."""
        return self._labs.names

    @property
    def first(self) -> str:
        """The models that are meant where none are named; empty when there are none."""
        return self.models[0] if self.models else ""

    def lab(self, models: str) -> LabLike:
        """The lab of a set of models, loaded at its first use.

        Raises:
            ConfigError: it has been replaced by another that was opened.
        """
        return self._labs.get(models)

    def comes(self, models: str) -> Iterator[None]:
        """An item every now and then until the lab of a set of models is there, so that whoever has gone is noticed."""
        return self._labs.comes(models)

    def family(self, models: str) -> Family | None:
        """Whether models read a source first; None where nobody knows before they are loaded."""
        lab = self._labs.there(models)
        return lab.family if lab else family(models)

    @property
    def closed(self) -> str:
        """Why visitors cannot load models of their own; empty where they can."""
        return "" if self.opener else CLOSED

    @contextmanager
    def opening(self) -> Iterator[None]:
        """Load models that a visitor named: one pair at a time.

        Raises:
            ConfigError: another is being loaded.
        """
        if not self._opens.acquire(blocking=False):
            raise ConfigError("Other models are being loaded already: wait until they are there.")
        try:
            yield
        finally:
            self._opens.release()

    def take(self, models: str, lab: LabLike) -> str:
        """Models that a visitor named are loaded: they come in place of those that one named before, under the name
        that is returned (another where this server's own have it). Runs that go on keep theirs."""
        return self._labs.take(models, lab)

    def borrows(self, models: str) -> bool:
        """Whether runs of these models are computed elsewhere, on a device lent for seconds; never those on the CPU."""
        return self._turns is not None and self.lab(models).device != "cpu"

    def line(self, visitor: Visitor) -> AbstractContextManager[Ticket]:
        """A place for as long as a call waits for its models and then for the device, which runs, trajectories and
        mining share (`app.turnstile`).

        Raises:
            ConfigError: too many wait already.
        """
        return self._device.ticket(visitor)

    def warm(self, rooms: Sequence[Callable[[], object]] = (), after: float = 4.0) -> None:
        """In the background, once, some seconds from now, when the first page stands: load the first models, then make
        what `rooms` show, which each keeps for the first who asks. Between two of them those who run go first."""
        if self._warmed:
            return
        self._warmed = True
        timer = threading.Timer(after, self._warm, [rooms])
        timer.daemon = True
        timer.start()

    def _warm(self, rooms: Sequence[Callable[[], object]]) -> None:
        if self.models:
            try:
                self.lab(self.models[0])
            except LabError as error:  # told again, to a user, when one runs it
                LOG.warning("%s cannot be loaded: %s", self.models[0], error)
        for make in rooms:
            while not self._device.idle:
                if ENDING.comes.wait(IDLE):
                    return
            with suppress(LabError, OSError), ENDING.work():  # told to whoever asks for it
                make()

    def methods(self, models: str = "") -> list[dict[str, Any]]:
        """All cards; each says whether it can run once the models are loaded, or were looked at."""
        name = models or self.first
        if lab := self._labs.there(name):
            return catalogue(self.cards, lab.unavailable(), name, lab.otherwise)
        seen = self._foreseen.get(name, {})
        against = {one.name: one.against for one in seen.values() if one.against}
        return catalogue(self.cards, against, name, lambda card: seen[card.name].here if card.name in seen else "")

    def foresee(self) -> None:
        """Look at all models of this server, so that methods which they cannot run are known before they are loaded."""
        for name in self.models:
            try:
                with ENDING.work():
                    self._foreseen[name] = {one.name: one for one in self._foresee(name)}
            except LabError:  # told to the first who runs them
                continue

    def hindrance(self, card: Card, models: str = "") -> str:
        """Why loaded models cannot run a card; empty when they can, or are not loaded yet."""
        lab = self._labs.there(models or self.first)
        return lab.hindrance(card) if lab else ""

    def otherwise(self, card: Card, models: str = "") -> str:
        """How loaded models run a card otherwise; empty when they do not, or are not loaded yet."""
        lab = self._labs.there(models or self.first)
        return lab.otherwise(card) if lab else ""

    def run(self, request: Request, keeps: bool = True) -> Iterator[RunMessage]:
        """The comparison as messages `{id, seq, ...}`; `seq` counts the events before the message.

        Closing the iterator, or `stop`, ends every lane within one round. Without `keeps` there is no `resync`.
        """
        log = self.runs.open(request.run, keeps)
        try:
            yield {"id": request.run, "seq": 0, "phase": "queued" if self._labs.there(request.models) else "loading"}
            with self.line(request.visitor) as ticket:
                for _ in self.comes(request.models):
                    if log.stopped.is_set():
                        break
                    yield {"id": request.run, "seq": 0, "phase": "loading"}
                else:
                    yield from self._wait(ticket, request, log)
            yield {"id": request.run, "seq": log.count, "done": True, "compared": log.compared}
        finally:
            self.runs.close(request.run)

    def _wait(self, ticket: Ticket, request: Request, log: RunLog) -> Iterator[RunMessage]:
        lab = self.lab(request.models)
        for spot in ticket.waits():
            if log.stopped.is_set():
                break
            yield {"id": request.run, "seq": 0, "phase": "queued", "line": spot}
        else:
            yield from self._run(lab, request, log)

    def turns(self, lab: LabLike, request: Request) -> Turns:
        """The comparison's events, computed here or on a device lent for seconds. Hold the `line` meanwhile."""
        lend = self._turns if self.borrows(request.models) else None
        return ENDING.watched(lend(request.models, request) if lend else in_turns(lab, request))

    def _run(self, lab: LabLike, request: Request, log: RunLog) -> Iterator[RunMessage]:
        events = until_stopped(request, log, self.turns(lab, request))
        with ended(events):
            first = next(events, None)  # where no lane can start, what the page shows stays
            if first is None:
                return
            yield {"id": request.run, "seq": 0, "lanes": started(request), "methods": self.methods(request.models)}
            yield from self._batches(request, log, chain((first,), events))

    def _batches(self, request: Request, log: RunLog, events: Turns) -> Iterator[RunMessage]:
        narrators = {lane.key: Narrator(self._sentence) for lane in request.lanes}
        fresh, due = Events(), self._clock()
        traces = {lane.key: Trace() for lane in request.lanes}
        for key, event in events:
            if isinstance(event, RunStarted) or traces[key].started:  # a lane that could not start has only an end
                traces[key].append(event)
            fresh.append((key, narrators[key].message(event)))
            if self._clock() >= due:
                yield sent(request, log, fresh)
                fresh, due = Events(), self._clock() + EVERY
        if fresh:
            yield sent(request, log, fresh)
        log.compared = asdict(compared(traces, thresholds(self.cards)))

    def stop(self, run: str) -> bool:
        """Ask a run to end after the round in progress; false when nobody knows it."""
        log = self.runs.get(run)
        if log:
            log.stopped.set()
        return log is not None

    def resync(self, run: str, have: int) -> RunMessage | None:
        """What a page missed: all events from number `have` on."""
        log = self.runs.get(run)
        if not log or not log.keeps or have < 0:
            return None
        done = log.ended is not None  # asked first: what comes while the events are read is told the next time
        return {"id": run, "seq": have, "ev": log.since(have), "done": done, "compared": log.compared}

    def decode(self, request: Request) -> Iterator[dict[str, list[dict[str, Any]]]]:
        """The same comparison at once: lane key -> all events of its trace, as the last item; until then nothing.

        The empty items before it are where whoever has gone is noticed.
        """
        traces: dict[str, list[dict[str, Any]]] = {}
        for message in self.run(request, keeps=False):
            for key, event in message.get("ev", ()):
                traces.setdefault(key, []).append(event)
            if not message.get("done"):
                yield {}
        yield traces


def by_address(client: Any) -> str:
    """The address that a request counts for, by its client (None where there is none)."""
    return address_of(client.host) if client else ""


def started(request: Request) -> list[StartedLane]:
    """The lanes of a run that begins."""
    return [
        {"key": lane.key, "card": lane.card.to_json(), "knobs": lane.knobs, "extras": request.extras}
        for lane in request.lanes
    ]


def sent(request: Request, log: RunLog, events: Events) -> RunMessage:
    """The message of further events, which the log takes too."""
    seq = log.count
    log.add(events)
    return {"id": request.run, "seq": seq, "ev": events}


def until_stopped(request: Request, log: RunLog, turns: Turns) -> Turns:
    """The same events, but once the run is stopped every open lane ends there."""
    tail = Tail(request)
    with ended(turns):
        for key, event in turns:
            yield key, tail.add(key, event)
            if log.stopped.is_set():
                break
        if log.stopped.is_set():
            for key in tail.open:
                yield key, tail.end(key, "stopped")
