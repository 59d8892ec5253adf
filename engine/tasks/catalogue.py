"""The families by name, and seeded draws from them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from random import Random
from typing import Literal, get_args

from engine.errors import ConfigError, unknown
from engine.tasks import arithmetic, functions, sentences, summaries, translation
from engine.tasks.problem import Measure, Problem, split_of, weights

SPLITS = ("train", "heldout")
TESTED = 1_000  # the first held-out problems of a stream: those that methods are measured on, never tuned on
PATIENCE = 10_000  # known problems in a row after which a family is taken to have no others
MOST = 100_000  # problems drawn at once: minutes, where a number mistyped would be hours without a word


@dataclass(frozen=True, slots=True)
class Task:
    """One family: `generate` draws a problem; the rest judges a model's text.

    `extract(text)` is the answer in a completion or None, `equivalent(a, b)` compares two
    such answers, and `score(problem, text)` is 0 to 1. A prompt begins with `opening` and ends with `cue`.
    """

    family: str
    about: str  # what a problem asks for, in one line
    reads: str  # what `extract` takes for the answer, in one sentence
    opening: str
    cue: str
    measures: tuple[Measure, ...]
    textual: bool  # two answers can be compared as texts; programs have to be run instead
    generate: Callable[[Random], Problem]
    extract: Callable[[str], str | None]
    equivalent: Callable[[str | None, str | None], bool]
    score: Callable[[Problem, str], float]


_TASKS = {
    module.FAMILY: Task(
        module.FAMILY,
        module.ABOUT,
        module.READS,
        module.OPENING,
        module.CUE,
        module.MEASURES,
        module.TEXTUAL,
        module.generate,
        module.extract,
        module.equivalent,
        module.score,
    )
    for module in (arithmetic, functions, sentences, translation, summaries)
}
FAMILIES = ("arithmetic", "functions", "sentences")  # what the decoder-only models of the lab learn
SOURCED = ("translation", "summaries")  # what the encoder-decoder models learn: the prompt is a source
Judged = Literal["arithmetic", "functions", "translation"]
JUDGED: tuple[Judged, ...] = get_args(Judged)  # an answer is right or wrong, so draft tokens can be told important


def get_task(family: str) -> Task:
    """The task of that name.

    Raises:
        ConfigError: with the nearest right name.
    """
    if family not in _TASKS:
        raise ConfigError(unknown("task", family, _TASKS))
    return _TASKS[family]


def family_of(prompt: str) -> str | None:
    """The family whose problems begin and end as the prompt does; None for a prompt of no family."""
    text = prompt.strip()
    return next((t.family for t in _TASKS.values() if text.startswith(t.opening) and text.endswith(t.cue)), None)


@dataclass(frozen=True, slots=True)
class Checked:
    """An answer held against its reference."""

    right: bool
    answer: str | None  # as extracted from the text; None when the text holds none
    reference: str


def check_answer(family: str, reference: str, text: str) -> Checked | None:
    """Whether a completion gives the reference answer; None for families whose answers must be run, or unknown ones."""
    task = _TASKS.get(family)
    if task is None or not task.textual or not reference:
        return None
    answer = task.extract(text)
    return Checked(task.equivalent(answer, reference), answer, reference)


def stream(family: str, split: str, seed: int = 0) -> Iterator[Problem]:
    """Problems of one split without end; the same arguments give the same problems.

    Raises:
        ConfigError: an unknown family or split.
    """
    if split not in SPLITS:
        raise ConfigError(unknown("split", split, SPLITS))
    task = get_task(family)
    for i in itertools.count():
        problem = task.generate(Random(f"{family}/{seed}/{i}"))
        if split_of(problem.key) == split:
            yield problem


def load_problems(family: str, split: str, n: int, seed: int = 0) -> list[Problem]:
    """The first `n` problems with distinct keys of a seeded stream.

    Raises:
        ConfigError: an unknown family or split, a negative n, or more than the family has or `MOST`.
    """
    if not 0 <= n <= MOST:
        raise ConfigError(f"{n} problems cannot be drawn; 0 to {MOST} can.")
    drawn = _held_out(family, n, seed, weights()) if split == "heldout" else _first(family, split, n, seed)
    return list(drawn)


@lru_cache(32)
def _held_out(family: str, n: int, seed: int, _accent: tuple[float, ...]) -> tuple[Problem, ...]:
    """Kept, for each accent, since they are few, are asked for again, and each takes some sixteen draws."""
    return _first(family, "heldout", n, seed)


def _first(family: str, split: str, n: int, seed: int) -> tuple[Problem, ...]:
    problems: dict[str, Problem] = {}
    known = 0
    for problem in stream(family, split, seed):
        if len(problems) == n:
            break
        known = known + 1 if problem.key in problems else 0
        if known == PATIENCE:
            raise ConfigError(
                f"{family} has about {len(problems)} {split} problems, and {n} were asked for: ask for fewer."
            )
        problems.setdefault(problem.key, problem)
    return tuple(problems.values())


def tuning_problems(family: str, n: int) -> list[Problem]:
    """The first `n` held-out problems behind the `TESTED` ones: to set a threshold on, neither trained nor tested on.

    Raises:
        ConfigError: as `load_problems`.
    """
    return load_problems(family, "heldout", TESTED + n)[TESTED:]
