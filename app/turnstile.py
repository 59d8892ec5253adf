"""One device, first come, first served: whoever asks again stands behind all who wait. No gradio, no torch."""

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

from engine.errors import ConfigError

MOST_WAITING = 32


class Turnstile:
    """Lets one through at a time, in the order of asking.

    Long work asks anew for each of its units (a run, a trajectory, a prompt that is mined), so nobody waits for more
    than one unit of each other.
    """

    def __init__(self, most_waiting: int = MOST_WAITING) -> None:
        """At most so many wait."""
        self._most = most_waiting
        self._free, self._queue = threading.Condition(), deque[object]()  # the first of the queue is through

    @property
    def waiting(self) -> int:
        """How many wait."""
        with self._free:
            return max(0, len(self._queue) - 1)

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Wait for one's turn, and hold it.

        Raises:
            ConfigError: too many wait already.
        """
        ticket = object()
        with self._free:
            if len(self._queue) > self._most:
                raise ConfigError(f"{self._most} runs are waiting already, which is the limit. Try again in a minute.")
            self._queue.append(ticket)
            try:
                self._free.wait_for(lambda: self._queue[0] is ticket)
            except BaseException:
                self._leave(ticket)
                raise
        try:
            yield
        finally:
            with self._free:
                self._leave(ticket)

    def _leave(self, ticket: object) -> None:
        self._queue.remove(ticket)
        self._free.notify_all()
