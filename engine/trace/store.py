"""A trace in memory and on disk: JSON lines, gzipped if the name ends in .gz. docs/design/0003-trace.md."""

import codecs
import gzip
import json
import os
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, ClassVar

from engine.errors import ConfigError, EngineFault, TraceError, shown
from engine.files import marks
from engine.files.places import as_path, unreadable
from engine.files.written import writable, write
from engine.trace import outcome
from engine.trace.bounds import Bounds
from engine.trace.codec import check_round, event_from_json, event_json
from engine.trace.events import Event, Round, RunEnded, RunStarted, Token
from engine.trace.metrics import metrics

__all__ = [
    "MAX_BYTES",
    "MAX_NODES",
    "MAX_TOKENS",
    "Trace",
    "contents",
    "event_from_json",
    "event_json",
    "sound",
    "unpack",
]

MAX_BYTES = 20_000_000  # after decompression
MAX_NODES = 50_000
MAX_TOKENS = 100_000
GZIPPED = b"\x1f\x8b"
EMPTY = "The trace is empty: its first event, the run, has not come yet."
PIECE = 4096  # bytes gunzipped at a time: of many small members the rest is not copied for each


class Trace:
    """The events of one run, in order. It may still be growing: only `head` and `save` need the first event."""

    drawn: ClassVar[Callable[["Trace"], str] | None] = None  # how a notebook shows it (`app.notebook.register`)

    def __init__(self, events: Iterable[Event] = ()) -> None:
        """Take the events in order.

        Raises:
            TraceError: no list of events, or as `append`.
        """
        if not isinstance(events, Iterable):
            raise TraceError(f"A trace takes a list of events, not {shown(events)}; those of another are its `events`.")
        self._head: RunStarted | None = None
        self.rounds: list[Round] = []
        self.tokens: list[Token] = []
        self.end: RunEnded | None = None
        for event in events:
            self.append(event)

    def _repr_html_(self) -> str | None:
        return Trace.drawn(self) if Trace.drawn else None

    def append(self, event: Event) -> None:
        """Add the next event.

        Raises:
            TraceError: what is no event, events out of order, or a round whose index, start or positions do not
                continue the trace.
        """
        if not isinstance(event, RunStarted | Round | RunEnded):
            raise TraceError(f"A trace is made of events, not of {shown(event)}; `Trace.load` reads a file.")
        if self._head is None:
            if not isinstance(event, RunStarted):
                raise TraceError(f"A trace starts with its run, not with {event.kind!r}.")
            self._head = event
        elif self.end is not None:
            raise TraceError(f"The trace has ended; {event.kind!r} cannot follow.")
        elif isinstance(event, Round):
            self._add_round(event)
        elif isinstance(event, RunEnded):
            self.end = event
        else:
            raise TraceError("The trace has its run already; one trace is one run.")

    def _add_round(self, event: Round) -> None:
        if event.index != len(self.rounds):
            raise TraceError(f"Round {event.index} comes where round {len(self.rounds)} is due.")
        if event.start != len(self.tokens):
            raise TraceError(f"Round {event.index} starts at {event.start}, but {len(self.tokens)} tokens precede it.")
        for offset, token in enumerate(event.tokens):
            if token.pos != event.start + offset:
                raise TraceError(f"Round {event.index}: position {token.pos} where {event.start + offset} is due.")
        check_round(event)
        self.rounds.append(event)
        self.tokens.extend(event.tokens)

    @property
    def head(self) -> RunStarted:
        """The first event.

        Raises:
            TraceError: nothing has been appended yet.
        """
        if self._head is None:
            raise TraceError(EMPTY)
        return self._head

    @property
    def started(self) -> bool:
        """Whether the first event has come."""
        return self._head is not None

    @property
    def events(self) -> Iterator[Event]:
        """All events so far, in order."""
        if self._head is not None:
            yield self._head
        yield from self.rounds
        if self.end is not None:
            yield self.end

    @property
    def token_ids(self) -> list[int]:
        """The ids of the response."""
        return [token.token for token in self.tokens]

    @property
    def text(self) -> str:
        """The response; from the pieces while the run has not ended, or when an error cut it off."""
        if self.end is not None and (self.end.text or self.end.reason != "error"):
            return self.end.text
        return "".join(token.piece for token in self.tokens)

    @property
    def pieces(self) -> dict[int, str]:
        """The text of every token id mentioned so far."""
        known: dict[int, str] = {}
        if self._head is not None:
            known.update(zip(self._head.prompt_ids, self._head.prompt_pieces, strict=False))
        for event in self.rounds:
            known.update((int(token), piece) for token, piece in event.pieces.items())
        return known

    def metrics(self, baseline: "Trace | None" = None) -> dict[str, Any]:
        """The numbers of this run by name (docs/numbers.md); one that cannot be known is None, and `speedup` is there
        only with a baseline.

        Raises:
            ConfigError: the baseline is no autoregressive run of the same prompt, target, device and process.
        """
        if baseline is not None and not isinstance(baseline, Trace):
            raise ConfigError(
                f"A baseline is a trace, not {shown(baseline)}: `Trace.load(path)` reads one from a file."
            )
        return metrics(self, baseline=baseline)

    def to_lines(self) -> Iterator[str]:
        """One line of JSON an event, without the newline."""
        for event in self.events:
            yield json.dumps(event_json(event), ensure_ascii=False, allow_nan=False, separators=(",", ":"))

    def to_bytes(self) -> bytes:
        """The trace as a plain (not gzipped) file; half surrogate pairs are replaced by question marks."""
        return "".join(line + "\n" for line in self.to_lines()).encode("utf-8", "replace")

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the trace; the file appears complete or not at all. The same trace gives the same bytes.

        Raises:
            ConfigError: no path, or that of a folder, a device, a pipe, or a link out of its folder. TraceError:
                nothing has been appended yet, and no file without a first event can be read. OSError: it cannot be
                written.
        """
        if not self.started:
            raise TraceError(EMPTY)
        place, data = as_path(path), self.to_bytes()
        if writable(place).suffix == ".gz":
            data = gzip.compress(data, mtime=0)
        return write(place, data)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        max_bytes: int = MAX_BYTES,
        max_nodes: int = MAX_NODES,
        max_tokens: int = MAX_TOKENS,
    ) -> "Trace":
        """Read a file, gzipped or not, finished or not.

        Raises:
            TraceError: no such file, larger than a limit, of another schema, or damaged.
        """
        return cls.loads(contents(path, max_bytes), max_bytes, max_nodes, max_tokens)

    @classmethod
    def loads(
        cls,
        data: bytes | bytearray | memoryview | str,
        max_bytes: int = MAX_BYTES,
        max_nodes: int = MAX_NODES,
        max_tokens: int = MAX_TOKENS,
    ) -> "Trace":
        """Read the bytes or the text of a file; an unfinished last line is left out, as of a run that is still going.

        Raises:
            TraceError: neither bytes nor text, larger than a limit, of another schema, damaged, or with a number beyond
                what the file can hold.
        """
        if not isinstance(data, bytes | bytearray | memoryview | str):
            raise TraceError(
                f"A trace is read from the bytes or the text of a file, not {shown(data)}; `Trace.load` reads by name."
            )
        plain = unpack(data.encode("utf-8", "replace") if isinstance(data, str) else bytes(data), max_bytes)
        if said := marks.too_many(plain):
            raise TraceError(f"The trace has {said}, which is the limit.")
        lines = plain.removeprefix(codecs.BOM_UTF8).split(b"\n")  # which some editors write
        trace, bounds = cls(), Bounds()
        nodes = 0
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            if not marks.at_once(line):
                raise TraceError(f"Line {number} has more than {marks.MOST_AT_ONCE} values, which is the limit.")
            try:
                event = event_from_json(_parse(line))
                trace.append(event)
                bounds.check(event)
            except ValueError as error:
                if number == len(lines) > 1:  # no newline after it: cut while it was written
                    break
                if isinstance(error, UnicodeDecodeError):
                    raise TraceError(f"Line {number} is no text in UTF-8, so this is no trace.") from None
                at = (
                    f"column {error.colno}: {error.msg}"
                    if isinstance(error, json.JSONDecodeError)
                    else str(error)[:120]
                )
                raise TraceError(f"Line {number} is not JSON, as every line of a trace is ({at}).") from None
            except RecursionError:
                raise TraceError(f"Line {number} is nested too deeply.") from None
            except TraceError as error:
                raise TraceError(f"Line {number}: {error}") from None
            nodes += outcome.nodes(event) if isinstance(event, Round) else 0
            if nodes > max_nodes:
                raise TraceError(f"The trace has more than {max_nodes} nodes, which is the limit.")
            if len(trace.tokens) > max_tokens:
                raise TraceError(f"The trace has more than {max_tokens} tokens, which is the limit.")
        if trace._head is None:
            raise TraceError("The file holds no trace: its first line is missing.")
        return trace


def sound(trace: Trace, name: str) -> Trace:
    """The trace, of a run that is to be counted; `name` is the method's, for the error.

    Raises:
        EngineFault: the run failed, or did not end, so that its text and its numbers are of a part.
    """
    if trace.end is None or trace.end.reason == "error":
        raise EngineFault(f"{name} failed: {trace.end.message if trace.end else 'it did not end'}")
    return trace


def contents(path: str | os.PathLike[str], max_bytes: int) -> bytes:
    """The bytes of a file, as they are.

    Raises:
        TraceError: no path, no such file, or more than `max_bytes`, of which a gzipped one may unpack within the limit
            once its end is cut off.
    """
    place = as_path(path, TraceError)
    try:
        with place.open("rb") as file:
            data = file.read(max_bytes + 1)
    except (OSError, ValueError) as error:
        raise TraceError(unreadable(place, error)) from None
    if len(data) > max_bytes:
        raise TraceError(_larger(max_bytes))
    return data


def unpack(data: bytes, max_bytes: int) -> bytes:
    """The bytes, gunzipped where gzipped, all members one after another; of one that is cut short, what is there.

    Raises:
        TraceError: damaged, gzipped twice, or more than `max_bytes`; no more than that is ever held.
    """
    if data.startswith(GZIPPED):
        data = b"".join(_members(data, max_bytes + 1))
        if data.startswith(GZIPPED):  # else whoever unpacks it anew holds more than was counted
            raise TraceError("The file is gzipped twice: gunzip it once.")
    if len(data) > max_bytes:
        raise TraceError(_larger(max_bytes))
    return data


def _larger(max_bytes: int) -> str:
    return f"The file is larger than {max_bytes / 1e6:g} MB, which is the limit."


def _members(data: bytes, room: int) -> Iterator[bytes]:
    at, stream = 0, zlib.decompressobj(wbits=31)
    while at < len(data) and room > 0:
        piece = data[at : at + PIECE]
        try:
            plain = stream.decompress(piece, room)
        except zlib.error:
            raise TraceError("The file is gzipped but damaged.") from None
        yield plain
        room, at = room - len(plain), at + len(piece) - len(stream.unused_data)
        if stream.eof:
            stream = zlib.decompressobj(wbits=31)


def _parse(line: bytes) -> object:
    return json.loads(line.decode("utf-8"), object_pairs_hook=_object, parse_constant=_constant)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object whose keys are each given once."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise TraceError("A key is given twice in one object.")
    return found


def _constant(name: str) -> float:
    raise TraceError(f"{name} is not a number of JSON.")
