"""The mined file: a head line, then one JSON line per finished prompt, so that an interruption loses at most one prompt."""

import json
import os
from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path
from typing import Any

from engine.errors import AssetError, ConfigError
from engine.judge.events import Label, PromptFinished, to_json

SCHEMA = 1


class MinedFile:
    """Append-only. Opening one that exists resumes it: a torn last line is cut off, and the head must be the same."""

    def __init__(self, path: Path, head: dict[str, Any]) -> None:
        """Open or create.

        Raises:
            ConfigError: the file was mined with other models or settings.
        """
        self.path, self.head = path, {"kind": "mining", "schema": SCHEMA, **head}
        self.done: set[str] = set()
        if path.exists() and path.stat().st_size:
            _cut_torn_line(path)
            old, prompts = read_mined(path)
            differing = sorted(k for k in old.keys() | self.head.keys() if old.get(k) != self.head.get(k))
            if differing:
                raise ConfigError(
                    f"{path} was mined with other settings ({', '.join(differing)} differ). Resume with the same, or choose "
                    "another file."
                )
            self.done = {prompt.prompt for prompt in prompts}
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._append(self.head)

    def add(self, prompt: PromptFinished) -> None:
        """Write a finished prompt, and make sure that it reaches the disk."""
        self._append(to_json(prompt))
        self.done.add(prompt.prompt)

    def _append(self, line: dict[str, Any]) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n")
            file.flush()
            os.fsync(file.fileno())


def _cut_torn_line(path: Path) -> None:
    data = path.read_bytes()
    if not data.endswith(b"\n"):
        with path.open("r+b") as file:
            file.truncate(data.rfind(b"\n") + 1)


def read_mined(path: Path) -> tuple[dict[str, Any], list[PromptFinished]]:
    """Head and prompts of a mined file.

    Raises:
        AssetError: no mined file, or one of another schema.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
        head, *rest = [json.loads(line) for line in lines]
    except (OSError, ValueError) as error:
        raise AssetError(f"{path} is no mined file: {error}") from None
    if head.get("kind") != "mining" or head.get("schema") != SCHEMA:
        raise AssetError(f"{path} is no mined file of schema {SCHEMA}; its first line says {str(head)[:80]}.")
    return head, [_prompt(line) for line in rest]


def _prompt(line: dict[str, Any]) -> PromptFinished:
    known = {f.name for f in fields(PromptFinished)} - {"labels"}
    return PromptFinished(**{k: v for k, v in line.items() if k in known}, labels=[Label(**label) for label in line["labels"]])


def labels_of(prompts: Iterable[PromptFinished]) -> list[Label]:
    """All labels that may be learned from."""
    return [label for prompt in prompts for label in prompt.labels if label.retokenized != "dropped"]
