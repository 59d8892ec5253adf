"""Published problem sets by name. Their rows come from a path or a data set that the user names; none is shipped."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from engine.errors import ConfigError, unknown
from engine.tasks import gsm8k, humaneval, mbpp, qmsum, wmt
from engine.tasks.problem import Measure, Problem
from engine.tasks.rows import read_rows


@dataclass(frozen=True, slots=True)
class Published:
    """How to read and judge one published set; `report` tells how code ended in its tests, where answers are code.

    `limit` is the most tokens of a response (T_max): 2048 for GSM8K as in AutoJudge, 1024 as in EAGLE's evaluation
    elsewhere.
    """

    family: str
    problem: Callable[[dict[str, Any]], Problem]
    extract: Callable[[str], str | None]
    equivalent: Callable[[str | None, str | None], bool]
    score: Callable[[Problem, str], float]
    report: Callable[[Problem, str], list[str]] | None = None
    limit: int = 1024
    measures: tuple[Measure, ...] = ("accuracy",)
    textual: bool = True  # two answers can be compared as texts; programs have to be run instead
    shots: bool = False  # worked examples may go before the question


PUBLISHED = {
    "gsm8k": Published("gsm8k", gsm8k.problem, gsm8k.extract, gsm8k.equivalent, gsm8k.score, limit=2048, shots=True),
    "humaneval": Published(
        "humaneval",
        humaneval.problem,
        humaneval.extract,
        humaneval.equivalent,
        humaneval.score,
        humaneval.report,
        textual=False,
    ),
    "mbpp": Published("mbpp", mbpp.problem, mbpp.extract, mbpp.equivalent, mbpp.score, mbpp.report, textual=False),
    "qmsum": Published("qmsum", qmsum.problem, qmsum.extract, qmsum.equivalent, qmsum.score, measures=("summary",)),
    "wmt_en_de": Published("wmt_en_de", wmt.problem, wmt.extract, wmt.equivalent, wmt.score, measures=("translation",)),
}


def get_published(family: str) -> Published:
    """The set of that name.

    Raises:
        ConfigError: with the nearest right name.
    """
    if family not in PUBLISHED:
        raise ConfigError(unknown("problem set", family, PUBLISHED))
    return PUBLISHED[family]


def load_published(family: str, source: str, n: int | None = None, shots: int = 0, examples: str = "") -> list[Problem]:
    """The first n problems of a set, from a JSON-lines file or "datasets:NAME:CONFIG:SPLIT".

    `shots` worked examples go before each prompt: the first rows of `examples`, or of the source itself, which are then
    not among the problems.

    Raises:
        ConfigError: an unknown set, a missing source, a row that lacks a field, with its place, or a set or source that
        has no such examples.
    """
    published = get_published(family)
    if not source:
        raise ConfigError(f"{family} needs --source: a JSON-lines file, or datasets:NAME:CONFIG:SPLIT.")
    if shots and not published.shots:
        can = ", ".join(name for name, one in PUBLISHED.items() if one.shots)
        raise ConfigError(f"{family} takes no worked examples; these sets do: {can}.")
    if examples and not shots:
        raise ConfigError(f"No worked examples of {examples} were asked for: say how many, or leave it out.")
    skip = 0 if examples else shots
    worked = [_problem(published, row, place) for place, row in read_rows(examples or source, shots)] if shots else []
    if len(worked) < shots:
        raise ConfigError(f"{examples or source} holds {len(worked)} rows, and {shots} worked examples were asked for.")
    rows = read_rows(source, None if n is None else n + skip)[skip:]
    if not rows:
        raise ConfigError(f"{source} holds no problem behind its {shots} worked examples.")
    before = "".join(f"{example.prompt}{example.solution}\n\n" for example in worked)
    return [replace(p, prompt=before + p.prompt) for p in (_problem(published, row, place) for place, row in rows)]


def _problem(published: Published, row: dict[str, Any], place: str) -> Problem:
    try:
        return published.problem(row)
    except ConfigError as error:
        raise ConfigError(f"{place}: {error}") from None
