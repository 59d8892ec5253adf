"""What the commands share: a mix from the words of an option, and lines that are told at once."""

from __future__ import annotations

import sys
from typing import Any, TypeVar, get_type_hints

Mix = TypeVar("Mix")


def parse_mix(words: list[str], kind: type[Mix]) -> Mix:
    """A mix of a dataclass from words like `drills=16`; what is not named keeps its default."""
    kinds = get_type_hints(kind)
    values: dict[str, Any] = {}
    for word in words:
        name, _, value = word.partition("=")
        if name not in kinds:
            raise SystemExit(f"--mix {word}: there is no {name!r}; there are {', '.join(kinds)}")
        values[name] = kinds[name](value)
    return kind(**values)


def say(text: str) -> None:
    """Write a line to standard output at once."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()
