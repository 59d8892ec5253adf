"""Models of a visitor's own, by hub ids or folders: looked at first, then loaded beside those that are there.

What was loaded before stays until the new models are ready; one pair of this kind is kept. A public server has no
`Opener`, and says why.
"""

import threading
from dataclasses import asdict
from functools import partial
from pathlib import Path

from pydantic import Field
from starlette.responses import Response
from starlette.routing import BaseRoute

from app.answers import Json
from app.ending import ENDING
from app.endpoint import answered, streamed
from app.ndjson import Lines
from app.opener import Opener, Pair
from app.rounds import Visitor
from app.service import Service
from app.validate import Asked, MaybeKey, checked, parsed
from app.wire.catalogue import BeingLoaded
from app.wire.runs import InLine
from engine import progress
from engine.errors import ConfigError
from engine.runs.findings import Preflight

MOST = 500  # characters of a name
MOST_CODES = 60
EVERY = 0.2  # seconds between two lines about what is being loaded


class AskedPair(Asked):
    """A pair as a page asks for it (`app.wire.opening.PairRequest`)."""

    target: str = Field(max_length=MOST, description=f"a folder of the server or a hub id, up to {MOST} characters")
    draft: str = Field(
        "", max_length=MOST, description=f"a folder of the server or a hub id, up to {MOST} characters, or empty"
    )
    languages: str = Field(
        "", max_length=MOST_CODES, description=f"SOURCE:TARGET in the models' own codes, up to {MOST_CODES} characters"
    )
    visitor: MaybeKey = ""


def routes(service: Service) -> list[BaseRoute]:
    """Two routes: what would become of a pair, and loading it as JSON lines."""
    return [
        answered("/lab/preflight", partial(preflown, service)),
        streamed("/lab/load", partial(parse, service), partial(lines, service)),
    ]


def preflown(service: Service, data: bytes) -> Response:
    """`app.wire.opening.Preflown`."""
    pair, opener = parse(service, parsed(data))
    return Json({"name": pair.name, "found": asdict(opener.look(pair))})


def parse(service: Service, given: object, address: str = "") -> tuple[Pair, Opener]:
    """The pair in plain values, where this server loads any; `address` is where they come from.

    Raises:
        ConfigError: it does not, or something is missing or no name.
    """
    if service.opener is None:
        raise ConfigError(service.closed)
    asked = checked(AskedPair, given)
    pair = Pair(place(asked.target), place(asked.draft), Visitor(address, asked.visitor), place(asked.languages))
    if not pair.target:
        raise ConfigError("target must be a folder of the server or a hub id, not empty.")
    return pair, service.opener


def place(given: str) -> str:
    """A folder or hub id as it was typed or pasted.

    Raises:
        ConfigError: a character that no name has.
    """
    if not given.isprintable():
        raise ConfigError("A folder or hub id must be one line of plain characters.")
    ref = given.strip().strip("\"'").rstrip("/")
    try:
        return str(Path(ref).expanduser()) if ref.startswith("~") else ref
    except RuntimeError:
        raise ConfigError(f"{ref} names no user of the server.") from None


def fits(found: Preflight) -> None:
    """Nothing where a pair can be loaded.

    Raises:
        ConfigError: it cannot.
    """
    if not found.fits:
        raise ConfigError(next(one.words for one in found.findings if one.verdict == "against"))


class Opening:
    """One pair that is being loaded, in a thread of its own."""

    def __init__(self, service: Service, pair: Pair, opener: Opener) -> None:
        """Begin."""
        self._service, self._pair, self._opener = service, pair, opener
        self._stop = threading.Event()
        self.spot: InLine | None = None
        self.fault: Exception | None = None
        self.name = ""  # of the pair, once it is there
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def goes_on(self) -> bool:
        """Whether it does after a moment."""
        self._thread.join(EVERY)
        return self._thread.is_alive()

    def now(self) -> BeingLoaded | None:
        """What is being fetched or read."""
        return told(progress.now(self._stop))

    def stop(self) -> None:
        """Nobody wants it any more."""
        self._stop.set()

    def _work(self) -> None:
        try:
            with ENDING.work(), progress.stoppable(self._stop):
                self._opener.fetch(self._pair)
                with self._service.line(self._pair.visitor) as ticket:  # whatever runs ends first, and others wait
                    for self.spot in ticket.waits():
                        if self._stop.is_set():
                            return
                    self.spot = None
                    with progress.alone():
                        fits(self._opener.look(self._pair))  # others may have taken memory meanwhile
                        lab = self._opener.load(self._pair)
            if not self._stop.is_set():
                self.name = self._service.take(self._pair.name, lab)
        except progress.Stopped:
            pass
        except Exception as error:  # told by the generator, in the words of its stream
            self.fault = error


def lines(service: Service, job: tuple[Pair, Opener]) -> Lines:
    """The messages, as `app.wire.opening.OpeningMessage`. Closing the iterator stops the loading soon.

    Raises:
        ConfigError: another pair is being loaded. LabError: from the loading; what was there stays.
    """
    pair, opener = job
    with service.opening():
        opening = Opening(service, pair, opener)
        try:
            while opening.goes_on():
                if one := opening.now():
                    yield {"kind": "loading", "loading": one}
                elif spot := opening.spot:
                    yield {"kind": "waiting", "line": spot}
                else:
                    yield {"kind": "waiting"}
        finally:
            opening.stop()
        if opening.fault:
            raise opening.fault
        yield {"kind": "loaded", "models": opening.name}


def told(one: progress.Loading | None) -> BeingLoaded | None:
    """What is being loaded, as the page reads it."""
    if one is None:
        return None
    return {
        "what": one.what,
        "step": one.step,
        "of": one.of,
        "size": one.size,
        "done": one.done,
        "read": one.read,
        "doing": one.doing,
        "seconds": round(one.seconds, 1),
    }
