"""Answers that are texts of one line: where a response has them, and when two are the same."""

from __future__ import annotations

from engine.tasks import references
from engine.tasks.problem import Problem


def first_line(text: str) -> str | None:
    """The first line that is not empty, or None."""
    return next((line.strip() for line in text.splitlines() if line.strip()), None)


def same_words(a: str | None, b: str | None) -> bool:
    """Equal as text but for spaces."""
    return a is not None and b is not None and a.split() == b.split()


def sentence_bleu(problem: Problem, text: str) -> float:
    """Sentence BLEU of a response's first line against the canonical translation, from 0 to 1."""
    return references.sentence_bleu(first_line(text) or "", [problem.answer]) / 100
