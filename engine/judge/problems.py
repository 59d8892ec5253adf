"""Which problems a task name means, and when two of its answers count as the same."""

from collections.abc import Callable
from dataclasses import dataclass

from engine.errors import ConfigError, unknown
from engine.files.presets import list_presets
from engine.judge.criterion import Criterion, SameAnswer, SameTests
from engine.judge.search import Prompt
from engine.model import Tokenizer
from engine.tasks import FAMILIES, get_task, load_problems
from engine.tasks.problem import Problem
from engine.tasks.published import PUBLISHED, Published, get_published, load_published
from engine.tasks.sandbox import run_python

TASKS = (*FAMILIES, *PUBLISHED)
LIMIT = 128  # tokens of a response; the solutions of the embedded families are shorter
CODE = ("functions", "humaneval", "mbpp")  # answers are programs: compared by their tests


@dataclass(frozen=True, slots=True)
class Judged:
    """A task as mining and evaluation need it."""

    name: str
    score: Callable[[Problem, str], float]
    criterion: Criterion


def judged(name: str, full_report: bool = False) -> Judged:
    """The task of that name, embedded or published.

    `full_report` compares how each test of a program ends instead of pass or fail (register A8).

    Raises:
        ConfigError: with the nearest right name.
    """
    if name in FAMILIES:
        task = get_task(name)
        each = _each_test if full_report else None
        return Judged(name, task.score, _criterion(name, task.extract, task.equivalent, task.score, each))
    found = _published(name)
    report = found.report if full_report else None
    return Judged(name, found.score, _criterion(name, found.extract, found.equivalent, found.score, report))


def limit_of(name: str) -> int:
    """Most tokens of a response to this task, unless told otherwise (T_max).

    Raises:
        ConfigError: with the nearest right name.
    """
    return LIMIT if name in FAMILIES else _published(name).limit


def _published(name: str) -> Published:
    if name not in TASKS:
        raise ConfigError(unknown("task", name, TASKS))
    return get_published(name)


def _criterion(
    name: str,
    extract: Callable[[str], str | None],
    equivalent: Callable[[str | None, str | None], bool],
    score: Callable[[Problem, str], float],
    report: Callable[[Problem, str], list[str]] | None,
) -> Criterion:
    return SameTests(extract, score, report) if name in CODE else SameAnswer(extract, equivalent)


def _each_test(problem: Problem, text: str) -> list[str]:
    """How the function in `text` ends in each hidden test of an embedded problem."""
    code = get_task("functions").extract(text)
    if code is None:
        return ["no code"]
    return [run_python(f"{code}\n{test}\n").reason for test in problem.answer.splitlines()]


def problems(
    name: str, split: str, n: int, seed: int = 0, source: str = "", shots: int = 0, shots_from: str = ""
) -> list[Problem]:
    """The first n problems: of an embedded family's seeded stream, or of a published set's file, there with `shots`
    worked examples.

    Raises:
        ConfigError: an unknown name, a published set without a source, or worked examples where there are none.
    """
    if shots and name in FAMILIES:
        raise ConfigError(f"{name} takes no worked examples; the models have learnt it without.")
    if name in FAMILIES:
        return load_problems(name, split, n, seed)
    _published(name)
    return load_published(name, source, n, shots, shots_from)


def case_problems(name: str) -> list[Problem]:
    """The prompts of the recorded cases of a task, with their reference answers; equal ones once."""
    cases = {case.prompt: case for case in list_presets() if case.kind == "case" and case.task == name}
    return [Problem(name, case.prompt, case.prompt, "", case.answer) for case in cases.values()]


def prompts(found: list[Problem], tokenizer: Tokenizer, chat: bool = False) -> list[Prompt]:
    """The problems with stable ids, encoded."""
    return [Prompt(f"{p.family}:{i}", p, tokenizer.encode(p.prompt, chat)) for i, p in enumerate(found)]
