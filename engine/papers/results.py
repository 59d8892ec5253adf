"""Committed results under docs/results/papers, a file an item: the runs as numbers, and what follows from them."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from engine.errors import ConfigError
from engine.files.documents import read_object
from engine.files.places import ROOT
from engine.files.written import write
from engine.papers.entries import Item, Paper
from engine.papers.records import from_json
from engine.papers.summary import of_file, of_records, summary, verdict

FOLDER = ROOT / "docs" / "results" / "papers"


def place(paper: Paper, item: Item, folder: Path = FOLDER) -> Path:
    """Where the result of an item lies."""
    return folder / f"{paper.key}-{item.id}.json"


def follows(item: Item, result: Mapping[str, Any], *roots: Path) -> dict[str, Any]:
    """Tables, statements and verdict, computed anew from the rows of a result, or from the files that it names, each in
    the first of the `roots` that has it (this repository, if none is given); one that was not made yet gives no
    numbers.

    Raises:
        AssetError, ConfigError: a file is damaged.
    """
    if item.source:
        places = [[root / name for root in roots or (ROOT,)] for name in item.source]
        found = [path for each in places if (path := next((one for one in each if one.is_file()), None))]
        data = {path.stem: read_object(path) for path in found}
        return summary(item, of_file(data), data)
    return summary(item, of_records(from_json(result)))


def load(paper: Paper, item: Item, folder: Path = FOLDER) -> dict[str, Any] | None:
    """The result of an item, or None.

    Raises:
        AssetError: damaged. ConfigError: the result of another item.
    """
    path = place(paper, item, folder)
    if not path.is_file():
        return None
    found = read_object(path)
    if (found.get("paper"), found.get("item")) != (paper.key, item.id):
        raise ConfigError(f"{path.name} holds the result of another item.")
    return found


def save(paper: Paper, item: Item, found: Mapping[str, Any], folder: Path = FOLDER) -> Path:
    """Write a result: a run a line, so that a change of one is a line of the diff."""
    path = place(paper, item, folder)
    path.parent.mkdir(parents=True, exist_ok=True)
    write(path, _text({"kind": "paper item", "schema": 1, "paper": paper.key, "item": item.id, **found}).encode())
    return path


def _text(found: Mapping[str, Any]) -> str:
    parts = []
    for name, value in found.items():
        if name in ("runs", "tables", "checks") and value:
            lines = ",\n".join("  " + json.dumps(one, ensure_ascii=False, allow_nan=False) for one in value)
            parts.append(f" {json.dumps(name)}: [\n{lines}\n ]")
        else:
            parts.append(f" {json.dumps(name)}: {json.dumps(value, ensure_ascii=False, allow_nan=False)}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def verdict_of(item: Item, result: Mapping[str, Any] | None) -> str:
    """The verdict on an item as far as it is recorded."""
    return str(result["verdict"]) if result else verdict(item, ())
