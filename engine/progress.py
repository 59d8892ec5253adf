"""What is being read from disk or fetched right now: the models of a pair, one after another, or a head. For whoever
shows it, and for whoever no longer wants it; and that two threads do not read at once."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path

LOOKS = 0.2  # seconds between two looks at whether what waits is still wanted
WEIGHTS = ("*.safetensors", "*.bin", "*.json.gz")


class Stopped(Exception):
    """Nobody wants any more what was being loaded."""


@dataclass(eq=False, slots=True)
class Loading:
    """One of several things that are loaded in a row."""

    what: str  # "target Qwen/Qwen3-0.6B"
    step: int  # from 1
    of: int
    size: int | None  # bytes of its weights; None where nobody knows
    done: int  # bytes of those before it
    doing: str = "Loading"
    stop: threading.Event | None = None
    read: int = 0  # bytes of it so far
    began: float = field(default_factory=time.monotonic)

    @property
    def seconds(self) -> float:
        """Since it began."""
        return time.monotonic() - self.began

    def reached(self, read: int) -> None:
        """So many of its bytes are here.

        Raises:
            Stopped: nobody wants it any more.
        """
        self.read = max(self.read, read)
        if self.stop is not None and self.stop.is_set():
            raise Stopped


_now: list[Loading] = []  # what is being loaded, by this process; the last is told
_own: ContextVar[Loading | None] = ContextVar("own", default=None)  # what this thread loads
_alone = threading.RLock()
_stop: ContextVar[threading.Event | None] = ContextVar("stop", default=None)


def now(stop: threading.Event | None = None) -> Loading | None:
    """What is being loaded, or what is being loaded that this event stops; None where nothing is."""
    return next((one for one in reversed(_now) if stop is None or one.stop is stop), None)


def own() -> Loading | None:
    """What is being loaded by this thread."""
    return _own.get()


def advance(n: int) -> None:
    """This thread has read n more bytes of what it loads.

    Raises:
        Stopped: nobody wants it any more.
    """
    if one := _own.get():
        one.reached(one.read + n)


@contextmanager
def loading(
    what: str,
    path: str | Path = "",
    step: int = 1,
    of: int = 1,
    done: int = 0,
    size: int | None = None,
    doing: str = "Loading",
) -> Iterator[Loading]:
    """Tell that this is being loaded for as long as the block takes; `size` is that of the path where it is not
    given."""
    one = Loading(what, step, of, size_of(path) if size is None and path else size, done, doing, _stop.get())
    _now.append(one)
    mine = _own.set(one)
    try:
        yield one
    finally:
        _own.reset(mine)
        _now.remove(one)


@contextmanager
def stoppable(stop: threading.Event) -> Iterator[None]:
    """What this thread loads within the block ends with `Stopped` soon after the event is set."""
    mine = _stop.set(stop)
    try:
        yield
    finally:
        _stop.reset(mine)


@contextmanager
def alone() -> Iterator[None]:
    """Read a model, or build one, while no other thread does: transformers sets what holds for all of them meanwhile
    (dtype, whether weights are filled and tied), and the memory that is free is that which others have left.

    Raises:
        Stopped: nobody wants it any more, before it could begin.
    """
    stop = _stop.get()
    while not _alone.acquire(timeout=LOOKS):
        if stop is not None and stop.is_set():
            raise Stopped
    try:
        yield
    finally:
        _alone.release()


def size_of(path: str | Path) -> int | None:
    """Bytes of the weight files of a folder, or of a file; None where there are none."""
    at = Path(path)
    files = [at] if at.is_file() else [found for pattern in WEIGHTS for found in at.glob(pattern)]
    return sum(file.stat().st_size for file in files) or None
