"""Files of prompts, as users have them: which field of a line holds the prompt, and what else is kept of it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from engine.errors import ConfigError, shown
from engine.tasks.problem import Problem
from engine.tasks.rows import DATASETS, json_lines, read_rows

KEYS = ("task_id", "question_id", "prompt_id", "id")  # of a row, the first that it has; else the number of its line
PROMPT_FIELDS = ("prompt", "question", "text", "instruction", "query")


@dataclass(frozen=True)
class Prompt:
    """One prompt and, when it comes from a task, its problem and reference solution.

    `more` holds the user's further turns; `category` what its file says of its kind.
    """

    text: str
    key: str = ""
    solution: str = ""
    problem: Problem | None = None
    category: str = ""
    more: tuple[str, ...] = ()

    @property
    def turns(self) -> tuple[str, ...]:
        """All that the user says."""
        return (self.text, *self.more)

    @property
    def conversation(self) -> str:
        """A fingerprint of what the user says in several turns; of a single prompt none."""
        return hashlib.blake2b(json.dumps(self.turns).encode(), digest_size=8).hexdigest() if self.more else ""


def read_prompts(path: Path, most: int | None = None) -> list[Prompt]:
    """The prompts of a file of JSON lines, or of a set `datasets:NAME:CONFIG:SPLIT`; the first `most` of them.

    Raises:
        ConfigError: no such file, a damaged line, one that holds no prompt, or none at all.
    """
    found = list(_read(path, most))
    if not found:
        raise ConfigError(f"{path} holds no prompt.")
    return found


def turns_left(prompts: Sequence[Prompt]) -> str:
    """What to say where only the first turn of each is asked; empty where there are no further ones."""
    more = sum(bool(prompt.more) for prompt in prompts)
    first = f"{more} of {len(prompts)} prompts go on with further turns. Only the first is asked here"
    return f"{first}; `compare` asks all." if more else ""


def _read(path: Path, limit: int | None) -> Iterator[Prompt]:
    for number, row in islice(_rows(path), limit):
        given = row if isinstance(row, dict) else {}
        solution = given.get("solution") or given.get("answer", "")  # LIMO: the reasoning, and the bare number
        key = next((given[name] for name in KEYS if name in given), number)
        yield Prompt(
            prompt_text(row, path, number),
            str(key),
            str(solution),
            category=str(given.get("category") or ""),
            more=_further_turns(given),
        )


def _rows(path: Path) -> Iterator[tuple[int, Any]]:
    """Lines of a file, or rows of a data set."""
    if not str(path).startswith(DATASETS):
        yield from json_lines(path)
        return
    for number, (_, row) in enumerate(read_rows(str(path)), 1):
        yield number, row


def _turns(row: Mapping[str, Any]) -> list[Any]:
    """What the user says one after the other: MT-bench and Spec-Bench name it turns, the former's data set prompt. Of a
    chat it is what the messages of the user hold. `prompt_text` sees that all are texts."""
    given: list[Any] = next((row[name] for name in ("turns", "prompt") if isinstance(row.get(name), list)), [])
    if all(isinstance(one, dict) for one in given):
        return [one.get("content") for one in given if one.get("role", "user") == "user"]
    return given


def _further_turns(row: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(_turns(row)[1:])


def prompt_text(row: Any, path: Path, number: int) -> str:
    """The prompt in a line of a file.

    Raises:
        ConfigError: it has none of the fields that hold one, or a turn of the user's is no text.
    """
    if isinstance(row, str):
        return row
    if isinstance(row, dict):
        if turns := _turns(row):
            for turn, text in enumerate(turns, 1):
                if not isinstance(text, str):
                    raise ConfigError(f"{path}, line {number}: turn {turn} of the user's is {shown(text)}, not a text.")
            return str(turns[0])
        for name in PROMPT_FIELDS:
            if isinstance(row.get(name), str):
                return str(row[name])
    fields = ", ".join((*PROMPT_FIELDS, "turns"))
    raise ConfigError(f"{path}, line {number}, holds no prompt: a text in one of the fields {fields}, or a text alone.")
