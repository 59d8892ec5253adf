"""Python's search for cycles, put off while files are read: it would stop all threads again and again, each time for
longer. What is read holds no cycles, and goes when nobody needs it any more. No gradio, no torch."""

import gc
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

LONGEST = 60.0  # seconds: then it searches once, where files never cease to come


class Unhurried:
    """Counts who reads, so that the first puts it off and the last lets it go on."""

    def __init__(self) -> None:
        """Nobody reads."""
        self._lock, self._readers, self._since = threading.Lock(), 0, 0.0

    @contextmanager
    def reading(self) -> Iterator[None]:
        """While a file is read, and its answer made."""
        with self._lock:
            if not self._readers:
                gc.disable()
                self._since = time.monotonic()
            self._readers += 1
        try:
            yield
        finally:
            with self._lock:
                self._readers -= 1
                late = time.monotonic() - self._since > LONGEST
                if not self._readers:
                    gc.enable()
                elif late:
                    self._since = time.monotonic()
            if late:
                gc.collect()


UNHURRIED = Unhurried()
