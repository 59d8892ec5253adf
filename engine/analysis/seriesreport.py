"""The tables of a series of trajectories, from its rows: lengths, growth, differences, votes (STAND, tables 1 to 4)."""

from collections.abc import Sequence
from typing import Any

from engine.analysis.trajectories import Row, at, difference, first_k, growth, methods_of, voted
from engine.tasks.marking import marking


def trajectory_counts(rows: Sequence[Row], wanted: Sequence[int]) -> list[int]:
    """The wanted numbers of trajectories that the rows reach, with 1 and all of them."""
    most = max((int(row["trajectory"]) + 1 for row in rows), default=0)
    return sorted({k for k in wanted if k <= most} | {1, most})


def series_report(settings: dict[str, Any], rows: Sequence[Row], ks: Sequence[int]) -> dict[str, Any]:
    """JSON types; methods in the order of their first row, the first one is what the others are compared with.

    Of programs that were not run nobody knows whether they are right: then there is no accuracy.
    """
    names, mark = methods_of(rows), marking(settings["family"])
    known = "accuracy" in mark.measures and (mark.textual or all(row.get("score") is not None for row in rows))
    return {
        "settings": settings,
        "over_k": [first_k(rows, name, k) for name in names for k in ks],
        "by_trajectory": [at(rows, name, i) for name in names for i in range(1, settings["n"] + 1)],
        "growth": [growth(rows, name, 1, settings["n"]) for name in names],
        "differences": [difference(rows, names[0], name, max(ks)) for name in names[1:]],
        "accuracy": {name: voted(rows, name, mark, ks) for name in names if known},
    }
