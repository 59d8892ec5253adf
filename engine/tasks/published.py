"""Published problem sets by name. Their rows come from a path or a data set that the user names; none is shipped."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from engine.errors import ConfigError, unknown
from engine.tasks import gsm8k, humaneval, mbpp
from engine.tasks.problem import Problem
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


PUBLISHED = {
    "gsm8k": Published("gsm8k", gsm8k.problem, gsm8k.extract, gsm8k.equivalent, gsm8k.score, limit=2048),
    "humaneval": Published(
        "humaneval", humaneval.problem, humaneval.extract, humaneval.equivalent, humaneval.score, humaneval.report
    ),
    "mbpp": Published("mbpp", mbpp.problem, mbpp.extract, mbpp.equivalent, mbpp.score, mbpp.report),
}


def get_published(family: str) -> Published:
    """The set of that name.

    Raises:
        ConfigError: with the nearest right name.
    """
    if family not in PUBLISHED:
        raise ConfigError(unknown("problem set", family, PUBLISHED))
    return PUBLISHED[family]


def load_published(family: str, source: str, n: int | None = None) -> list[Problem]:
    """The first n problems of a set, from a JSON-lines file or "datasets:NAME:CONFIG:SPLIT".

    Raises:
        ConfigError: an unknown set, a missing source, or a row that lacks a field, with its place.
    """
    published = get_published(family)
    return [_problem(published, row, place) for place, row in read_rows(source, n)]


def _problem(published: Published, row: dict[str, Any], place: str) -> Problem:
    try:
        return published.problem(row)
    except ConfigError as error:
        raise ConfigError(f"{place}: {error}") from None
