"""WMT news translation, English to German, read from a file or data set that the user names."""

from __future__ import annotations

from typing import Any

from engine.errors import ConfigError
from engine.tasks.problem import Problem
from engine.tasks.rows import wanted, words
from engine.tasks.texts import first_line, same_words

FAMILY = "wmt_en_de"
PROMPT = "Translate English to German.\nEnglish: {source}\nGerman:"


def problem(row: dict[str, Any]) -> Problem:
    """A row with `source` and `reference`, or with `translation` {en, de} as Hugging Face has it.

    Raises:
        ConfigError: a field is missing or no text.
    """
    if "translation" in row:
        both = wanted(row, "translation", FAMILY)
        if not isinstance(both, dict):
            raise ConfigError(
                f"The field 'translation' of a {FAMILY} problem is an object with en and de, not {str(both)[:60]!r}."
            )
        row = {"source": words(both, "en", FAMILY), "reference": words(both, "de", FAMILY)}
    source, reference = (words(row, name, FAMILY).strip() for name in ("source", "reference"))
    return Problem(FAMILY, source, PROMPT.format(source=source), f" {reference}", reference)


extract, equivalent = first_line, same_words


def score(problem: Problem, text: str) -> float:
    """1.0 when the response is the reference; translations are measured by BLEU and chrF."""
    return float(equivalent(extract(text), problem.answer))
