"""Texts for a static automaton: files, recorded traces, or the reference solutions of an embedded task."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from engine.errors import ConfigError
from engine.model import Tokenizer
from engine.tasks import FAMILIES, load_problems
from engine.trace.store import Trace

FIELDS = ("text", "response", "solution", "answer", "completion", "output")


def of_task(family: str, n: int, seed: int = 0) -> Iterator[str]:
    """Prompts with reference solutions of the training split, which held-out problems never share facts with.

    Raises:
        ConfigError: an unknown family.
    """
    if family not in FAMILIES:
        raise ConfigError(f"Unknown task {family!r}. Known: {', '.join(FAMILIES)}.")
    for problem in load_problems(family, "train", n, seed):
        yield problem.prompt + problem.solution


def of_file(path: Path) -> Iterator[list[int] | str]:
    """A trace (.jsonl, .jsonl.gz) as token ids, JSON lines with a text field each, or a plain text file as one text.

    Raises:
        ConfigError: no such file, or a line without a text.
    """
    if not path.is_file():
        raise ConfigError(f"There is no file {path}.")
    if path.name.endswith(".gz") or _is_trace(path):
        trace = Trace.load(path)
        yield [*trace.head.prompt_ids, *trace.token_ids]
        return
    if path.suffix != ".jsonl":
        yield path.read_text(encoding="utf-8")
        return
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        row = json.loads(line)
        text = row if isinstance(row, str) else next((row[f] for f in FIELDS if isinstance(row.get(f), str)), None)
        if text is None:
            raise ConfigError(f"{path}, line {number} has none of the fields {', '.join(FIELDS)}.")
        yield text


def _is_trace(path: Path) -> bool:
    with path.open(encoding="utf-8", errors="replace") as file:
        return file.readline(200).startswith('{"kind":"run"') or '"schema"' in file.readline(200)


def encode(tokenizer: Tokenizer, texts: Iterator[list[int] | str], limit: int) -> Iterator[list[int]]:
    """Token ids of each text until `limit` tokens are reached in all."""
    total = 0
    for text in texts:
        ids: Sequence[int] = tokenizer.encode(text) if isinstance(text, str) else text
        ids = list(ids)[: limit - total]
        total += len(ids)
        if ids:
            yield list(ids)
        if total >= limit:
            return
