"""The families by name, and seeded draws from them."""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random

from engine.tasks import arithmetic, functions, sentences
from engine.tasks.problem import Problem, split_of

SPLITS = ("train", "heldout")


@dataclass(frozen=True, slots=True)
class Task:
    """One family: `generate` draws a problem; the rest judges a model's text.

    `extract(text)` is the answer in a completion or None, `equivalent(a, b)` compares two
    such answers, and `score(problem, text)` is 0 to 1.
    """

    family: str
    generate: Callable[[Random], Problem]
    extract: Callable[[str], str | None]
    equivalent: Callable[[str | None, str | None], bool]
    score: Callable[[Problem, str], float]


_TASKS = {
    module.FAMILY: Task(module.FAMILY, module.generate, module.extract, module.equivalent, module.score)
    for module in (arithmetic, functions, sentences)
}
FAMILIES = tuple(_TASKS)


def get_task(family: str) -> Task:
    """The task of that name; ValueError with the nearest right name otherwise."""
    if family not in _TASKS:
        near = difflib.get_close_matches(family, FAMILIES, n=1, cutoff=0.0)
        raise ValueError(f"no task {family!r}; there are {', '.join(FAMILIES)}; did you mean {near[0]!r}?")
    return _TASKS[family]


def stream(family: str, split: str, seed: int = 0) -> Iterator[Problem]:
    """Problems of one split without end; the same arguments give the same problems."""
    if split not in SPLITS:
        raise ValueError(f"no split {split!r}; there are {', '.join(SPLITS)}")
    task = get_task(family)
    for i in itertools.count():
        problem = task.generate(Random(f"{family}/{seed}/{i}"))
        if split_of(problem.key) == split:
            yield problem


def load_problems(family: str, split: str, n: int, seed: int = 0) -> list[Problem]:
    """The first `n` problems with distinct keys of a seeded stream."""
    problems: dict[str, Problem] = {}
    for problem in stream(family, split, seed):
        if len(problems) == n:
            break
        problems.setdefault(problem.key, problem)
    return list(problems.values())
