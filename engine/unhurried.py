"""Python's search for cycles, put off while a program starts and while files are read: it would stop all threads again
and again, each time for longer. What is imported stays; what is read holds no cycles, and goes when nobody needs it any
more."""

import gc
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

LONGEST = 60.0  # seconds: then it searches once, where there is no end of it


class Unhurried:
    """Counts who makes much that stays, so that the first puts it off and the last lets it go on."""

    def __init__(self) -> None:
        """Nobody does."""
        self._lock, self._makers, self._since = threading.Lock(), 0, 0.0

    @contextmanager
    def making(self) -> Iterator[None]:
        """While modules are imported, or a file is read and its answer made."""
        with self._lock:
            if not self._makers:
                gc.disable()
                self._since = time.monotonic()
            self._makers += 1
        try:
            yield
        finally:
            with self._lock:
                self._makers -= 1
                late = time.monotonic() - self._since > LONGEST
                if not self._makers:
                    gc.enable()
                elif late:
                    self._since = time.monotonic()
            if late:
                gc.collect()


UNHURRIED = Unhurried()
