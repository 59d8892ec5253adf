"""Long comparisons in a folder: what is done is kept, so that they go on after a stop and are shared by processes.

A sweep is a list of units (a prompt, a repeat) that are numbered alike in every process. Process i of n works on the
units whose number leaves i when divided by n, and appends a line for each to a file of its own as soon as it is done.
Nothing else is shared: no process waits for another, a killed one loses the unit in work, and started again it reads
what is there, its own and the others', and goes on. docs/design/0016-sweeps.md.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from engine.errors import ConfigError, shown
from engine.files.held import hold
from engine.files.shards import Shard
from engine.files.written import append, writable, write_once
from engine.tasks.rows import mend, placed_lines

ABOUT = "sweep.json"
MOMENT = 1.0  # seconds: another process that begins looks at the same lock
AGAIN = "Delete that line, and the same command does anew what it told."


class Kept:
    """The units of a sweep that are done, in memory: gone with the process."""

    shard = Shard()

    def __init__(self) -> None:
        """Nothing is done yet."""
        self._found = dict[int, dict[str, Any]]()

    def done(self) -> set[int]:
        """Numbers of the units that are done."""
        return set(self._found)

    def keep(self, unit: int, found: Mapping[str, Any]) -> None:
        """Take what a unit gave (JSON types)."""
        self._found[unit] = {"unit": unit, **found}

    def found(self) -> Iterator[dict[str, Any]]:
        """What all units gave that are done, in their order."""
        return (self._found[unit] for unit in sorted(self._found))


class Sweep(Kept):
    """The same in a folder, by whichever process. No two processes have the same shard of a folder at a time, nor
    shards of different numbers of processes: this one has its own until the object goes."""

    def __init__(
        self,
        folder: Path,
        settings: Mapping[str, Any],
        shard: Shard,
        flaw: Callable[[Mapping[str, Any]], str] = lambda unit: "",
    ) -> None:
        """Take up the sweep of these settings (JSON types), or begin it. `flaw` tells what is wrong with a line, which
        has the number of its unit and what that gave; nothing of a sound one.

        Raises:
            ConfigError: the folder holds another sweep, with what differs; files that are none, or are damaged; or
            another process does units of this shard.
        """
        super().__init__()
        self.folder, self.shard, self._flaw = folder, shard, flaw
        self._own = folder / f"rows-{shard.index}-of-{shard.count}.ndjson"
        self._sound = dict[Path, int]()  # bytes at the beginning of files whose lines have been looked at
        folder.mkdir(parents=True, exist_ok=True)
        _agree(folder, json.loads(json.dumps(settings)))
        self._held = hold(self._own)
        _others_stopped(folder, shard)
        if writable(self._own).exists():
            mend(self._own)

    def done(self) -> set[int]:
        """Numbers of the units that are done.

        Raises:
            ConfigError: a damaged line.
        """
        return set(self._places())

    def keep(self, unit: int, found: Mapping[str, Any]) -> None:
        """Write what a unit gave (JSON types); once this returns, it is done."""
        append(self._own, (json.dumps({"unit": unit, **found}, ensure_ascii=False) + "\n").encode())

    def found(self) -> Iterator[dict[str, Any]]:
        """What all units gave that are done, in their order; each line is read when its turn comes, and let go.

        Raises:
            ConfigError: a damaged line.
        """
        places = self._places()
        with ExitStack() as opened:
            files = {path: opened.enter_context(path.open("rb")) for path, _ in places.values()}
            for unit in sorted(places):
                path, at = places[unit]
                files[path].seek(at)
                yield json.loads(files[path].readline())

    def _places(self) -> dict[int, tuple[Path, int]]:
        """The file of each unit that is done, and the byte at which its line begins."""
        found: dict[int, tuple[Path, int]] = {}
        for path in _rows(self.folder):
            looked_at = self._sound.get(path, 0)
            for number, at, line in _lines(path):
                if at >= looked_at:
                    self._check(path, number, line)
                    self._sound[path] = at + 1
                found[line["unit"]] = path, at
        return found

    def _check(self, path: Path, number: int, line: Any) -> None:
        what = line.get("unit") if isinstance(line, dict) else None
        if type(what) is not int or what < 0:
            why = "it is no line of a sweep, which is an object with the number of a unit"
        else:
            why = self._flaw(line)
        if why:
            raise ConfigError(f"{path}, line {number} is damaged: {why}. {AGAIN}")


def _rows(folder: Path) -> list[Path]:
    return sorted(folder.glob("rows-*-of-*.ndjson"))


def _others_stopped(folder: Path, shard: Shard) -> None:
    """See that no process is at work that divides the units by another number: some would be done twice.

    Raises:
        ConfigError: one is.
    """
    for lock in sorted(folder.glob("rows-*-of-*.ndjson.lock")):
        rows = lock.with_suffix("")
        if not rows.stem.endswith(f"-of-{shard.count}"):
            with hold(rows, MOMENT):  # a lock that a killed process left is let go
                pass


def _lines(path: Path) -> Iterator[tuple[int, int, Any]]:
    try:
        yield from placed_lines(path, torn=True)
    except ConfigError as error:
        raise ConfigError(f"{error} {AGAIN}") from None


def _agree(folder: Path, settings: Mapping[str, Any]) -> None:
    """Write the settings, or see that they are those that are written.

    Raises:
        ConfigError: they are not, or rows are there without them.
    """
    path = folder / ABOUT
    rows = next((one for one in _rows(folder) if one.stat().st_size), None)  # before the head, which is there first
    if not writable(path).exists():
        if rows:
            raise ConfigError(
                f"{folder} holds {rows.name} without {ABOUT}, which tells what its rows were made with. Name another "
                "folder, or delete the rows."
            )
        write_once(path, (json.dumps(settings, indent=1, ensure_ascii=False) + "\n").encode())
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        raise ConfigError(
            f"{path} is not the head of a sweep: it is no JSON. Name another folder, or delete it and the rows beside "
            "it."
        ) from None
    if found != settings:
        raise ConfigError(f"{folder} holds another sweep: {_difference(found, settings)}. Name another folder.")


def _difference(found: Any, settings: Mapping[str, Any]) -> str:
    """The settings that differ, and of those that hold others only these: `models.draft`, `methods[2]`."""
    before = found if isinstance(found, dict) else {}
    return "; ".join(_apart("", before, settings))


def _apart(name: str, there: Any, here: Any) -> Iterator[str]:
    if there == here:
        return
    if isinstance(there, dict) and isinstance(here, Mapping):
        for key in {**there, **here}:
            yield from _apart(f"{name}.{key}" if name else key, there.get(key), here.get(key))
    elif isinstance(there, list) and isinstance(here, list) and len(there) == len(here):
        for at, (one, other) in enumerate(zip(there, here, strict=True)):
            yield from _apart(f"{name}[{at}]", one, other)
    else:
        yield f"{name} is {shown(there)} there, {shown(here)} here"
