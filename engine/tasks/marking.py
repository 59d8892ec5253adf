"""What responses to a task are measured by, and whether one is right: of embedded families and published sets alike."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from engine.errors import ConfigError, unknown
from engine.tasks.catalogue import FAMILIES, SOURCED, get_task
from engine.tasks.problem import Measure, Problem
from engine.tasks.published import PUBLISHED

EMBEDDED = (*FAMILIES, *SOURCED)
TASKS = (*EMBEDDED, *PUBLISHED)
OWN = "own prompts"  # of a file: without right answers


@dataclass(frozen=True, slots=True)
class Marking:
    """How responses to one task are marked. `textual`: answers are compared as texts; programs have to be run."""

    task: str
    measures: tuple[Measure, ...]
    textual: bool
    extract: Callable[[str], str | None]
    equivalent: Callable[[str | None, str | None], bool]
    score: Callable[[Problem, str], float]

    def right(self, problem: Problem, text: str) -> bool | None:
        """Whether a response is right: its answer is the problem's, or its program passes every test.

        None where the task has no right answers, or where generated code may not be run (`permission`).
        """
        if "accuracy" not in self.measures:
            return None
        if self.textual:
            return self.equivalent(self.extract(text), problem.answer)
        try:
            return self.score(problem, text) >= 1
        except ConfigError:
            return None


def _unscored(problem: Problem, text: str) -> float:
    raise ConfigError(f"A prompt of one's own has no right answer: {problem.prompt[:40]!r}, {text[:40]!r}.")


UNMARKED = Marking(OWN, (), True, lambda _: None, lambda a, b: a == b, _unscored)


def marking(task: str) -> Marking:
    """The marking of a task; of `OWN` prompts one that finds no answer.

    Raises:
        ConfigError: with the nearest right name.
    """
    if task == OWN:
        return UNMARKED
    if task not in TASKS:
        raise ConfigError(unknown("task", task, TASKS))
    found = get_task(task) if task in EMBEDDED else PUBLISHED[task]
    return Marking(task, found.measures, found.textual, found.extract, found.equivalent, found.score)
