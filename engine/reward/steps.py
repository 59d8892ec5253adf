"""Steps of a response: where one ends. A step says something, and then comes a delimiter."""

from collections.abc import Callable, Iterator, Sequence

BLANK_LINE = ("\n\n",)  # of chat models
SENTENCES = (".", "\n")  # of the embedded families: a sentence, or a line of a program


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
