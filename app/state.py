"""What the server remembers of runs: a few, for minutes, under unguessable names. No gradio, no torch."""

import json
import threading
import time
import zlib
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from engine.errors import ConfigError
from engine.trace.store import MAX_BYTES, MAX_NODES

KEEP_SECONDS = 120.0  # a finished run is kept this long, so that a page can ask for what it missed
KEEP_RUNS = 16
KEEP_BYTES = 64_000_000  # of all logs together, packed; eight lanes of trees, 512 tokens each, take four million
PACKING = 1  # zlib's level: texts shrink to a fifth, in a fifth of the time that it takes to write them


@dataclass(frozen=True)
class Limits:
    """What a visitor may ask for; flags and environment variables set it."""

    max_tokens: int = 512
    max_prompt_chars: int = 20_000
    max_lanes: int = 40  # every method that a pair can run, and a few twice with other knobs
    max_upload_bytes: int = MAX_BYTES
    max_nodes: int = MAX_NODES


class Events(list[tuple[str, dict[str, Any]]]):
    """(lane key, event), and their JSON once it is written: that takes longer than packing it, so it is done once."""

    text = ""


@dataclass
class RunLog:
    """The events of one run so far, packed, for a page that missed some; none where nobody can ask (`keeps`)."""

    keeps: bool = True
    count: int = 0  # events so far
    size: int = 0  # bytes that they take here
    stopped: threading.Event = field(default_factory=threading.Event)
    compared: dict[str, Any] | None = None  # see `engine.analysis.compared`, once all lanes have ended
    ended: float | None = None
    _parts: list[bytes] = field(default_factory=list)
    _begins: list[int] = field(default_factory=list)  # the number of each part's first event

    def add(self, events: Events) -> None:
        """Further (lane key, event), with their text where they are kept."""
        if self.keeps:
            events.text = json.dumps(events, ensure_ascii=False)
            part = zlib.compress(events.text.encode("utf-8", "surrogatepass"), PACKING)
            self._begins.append(self.count)  # first: a page that asks meanwhile finds no part behind it
            self._parts.append(part)
            self.size += len(part)
        self.count += len(events)

    def since(self, have: int) -> list[tuple[str, dict[str, Any]]]:
        """The events from number `have` on."""
        first = max(0, bisect_right(self._begins, have) - 1)
        parts = [json.loads(zlib.decompress(part).decode("utf-8", "surrogatepass")) for part in self._parts[first:]]
        events = [(key, event) for part in parts for key, event in part]
        return events[have - self._begins[first] :] if events else []


class RunStore:
    """Logs by run id. A page makes the id (128 random bits) and nobody else knows it."""

    def __init__(
        self,
        keep_runs: int = KEEP_RUNS,
        keep_seconds: float = KEEP_SECONDS,
        clock: Callable[[], float] = time.monotonic,
        keep_bytes: int = KEEP_BYTES,
    ):
        """Keep at most `keep_runs` logs of `keep_bytes` together, and a finished one for `keep_seconds`.

        A run that goes on is kept whatever it takes.
        """
        self._keep_runs, self._keep_seconds, self._clock, self._keep_bytes = keep_runs, keep_seconds, clock, keep_bytes
        self._logs: OrderedDict[str, RunLog] = OrderedDict()
        self._lock = threading.Lock()
        self._due: threading.Timer | None = None  # when the next one is forgotten

    def open(self, run: str, keeps: bool = True) -> RunLog:
        """A fresh log; without `keeps` it holds no events, and goes with the run.

        Raises:
            ConfigError: the id is malformed or in use.
        """
        if len(run) != 32 or any(char not in "0123456789abcdef" for char in run):
            raise ConfigError("A run id is 32 hexadecimal digits.")
        with self._lock:
            self._forget(self._keep_runs - 1)
            if run in self._logs:
                raise ConfigError("This run id is in use.")
            log = self._logs[run] = RunLog(keeps)
            return log

    def close(self, run: str) -> None:
        """Mark a run as over; its log goes after a while."""
        with self._lock:
            if run in self._logs:
                self._logs[run].ended = self._clock()
                self._forget(self._keep_runs)

    def get(self, run: str) -> RunLog | None:
        """The log of a run, if it is still kept."""
        with self._lock:
            return self._logs.get(run)

    def _forget(self, most: int) -> None:
        """Drop what is over and old, and the oldest of what is over and too much; look again when the next is due."""
        now, over = self._clock(), {name: log.ended for name, log in self._logs.items() if log.ended is not None}
        for name, ended in over.items():
            size = sum(log.size for log in self._logs.values())
            old = now - ended >= self._keep_seconds
            if old or not self._logs[name].keeps or len(self._logs) > most or size > self._keep_bytes:
                del self._logs[name]
        left = [ended for name, ended in over.items() if name in self._logs]
        if left and self._due is None:
            self._due = threading.Timer(max(0.0, min(left) + self._keep_seconds - now), self._look)
            self._due.daemon = True
            self._due.start()

    def _look(self) -> None:
        with self._lock:
            self._due = None
            self._forget(self._keep_runs)
