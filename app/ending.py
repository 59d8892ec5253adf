"""How the process ends while threads compute: they are told, waited for a little, and left behind where one goes on.

Python ends with threads still there; one that comes back from torch then takes the whole process down (SIGABRT). No
gradio, no torch.
"""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from engine.errors import ConfigError

T = TypeVar("T")

GRACE = 3.0  # seconds: a round takes less, loading stops between two pieces of a file
ENDS = "This server is being ended; what arrived so far is kept. Try again when it is back."


class Ending:
    """Whether the end has come, and who is still at work."""

    def __init__(self) -> None:
        """Nobody is."""
        self.comes = threading.Event()
        self._changed, self._at_work = threading.Condition(), 0

    @contextmanager
    def work(self) -> Iterator[None]:
        """A piece of work of this thread.

        Raises:
            ConfigError: the end has come, so it cannot begin.
        """
        with self._changed:
            if self.comes.is_set():
                raise ConfigError(ENDS)
            self._at_work += 1
        try:
            yield
        finally:
            with self._changed:
                self._at_work -= 1
                self._changed.notify_all()

    def watched(self, items: Iterator[T]) -> Iterator[T]:
        """The same, each a piece of work.

        Raises:
            ConfigError: the end has come.
        """
        try:
            while True:
                with self.work():
                    try:
                        item = next(items)
                    except StopIteration:
                        return
                yield item
        finally:
            close = getattr(items, "close", None)
            if close:
                close()

    def wait(self, seconds: float) -> bool:
        """Tell everybody, and whether all are done within so many seconds."""
        self.comes.set()
        with self._changed:
            return self._changed.wait_for(lambda: not self._at_work, seconds)


ENDING = Ending()  # of this process


def on_signals() -> None:
    """Let SIGTERM end the process as an exit does, so that its folders go; it and Ctrl+C are told to all at work."""

    def terminate(*_: object) -> None:
        ENDING.comes.set()
        sys.exit(0)

    def interrupt(*_: object) -> None:
        ENDING.comes.set()
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, terminate)
    signal.signal(signal.SIGINT, interrupt)


def leave(clean: Callable[[], None], seconds: float = GRACE, status: int = 0) -> None:
    """Return once nobody is at work, for the process to end as usual; where one goes on, `clean` and end it here with
    the `status` that it would have. A second Ctrl+C ends it at once."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if ENDING.wait(seconds):
        return
    clean()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(status)
