"""Long comparisons in a folder: what is done is kept, so that they go on after a stop and are shared by processes.

A sweep is a list of units (a prompt, a repeat) that are numbered alike in every process. Process i of n works on the
units whose number leaves i when divided by n, and appends a line for each to a file of its own as soon as it is done.
Nothing else is shared: no process waits for another, a killed one loses the unit in work, and started again it reads
what is there, its own and the others', and goes on. docs/design/0016-sweeps.md.
"""

import json
import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from engine.errors import ConfigError, shown
from engine.files.shards import Shard
from engine.files.written import writable
from engine.tasks.rows import mend, placed_lines

ABOUT = "sweep.json"


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
    """The same in a folder, by whichever process."""

    def __init__(self, folder: Path, settings: Mapping[str, Any], shard: Shard) -> None:
        """Take up the sweep of these settings (JSON types), or begin it.

        Raises:
            ConfigError: the folder holds another sweep, with what differs; or files that are none.
        """
        super().__init__()
        self.folder, self.shard = folder, shard
        self._own = folder / f"rows-{shard.index}-of-{shard.count}.ndjson"
        folder.mkdir(parents=True, exist_ok=True)
        _agree(folder / ABOUT, json.loads(json.dumps(settings)))
        if writable(self._own).exists():
            mend(self._own)

    def done(self) -> set[int]:
        """Numbers of the units that are done."""
        return set(self._places())

    def keep(self, unit: int, found: Mapping[str, Any]) -> None:
        """Write what a unit gave (JSON types); once this returns, it is done."""
        line = json.dumps({"unit": unit, **found}, ensure_ascii=False)
        with self._own.open("a", encoding="utf-8") as file:
            file.write(line + "\n")
            file.flush()
            os.fsync(file.fileno())

    def found(self) -> Iterator[dict[str, Any]]:
        """What all units gave that are done, in their order; each line is read when its turn comes, and let go."""
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
        for path in sorted(self.folder.glob("rows-*-of-*.ndjson")):
            for number, at, line in placed_lines(path, torn=True):
                if not isinstance(line, dict) or not isinstance(line.get("unit"), int):
                    raise ConfigError(f"{path}, line {number} is no line of a sweep.")
                found[line["unit"]] = path, at
        return found


def _agree(path: Path, settings: Mapping[str, Any]) -> None:
    """Write the settings, or see that they are those that are written.

    Raises:
        ConfigError: they are not.
    """
    temporary = writable(path).with_name(f"{path.name}.{secrets.token_hex(4)}.part")
    temporary.write_text(json.dumps(settings, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    try:
        os.link(temporary, path)  # whole at once, and only where no other process was faster
    except FileExistsError:
        pass
    finally:
        temporary.unlink()
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        raise ConfigError(f"{path} is not the head of a sweep: it is no JSON.") from None
    if found != settings:
        raise ConfigError(f"{path.parent} holds another sweep: {_difference(found, settings)}. Name another folder.")


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
