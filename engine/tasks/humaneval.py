"""HumanEval (Chen et al. 2021): complete a Python function, read from a file of the user's, scored by its tests."""

from __future__ import annotations

import re
from typing import Any

from engine.errors import ConfigError
from engine.tasks.problem import Problem
from engine.tasks.rows import words
from engine.tasks.sandbox import run_python

FAMILY = "humaneval"
STOPS = ("\nclass ", "\ndef ", "\n#", "\n@", "\nprint", "\nif ", "\nassert", "\n```")
_FENCE = re.compile(r"```[\w+#.-]*[ \t]*(?:\n|\Z)(.*?)(?:```|\Z)", re.DOTALL)
_BEGUN = re.compile(r"(?:[ \t]*\n)*(?:  |\t|def |class |import |from |@)")  # as code begins, and talk of it does not
_IMPORTS = re.compile(r"\s*(?:(?:from|import) [^\n]*\n+)+")
_PROGRAM = re.compile(r"(?:[ \t]*\n|#[^\n]*\n)*(?:def |class |@|\w+ *=)")  # as a program begins, a body does not


def problem(row: dict[str, Any]) -> Problem:
    """A row with `task_id`, `prompt`, `entry_point`, `canonical_solution` and `test`; the answer is the test program.

    Raises:
        ConfigError: a field is missing or no text, or the entry point is no name.
    """
    entry = words(row, "entry_point", FAMILY)
    if not entry.isidentifier():
        raise ConfigError(f"{entry!r} is no function name.")
    tests = f"{words(row, 'test', FAMILY)}\ncheck({entry})\n"
    prompt, solution = words(row, "prompt", FAMILY), words(row, "canonical_solution", FAMILY)
    return Problem(FAMILY, words(row, "task_id", FAMILY), prompt, solution, tests)


def fenced(text: str) -> tuple[str, bool]:
    """The code of a response, and whether a fence opens it: the first fenced block, or what stands before a fence that
    only ends the code, as where the prompt opened one; all of a text without fences."""
    fence = _FENCE.search(text)
    if fence is None:
        return text, False
    before = text[: fence.start()]
    return (before, False) if _BEGUN.match(before) else (fence.group(1), True)


def extract(text: str, entry: str = "") -> str | None:
    """The code in a response: a fenced block, or the continuation up to the end of the function, which may stand behind
    imports, and in a whole program of which `entry` is the function behind others; None when empty."""
    code, opened = fenced(text)
    if not opened:
        imports = _IMPORTS.match(code)
        begins = imports.end() if imports else 0
        whole = _defined(entry, code) if entry and _PROGRAM.match(code, begins) else None
        start = whole.end() if whole else begins or 1
        ends = [at for stop in STOPS if (at := code.find(stop, start)) >= 0]
        code = code[: min(ends, default=len(code))]
    return code if code.strip() else None


def program(problem: Problem, text: str) -> str | None:
    """What is run: a response that defines the whole function (after the prompt's imports), else prompt and body."""
    entry = problem.answer.rstrip().rpartition("check(")[2].rstrip(")")
    code = extract(text, entry)
    if code is None:
        return None
    whole = _defined(entry, code)
    before = problem.prompt[: problem.prompt.rfind(f"def {entry}")] if whole else problem.prompt
    return f"{before}{code}\n{problem.answer}"


def _defined(entry: str, code: str) -> re.Match[str] | None:
    """Where code defines a function, not within another."""
    return re.search(rf"^def {entry}\b", code, re.MULTILINE)


def equivalent(a: str | None, b: str | None) -> bool:
    """Equal as text; mining compares how the tests end instead."""
    return a is not None and b is not None and a.strip() == b.strip()


def score(problem: Problem, text: str) -> float:
    """1.0 when all tests pass in the sandbox, else 0.0."""
    code = program(problem, text)
    return 0.0 if code is None else float(run_python(code).passed)


def report(problem: Problem, text: str) -> list[str]:
    """How the test program ends, in one line."""
    code = program(problem, text)
    return ["no code"] if code is None else [run_python(code).reason]
