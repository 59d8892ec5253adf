"""The mined file: a head line, then a JSON line per finished prompt, so that an interruption loses at most one."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from engine.errors import AssetError, ConfigError
from engine.files.documents import fits
from engine.files.held import hold_whole
from engine.files.shards import MAIN, Shard, parts
from engine.files.written import append, write
from engine.judge.events import Label, PromptFinished, to_json
from engine.model import Model
from engine.tasks.rows import cut_in_head, json_lines, mend

SCHEMA = 1
BEGINS = b'{"kind":"mining"'
PROMPT = {f.name for f in fields(PromptFinished)} - {"labels"}
IDS = ("prompt_ids", "first", "final")
MOST_IDS = 2**31  # whether the models know them is seen when they are loaded


def numbers(model: Model) -> dict[str, str]:
    """The type of numbers as a mined file's head tells it: that of files without it is float32."""
    return {} if model.dtype == "float32" else {"dtype": model.dtype}


class MinedFile:
    """Append-only. Opening one that exists resumes it: a torn last line is cut off, and the head must be the same.

    A file without a finished prompt is begun anew, and one that was not mined is left as it is. Of several processes
    each has a file of its own beside it, and leaves out what the others have done.
    """

    def __init__(self, path: Path, head: dict[str, Any], shard: Shard = MAIN) -> None:
        """Open or create.

        Raises:
            ConfigError: the file was mined with other models or settings. AssetError: it is no mined file, or a damaged
            one.
        """
        self.whole, self.path, self.shard = path, shard.own(path), shard
        self.head = {"kind": "mining", "schema": SCHEMA, **head}
        old, prompts = _found(self.path)
        if prompts:
            self._same(self.path, old)
            mend(self.path)
        else:
            write(self.path, _line(self.head).encode())
        self.done = self._all().keys() | {prompt.prompt for prompt in prompts}

    def _all(self) -> dict[str, PromptFinished]:
        """The finished prompts of all processes."""
        found: dict[str, PromptFinished] = {}
        for path in parts(self.whole):
            head, prompts = _found(path)
            if prompts:
                self._same(path, head)
            found |= {prompt.prompt: prompt for prompt in prompts}
        return found

    def fits(self, asked: Mapping[str, Sequence[int]]) -> None:
        """Nothing, where each finished prompt that is asked for has the token ids that it is asked with.

        Raises:
            ConfigError: one has others, as its source was edited, or other cases come first.
        """
        found = self._all() | {prompt.prompt: prompt for prompt in _found(self.path)[1]}
        other = next((name for name, one in found.items() if name in asked and one.prompt_ids != list(asked[name])), "")
        if other:
            raise ConfigError(
                f"{self.path} holds another prompt as {other}: what is mined has changed since. Choose another file, "
                "or delete this one to begin anew."
            )

    def gather(self, order: Sequence[str]) -> int:
        """How many of these prompts are missing; where none is, the whole file is written in this order.

        Where no other process did anything it is whole as it is.

        Raises:
            ConfigError: a process that has no shard of the work is still writing it.
        """
        if missing := len(set(order) - self._all().keys()):
            return missing
        with hold_whole(self.whole, self.shard):
            found = self._all()
            if parts(self.whole) != [self.whole]:
                names = [*order, *(name for name in found if name not in set(order))]
                lines = [_line(self.head), *(_line(to_json(found[name])) for name in names)]
                write(self.whole, "".join(lines).encode())
        return 0

    def _same(self, path: Path, old: dict[str, Any]) -> None:
        differing = sorted(k for k in old.keys() | self.head.keys() if old.get(k) != self.head.get(k))
        if differing:
            raise ConfigError(
                f"{path} was mined with other settings ({', '.join(differing)} differ). Resume with the same, or "
                "choose another file."
            )

    def add(self, prompt: PromptFinished) -> None:
        """Write a finished prompt, and make sure that it reaches the disk."""
        append(self.path, _line(to_json(prompt)).encode())
        self.done.add(prompt.prompt)


def _line(found: dict[str, Any]) -> str:
    return json.dumps(found, ensure_ascii=False, separators=(",", ":")) + "\n"


def _found(path: Path) -> tuple[dict[str, Any], list[PromptFinished]]:
    """Head and prompts of a file to be resumed; nothing of a missing or empty one, or one that was cut in its head."""
    return ({}, []) if cut_in_head(path, BEGINS) else read_mined(path)


def read_mined(path: Path) -> tuple[dict[str, Any], list[PromptFinished]]:
    """Head and prompts of a mined file; a last line that was cut off is left out.

    Raises:
        AssetError: no mined file, one of another schema, or a damaged one, with the line.
    """
    try:
        lines = json_lines(path, torn=True)
        _, head = next(lines, (0, None))
        if (
            not isinstance(head, dict)
            or head.get("kind") != "mining"
            or head.get("schema") != SCHEMA
            or not _head(head)
        ):
            says = "it has no line" if head is None else f"its first line says {str(head)[:80]}"
            raise AssetError(f"{path} is no mined file of schema {SCHEMA}; {says}.")
        return head, [_prompt(line, f"{path}, line {number}") for number, line in lines]
    except (OSError, ConfigError) as error:
        raise AssetError(f"{path} is no mined file: {error}") from None


def _prompt(line: Any, place: str) -> PromptFinished:
    try:
        labels = [Label(**label) for label in line["labels"]]
        found = PromptFinished(**{k: v for k, v in line.items() if k in PROMPT}, labels=labels)
    except (AttributeError, KeyError, TypeError) as error:
        raise AssetError(f"{place} is no mined prompt: {type(error).__name__}: {error}.") from None
    if not all(map(_sound_label, labels)) or not _sound(found):
        raise AssetError(f"{place} is a damaged prompt: a field does not hold what it should.")
    return found


def _head(head: dict[str, Any]) -> bool:
    """Whether the settings that are read later have their types."""
    kinds: dict[str, Any] = {"task": str, "split": str, "naive": bool, "problem_seed": int}
    kinds["models"] = dict[str, dict[str, Any]]
    kinds |= {"equivalence": str, "temperature": float, "eagle_online": str, "mined_with": dict[str, Any]}
    kinds |= {"judge_model": str, "votes": int, "vote": str}
    return all(name not in head or fits(head[name], kind) for name, kind in kinds.items())


def _sound(prompt: PromptFinished) -> bool:
    """Whether every field has its declared type and ids are ids.

    That labels lie within the response is checked when they are read for training.
    """
    return _typed(prompt) and all(_ids(getattr(prompt, name)) for name in IDS) and prompt.seconds >= 0


def _sound_label(label: Label) -> bool:
    ids = (
        [label.t, label.target_token, label.draft_token, *label.target_rest, *label.draft_rest]
        if _typed(label)
        else [-1]
    )
    return _ids(ids) and (label.score is None or 0 <= label.score <= 1)


def _typed(record: Label | PromptFinished) -> bool:
    """Whether every field is of its type; labels are seen to one by one."""
    return all(f.name == "labels" or fits(getattr(record, f.name), f.type) for f in fields(record))


def _ids(values: list[int]) -> bool:
    return all(0 <= value < MOST_IDS for value in values)


def labels_of(prompts: Iterable[PromptFinished]) -> list[Label]:
    """All labels that may be learned from."""
    return [label for prompt in prompts for label in prompt.labels if label.retokenized != "dropped"]
