"""The one reader of recorded runs, for uploads, pools, reports, the command line and the page.

What it gives back is sound: types by `engine.trace.codec`, numbers within what the file holds by `engine.trace.bounds`,
and nothing that contradicts itself by `identities`.
"""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, cast

from engine.analysis.identities import identities
from engine.errors import ConfigError, TraceError
from engine.files import marks
from engine.files.places import as_path, near
from engine.trace import outcome
from engine.trace.store import MAX_BYTES, MAX_NODES, Trace, contents, unpack
from engine.trace.sums import as_trace

ENDINGS = (".jsonl", ".jsonl.gz")
MAX_RUNS = 200
MAX_FILE = 10 * MAX_BYTES  # of a file of several runs, after decompression


def read_run(path: str | os.PathLike[str]) -> Trace:
    """The run in a file.

    Raises:
        TraceError: no such file, larger than a limit, of another schema, damaged, several runs, or one that contradicts
        itself.
    """
    return _sound(Trace.load(path))


def read_file(path: str | os.PathLike[str]) -> list[Trace]:
    """The runs in a file, one or several one after another, as the page saves them; the usual limits are for each.

    Raises:
        TraceError: no such file, larger than a limit, of another schema, damaged, or a run that contradicts itself.
    """
    place = as_path(path, TraceError)
    try:
        return [_sound(Trace.loads(part)) for part in open_file(place)]
    except TraceError as error:
        said = str(error)
        raise TraceError(said if place.name in said else f"{path}: {said}") from None


def traces_in(folder: str | os.PathLike[str]) -> list[Path]:
    """The traces of a folder and of those below it; of a file itself.

    Raises:
        ConfigError: there are none, or there is no such folder. OSError: it, or one below it, may not be looked into.
    """
    folder = as_path(folder)
    if not folder.exists():
        raise ConfigError(f"There is no file or folder {folder}.{near(str(folder), Path.exists)}")
    files = sorted(_below(folder)) if folder.is_dir() else [folder]
    if not files or not files[0].is_file():
        raise ConfigError(
            f"There are no traces in {folder}: write some with `python -m engine compare ... --out {folder}`."
        )
    return files


def _below(folder: Path) -> Iterator[Path]:
    """The traces below a folder; one that may not be looked into is an error, since runs would be left out unsaid."""

    def refuse(error: OSError) -> None:
        raise error

    for at, _, names in os.walk(folder, onerror=refuse):
        yield from (Path(at, name) for name in names if name.endswith(ENDINGS))


def named(paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> list[Path]:
    """The files that a command line names, one or several: folders stand for the traces in them.

    Raises:
        ConfigError: a folder without a trace, or what is no path.
    """
    alone = isinstance(paths, str | os.PathLike) or not isinstance(paths, Iterable)
    places = [as_path(one) for one in ([paths] if alone else cast(Iterable[Any], paths))]
    return [file for path in places for file in (traces_in(path) if path.is_dir() else [path])]


def open_file(path: str | os.PathLike[str]) -> list[bytes]:
    """The bytes of each run in a file, gunzipped and not yet read.

    Raises:
        TraceError: no such file, larger than a limit, or gzipped and damaged.
    """
    return _parts(unpack(contents(path, MAX_FILE), MAX_FILE), MAX_RUNS)


def read_runs(
    data: bytes, max_bytes: int = MAX_BYTES, max_nodes: int = MAX_NODES, max_runs: int = MAX_RUNS
) -> list[Trace]:
    """The runs in the bytes of a file, gzipped or not, each with its `run` line first; the limits are for all together.

    Raises:
        TraceError: larger than a limit, of another schema, damaged, or a run that contradicts itself.
    """
    plain = unpack(data, max_bytes)
    if said := marks.too_many(plain):
        raise TraceError(f"The file has {said}, which is the limit.")
    traces, room = list[Trace](), max_nodes
    for part in _parts(plain, max_runs):
        traces.append(_sound(Trace.loads(part, max_bytes, max_nodes)))
        room -= draft_tokens(traces[-1])
        if room < 0:
            raise TraceError(f"The runs of this file have more than {max_nodes} nodes together, which is the limit.")
    return traces


def draft_tokens(trace: Trace) -> int:
    """How many draft tokens a trace holds, those left out of a draft included.

    Raises:
        ConfigError: something that is no trace.
    """
    return sum(map(outcome.nodes, as_trace(trace).rounds))


def _sound(trace: Trace) -> Trace:
    broken = identities(trace)
    if broken:
        more = f" And {len(broken) - 1} more." if len(broken) > 1 else ""
        said = broken[0][:1].upper() + broken[0][1:300]
        raise TraceError(f"The run of {trace.head.method[:40]!r} contradicts itself. {said}{more}")
    return trace


def _parts(data: bytes, max_runs: int) -> list[bytes]:
    starts = [0, *(i + 1 for i in _newlines(data) if _begins_run(data[i + 1 : i + 120]))]
    if len(starts) > max_runs:
        raise TraceError(f"The file holds {len(starts)} runs; at most {max_runs} fit side by side.")
    return [data[a:b] for a, b in zip(starts, [*starts[1:], len(data)], strict=True)]


def _begins_run(line: bytes) -> bool:
    return line.replace(b" ", b"").startswith(b'{"kind":"run"')


def _newlines(data: bytes) -> Iterator[int]:
    at = data.find(b"\n")
    while at >= 0:
        yield at
        at = data.find(b"\n", at + 1)
