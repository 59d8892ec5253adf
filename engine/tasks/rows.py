"""JSON lines, read with errors that name file and line, mended after interruptions; rows of published problem sets."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from engine.errors import ConfigError, first_line
from engine.files.places import no_file

DATASETS = "datasets:"  # before the name of a set that the hub has
MARK = b"\xef\xbb\xbf"  # a byte-order mark, which some editors write first


def read_text(path: Path) -> str:
    """The text of a file; a byte-order mark is no part of it.

    Raises:
        ConfigError: no such file, or one that is not UTF-8, with the line.
    """
    if not path.is_file():
        raise ConfigError(no_file(path))
    data = path.read_bytes()
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{path}, line {line} is not UTF-8: {error.reason}.") from None


def json_lines(path: Path, torn: bool = False) -> Iterator[tuple[int, Any]]:
    """Number (from 1) and value of each line that is not blank; `torn` leaves out a last line that was cut off.

    Only a line feed ends a line: a JSON text may hold U+0085, U+2028 and U+2029 as they are.

    Raises:
        ConfigError: no such file, or a line that is not JSON in UTF-8.
    """
    return ((number, value) for number, _, value in placed_lines(path, torn))


def placed_lines(path: Path, torn: bool = False) -> Iterator[tuple[int, int, Any]]:
    """The same with the byte at which each line begins between number and value."""
    if not path.is_file():
        raise ConfigError(no_file(path))
    with path.open("rb") as lines:
        end = 0
        for number, line in enumerate(lines, 1):
            at, end = end, end + len(line)
            text = line.removeprefix(MARK) if number == 1 else line
            if not text.strip():
                continue
            try:
                value = json.loads(text.decode("utf-8"))
            except (ValueError, RecursionError) as error:
                if torn and not line.endswith(b"\n"):
                    return
                raise ConfigError(f"{path}, line {number} is not JSON in UTF-8: {error}.") from None
            yield number, at, value


def mend(path: Path) -> None:
    """Let a file of JSON lines end with a line feed: a last line that was cut off is removed, a whole one is ended."""
    data = path.read_bytes()
    start = data.rfind(b"\n") + 1
    if start == len(data):
        return
    if _whole(data[start:]):
        with path.open("ab") as file:
            file.write(b"\n")
    else:
        with path.open("r+b") as file:
            file.truncate(start)


def cut_in_head(path: Path, begins: bytes) -> bool:
    """Whether a file can be written anew without loss: it is missing, empty or cut in a first line that begins so."""
    data = path.read_bytes() if path.exists() else b""
    return b"\n" not in data and data[: len(begins)] == begins[: len(data)] and not _whole(data)


def _whole(line: bytes) -> bool:
    try:
        json.loads(line.decode("utf-8"))
    except (ValueError, RecursionError):
        return False
    return True


def read_rows(source: str, n: int | None = None) -> list[tuple[str, dict[str, Any]]]:
    """The first n rows of a .jsonl file, or of "datasets:NAME[:CONFIG[:SPLIT]]" (the split is "test" if not given).

    Each with its place, for errors about it: "FILE, line 3".

    Raises:
        ConfigError: no such file or data set, or a line that is no JSON object.
    """
    rows = _from_datasets(source.removeprefix(DATASETS)) if source.startswith(DATASETS) else _from_file(Path(source))
    found = list(islice(rows, n))
    if not found:
        raise ConfigError(f"{source} holds no problem.")
    return found


def _from_file(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    if not path.is_file():
        raise ConfigError(f"{no_file(path)} Give a JSON-lines file, or datasets:NAME:CONFIG:SPLIT.")
    for number, row in json_lines(path):
        if not isinstance(row, dict):
            raise ConfigError(f"{path}, line {number} is no JSON object.")
        yield f"{path}, line {number}", row


def _from_datasets(name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    datasets: Any = importlib.import_module("datasets")  # heavy: imported when asked for
    repo, _, rest = name.partition(":")
    config, _, split = rest.partition(":")
    try:
        loaded = datasets.load_dataset(repo, config or None, split=split or "test")
    except Exception as error:  # the library raises many kinds, none of them its own family
        raise ConfigError(f"The data set {name} cannot be loaded: {first_line(error)}") from None
    yield from ((f"{name}, row {number}", dict(row)) for number, row in enumerate(loaded))


def wanted(row: dict[str, Any], name: str, family: str) -> Any:
    """A field of a row.

    Raises:
        ConfigError: the row lacks it, or holds null there.
    """
    if row.get(name) is None:
        has = "null there" if name in row else ", ".join(sorted(row)) or "none"
        raise ConfigError(f"A {family} problem needs the field {name!r}; this row has {has}.")
    return row[name]


def words(row: dict[str, Any], name: str, family: str) -> str:
    """A field that holds text, or a number as text.

    Raises:
        ConfigError: the row lacks it, or it is a list, an object or a switch.
    """
    value = wanted(row, name, family)
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise ConfigError(
            f"The field {name!r} of a {family} problem is text, not {json.dumps(value, default=str)[:60]}."
        )
    return str(value)
