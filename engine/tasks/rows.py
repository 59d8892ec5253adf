"""Rows of a published problem set: a JSON-lines file, or a data set through `datasets`."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from engine.errors import ConfigError


def read_rows(source: str, n: int | None = None) -> list[dict[str, Any]]:
    """The first n rows of a .jsonl file, or of "datasets:NAME[:CONFIG[:SPLIT]]" (the split is "test" if not given).

    Raises:
        ConfigError: no such file or data set, or a line that is no JSON object.
    """
    rows = _from_datasets(source.removeprefix("datasets:")) if source.startswith("datasets:") else _from_file(Path(source))
    found = list(islice(rows, n))
    if not found:
        raise ConfigError(f"{source} holds no problem.")
    return found


def _from_file(path: Path) -> Iterator[dict[str, Any]]:
    if not path.is_file():
        raise ConfigError(f"There is no file {path}. Give a JSON-lines file, or datasets:NAME:CONFIG:SPLIT.")
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            try:
                row = json.loads(line)
            except json.JSONDecodeError as error:
                raise ConfigError(f"{path}, line {number} is not JSON: {error}.") from None
            if not isinstance(row, dict):
                raise ConfigError(f"{path}, line {number} is no JSON object.")
            yield row


def _from_datasets(name: str) -> Iterator[dict[str, Any]]:
    datasets: Any = importlib.import_module("datasets")  # heavy: imported when asked for
    repo, _, rest = name.partition(":")
    config, _, split = rest.partition(":")
    try:
        loaded = datasets.load_dataset(repo, config or None, split=split or "test")
    except Exception as error:  # the library raises many kinds, none of them its own family
        raise ConfigError(f"The data set {name} cannot be loaded: {str(error).splitlines()[0][:200]}") from None
    yield from (dict(row) for row in loaded)


def wanted(row: dict[str, Any], name: str, family: str) -> Any:
    """A field of a row.

    Raises:
        ConfigError: the row lacks it.
    """
    if name not in row:
        raise ConfigError(f"A {family} problem needs the field {name!r}; this row has {', '.join(sorted(row)) or 'none'}.")
    return row[name]
