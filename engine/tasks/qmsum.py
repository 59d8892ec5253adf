"""QMSum (Zhong et al. 2021): a question about part of a meeting, answered by a summary; from a file of the user's."""

from __future__ import annotations

from typing import Any

from engine.tasks.problem import Problem
from engine.tasks.rows import words
from engine.tasks.texts import same_words

FAMILY = "qmsum"
PROMPT = "{source}\n\nSummarize what this part of a meeting says about the question.\nQuestion: {query}\nSummary:"


def problem(row: dict[str, Any]) -> Problem:
    """A row with `query`, `source` (the turns that matter) and `summary`.

    Raises:
        ConfigError: a field is missing or no text.
    """
    query, source, summary = (words(row, name, FAMILY).strip() for name in ("query", "source", "summary"))
    return Problem(FAMILY, str(row.get("id", query)), PROMPT.format(source=source, query=query), f" {summary}", summary)


def extract(text: str) -> str | None:
    """The first paragraph that is not empty, or None."""
    return next((part.strip() for part in text.split("\n\n") if part.strip()), None)


equivalent = same_words


def score(problem: Problem, text: str) -> float:
    """1.0 when the response is the reference, which summaries hardly ever are; they are measured by ROUGE."""
    return float(equivalent(extract(text), problem.answer))
