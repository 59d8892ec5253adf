"""Texts for a static automaton: files, recorded traces, or the reference solutions of an embedded task."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from engine.analysis.reading import read_file
from engine.errors import ConfigError
from engine.files.places import no_file
from engine.model import Tokenizer
from engine.tasks import load_problems
from engine.tasks.rows import json_lines, read_text

FIELDS = ("text", "response", "solution", "answer", "completion", "output")
HEAD = b'{"kind":"run"'  # of a trace


def of_task(family: str, n: int, seed: int = 0) -> Iterator[str]:
    """Prompts with reference solutions of the training split, which held-out problems never share facts with.

    Raises:
        ConfigError: an unknown family.
    """
    for problem in load_problems(family, "train", n, seed):
        yield problem.prompt + problem.solution


def of_file(path: Path, vocab: int | None = None) -> Iterator[list[int] | str]:
    """Texts of a file: of a trace file (.jsonl, .jsonl.gz) the token ids of each run, of JSON lines a text field each,
    of any other the whole text.

    Raises:
        ConfigError: no such file, a line without a text, or a trace with ids that a vocabulary of `vocab` tokens lacks.
        TraceError: a damaged trace.
    """
    if not path.is_file():
        raise ConfigError(no_file(path))
    if path.name.endswith(".gz") or _is_trace(path):
        for trace in read_file(path):
            ids = [*trace.head.prompt_ids, *trace.token_ids]
            if vocab is not None and max(ids, default=0) >= vocab:
                raise ConfigError(
                    f"{path} holds the token id {max(ids)}, and this target has {vocab}: another vocabulary wrote it."
                )
            yield ids
    elif path.suffix == ".jsonl":
        yield from (_text(row, f"{path}, line {number}") for number, row in json_lines(path))
    else:
        yield read_text(path)


def _text(row: Any, place: str) -> str:
    if isinstance(row, dict):
        row = next((row[name] for name in FIELDS if isinstance(row.get(name), str)), None)
    if not isinstance(row, str):
        raise ConfigError(f"{place} has none of the fields {', '.join(FIELDS)}.")
    return row


def _is_trace(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(HEAD)) == HEAD


def encode(tokenizer: Tokenizer, texts: Iterator[list[int] | str], limit: int) -> Iterator[list[int]]:
    """Token ids of each text that is not empty, until `limit` tokens are reached in all."""
    total = 0
    for text in (text for text in texts if text):
        ids: list[int] = tokenizer.encode(text) if isinstance(text, str) else text
        ids = ids[: limit - total]
        total += len(ids)
        if ids:
            yield ids
        if total >= limit:
            return
