"""Steps of a response: where one ends. A step says something, and then comes a delimiter."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from engine.errors import AssetError, shown
from engine.files.documents import fits

BLANK_LINE = ("\n\n",)  # of chat models
SENTENCES = (".", "\n")  # of the embedded families: a sentence, or a line of a program


def delimiters_of(given: Any, place: str) -> tuple[str, ...]:
    """What ends a step, as the file `place` tells it: one text, or several.

    Raises:
        AssetError: it is no text, or an empty one, which would end a step at every token.
    """
    found = [given] if isinstance(given, str) else given
    if not fits(found, list[str]) or not found or "" in found:
        raise AssetError(f"step_delimiters of {place} must be one text or several, none of them empty: {shown(given)}.")
    return tuple(found)


def ended(step: str, delimiters: Sequence[str]) -> bool:
    """Whether a text that starts where a step does holds the end of that step; blanks before it are no step."""
    body = step.lstrip()
    return any(delimiter in body for delimiter in delimiters)


def step_ends(tokens: Sequence[int], decode: Callable[[Sequence[int]], str], delimiters: Sequence[str]) -> list[int]:
    """How many tokens there are up to the end of each step; what is left over at the end is a step as well."""
    return list(_ends(tokens, decode, delimiters))


def _ends(tokens: Sequence[int], decode: Callable[[Sequence[int]], str], delimiters: Sequence[str]) -> Iterator[int]:
    start = 0
    for end in range(1, len(tokens) + 1):
        if ended(decode(tokens[start:end]), delimiters):
            yield end
            start = end
    if decode(tokens[start:]).strip():
        yield len(tokens)
