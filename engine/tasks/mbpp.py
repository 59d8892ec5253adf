"""MBPP (Austin et al. 2021): short Python functions from a sentence and three tests, read from a file of the user's."""

from __future__ import annotations

from typing import Any

from engine.errors import ConfigError
from engine.tasks import humaneval
from engine.tasks.problem import Problem
from engine.tasks.rows import wanted, words
from engine.tasks.sandbox import run_python

FAMILY = "mbpp"
PROMPT = (
    "You are an expert Python programmer, and here is your task: {text} Your code should pass these tests:"
    "\n\n{tests}\n[BEGIN]\n"
)
END = "[DONE]"


def problem(row: dict[str, Any]) -> Problem:
    """A row with `text` (or `prompt`), `code` and `test_list`; the answer is one test a line.

    Raises:
        ConfigError: the text is missing or none, or the tests are no list of texts.
    """
    text = words(row, "prompt" if "prompt" in row and "text" not in row else "text", FAMILY)
    tests, imports = (
        _lines(wanted(row, "test_list", FAMILY), "test_list"),
        _lines(row.get("test_imports") or [], "test_imports"),
    )
    setup = str(row.get("test_setup_code") or "\n".join(imports))
    answer = "\n".join([*([setup] if setup else []), *tests])
    prompt = PROMPT.format(text=text.strip(), tests="\n".join(tests))
    return Problem(FAMILY, str(row.get("task_id", text)), prompt, str(row.get("code", "")) + f"\n{END}", answer)


def _lines(value: Any, name: str) -> list[str]:
    if not isinstance(value, (list, tuple)) or not all(isinstance(line, str) for line in value):
        raise ConfigError(f"The field {name!r} of an {FAMILY} problem is a list of texts, not {str(value)[:60]!r}.")
    return list(value)


def extract(text: str) -> str | None:
    """The code before [DONE] or in a fence; None when there is none."""
    code, _ = humaneval.fenced(text.split(END)[0].replace("[BEGIN]", "").replace("\r\n", "\n"))
    return code if code.strip() else None


def equivalent(a: str | None, b: str | None) -> bool:
    """Equal as text; mining compares how the tests end instead."""
    return humaneval.equivalent(a, b)


def score(problem: Problem, text: str) -> float:
    """1.0 when all tests pass in the sandbox, else 0.0."""
    code = extract(text)
    return 0.0 if code is None else float(run_python(f"{code}\n{problem.answer}\n").passed)


def report(problem: Problem, text: str) -> list[str]:
    """How the test program ends, in one line."""
    code = extract(text)
    return ["no code"] if code is None else [run_python(f"{code}\n{problem.answer}\n").reason]
