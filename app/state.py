"""What the server remembers of runs: a few, for minutes, under unguessable names. No gradio, no torch."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from engine.errors import ConfigError
from engine.trace.store import MAX_BYTES, MAX_NODES

KEEP_SECONDS = 120.0  # a finished run is kept this long, so that a page can ask for what it missed
KEEP_RUNS = 16


@dataclass(frozen=True)
class Limits:
    """What a visitor may ask for; flags and environment variables set it."""

    max_tokens: int = 512
    max_prompt_chars: int = 20_000
    max_lanes: int = 40  # every method that a pair can run, and a few twice with other knobs
    max_upload_bytes: int = MAX_BYTES
    max_nodes: int = MAX_NODES


@dataclass
class RunLog:
    """The messages of one run so far, for a page that missed some."""

    messages: list[tuple[str, dict[str, Any]]] = field(default_factory=list)  # (lane key, event)
    stopped: threading.Event = field(default_factory=threading.Event)
    compared: dict[str, Any] | None = None  # see `engine.analysis.compared`, once all lanes have ended
    ended: float | None = None


class RunStore:
    """Logs by run id. A page makes the id (128 random bits) and nobody else knows it."""

    def __init__(
        self,
        keep_runs: int = KEEP_RUNS,
        keep_seconds: float = KEEP_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ):
        """Keep at most `keep_runs` logs, and a finished one for `keep_seconds`."""
        self._keep_runs, self._keep_seconds, self._clock = keep_runs, keep_seconds, clock
        self._logs: OrderedDict[str, RunLog] = OrderedDict()
        self._lock = threading.Lock()

    def open(self, run: str) -> RunLog:
        """A fresh log.

        Raises:
            ConfigError: the id is malformed or in use.
        """
        if len(run) != 32 or any(char not in "0123456789abcdef" for char in run):
            raise ConfigError("A run id is 32 hexadecimal digits.")
        with self._lock:
            self._forget()
            if run in self._logs:
                raise ConfigError("This run id is in use.")
            log = self._logs[run] = RunLog()
            return log

    def close(self, run: str) -> None:
        """Mark a run as over; its log goes after a while."""
        with self._lock:
            if run in self._logs:
                self._logs[run].ended = self._clock()

    def get(self, run: str) -> RunLog | None:
        """The log of a run, if it is still kept."""
        with self._lock:
            return self._logs.get(run)

    def _forget(self) -> None:
        now = self._clock()
        for name, log in list(self._logs.items()):
            if log.ended is not None and now - log.ended > self._keep_seconds:
                del self._logs[name]
        for name in [name for name, log in self._logs.items() if log.ended is not None][
            : max(0, len(self._logs) - self._keep_runs + 1)
        ]:
            del self._logs[name]
