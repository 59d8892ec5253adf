"""From what was recorded to tables, decided statements and a verdict; the same numbers give the same words."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, replace
from typing import Any, Literal

from engine.analysis.intervals import Interval
from engine.papers.entries import Check, Item, Ours, Quantity, quantity
from engine.papers.measures import measured
from engine.papers.paths import as_interval, entries, value_at
from engine.papers.records import Records

Outcome = Literal["holds", "fails", "open", "missing"]
Verdict = Literal["confirmed", "refuted", "mixed", "not confirmed", "not testable here", "nothing to measure", "to do"]
Lookup = Callable[[Quantity], Interval | None]
DIGITS = 5


def of_records(found: Records) -> Lookup:
    """Numbers from the runs of an item."""
    return lambda q: measured(found, q.measure, q.of, q.against, q.task)


def of_file(data: Any) -> Lookup:
    """Numbers from a file of results."""
    return lambda q: value_at(data, q.path)


def summary(item: Item, look: Lookup, data: Any = None) -> dict[str, Any]:
    """Tables, statements and verdict as JSON types; `data` is the file that points are read from."""
    checks = [decided(check, look) for check in item.checks]
    return {
        "tables": [_table(table, look, data) for table in item.ours],
        "checks": checks,
        "verdict": verdict(item, [check["outcome"] for check in checks]),
    }


def verdict(item: Item, outcomes: Iterable[Outcome]) -> Verdict:
    """All statements hold: confirmed. None does and one fails: refuted; none does or fails, so that the numbers leave
    all open: not confirmed. Else mixed, also where some hold and others are open. What was not measured does not count.
    """
    if item.untestable or item.illustration:
        return "not testable here" if item.untestable else "nothing to measure"
    kinds = {outcome for outcome in outcomes if outcome != "missing"}
    if not kinds:
        return "to do"
    if "holds" in kinds:
        return "confirmed" if kinds == {"holds"} else "mixed"
    return "refuted" if "fails" in kinds else "not confirmed"


def decided(check: Check, look: Lookup) -> dict[str, Any]:
    """A statement with its numbers and its outcome: decided by the whole 95 % interval, else open. Numbers without one
    decide as far as the statement says that they may."""
    ours, other = look(check.q), _times(check.times, look(check.than)) if check.than else None
    missing = ours is None or (check.than is not None and other is None)
    return {
        "says": check.says,
        "relation": check.relation,
        "value": check.value,
        "high": check.high,
        "ours": _interval(ours),
        "than": _interval(other),
        "outcome": "missing" if missing or ours is None else _outcome(check, ours, other),
    }


def _times(factor: float, found: Interval | None) -> Interval | None:
    """So many times a number and its bounds."""
    if found is None or factor == 1:
        return found
    low, high = (None if bound is None else factor * bound for bound in (found.low, found.high))
    return replace(found, mean=factor * found.mean, low=low, high=high)


def _outcome(check: Check, ours: Interval, other: Interval | None) -> Outcome:
    if check.relation == "equal":
        return "holds" if ours.mean == (other.mean if other else check.value) else "fails"
    bare = ours.low is None or (other is not None and other.low is None)
    if bare and not (check.exact or check.margin or check.scatter):
        return "open"
    margin = check.margin + check.scatter * max(abs(ours.mean), abs(other.mean if other else check.value))
    low, high = _bounds(ours)
    low, high = low - margin, high + margin
    floor, ceiling = _bounds(other) if other else (check.value, check.value)
    if check.relation == "within":
        if check.value <= low and high <= check.high:
            return "holds"
        return "fails" if high < check.value or low > check.high else "open"
    if check.relation == "below":
        low, high, floor, ceiling = -high, -low, -ceiling, -floor
    if low > ceiling:
        return "holds"
    same = bare and check.exact and ours.mean == floor
    return "fails" if high < floor or same else "open"


def _bounds(found: Interval) -> tuple[float, float]:
    return (
        found.mean if found.low is None else found.low,
        found.mean if found.high is None else found.high,
    )


def _table(table: Ours, look: Lookup, data: Any) -> dict[str, Any]:
    rows: list[dict[str, Any]]
    if table.form == "points":
        rows = [{"name": name, "points": _points(data, path, table.at)} for name, path in table.rows]
    else:
        places = range(len(table.columns))
        rows = [
            {"name": name, "cells": [_interval(look(quantity(table, of, place))) for place in places]}
            for name, of in table.rows
        ]
    told = {"title": table.title, "x": table.x, "y": table.y, "form": table.form}
    return {**told, "percent": table.percent, "drawn": table.drawn, "columns": list(table.columns), "rows": rows}


def _points(data: Any, path: str, at: tuple[str, str]) -> list[dict[str, Any]]:
    found = [one for one in entries(data, path) if isinstance(one, Mapping)]
    return [{"x": _interval(as_interval(one[at[0]])), "y": _interval(as_interval(one[at[1]]))} for one in found]


def _interval(found: Interval | None) -> dict[str, Any] | None:
    return None if found is None else {k: _short(v) for k, v in asdict(found).items()}


def _short(value: float | None) -> float | None:
    return value if value is None or isinstance(value, int) else float(f"{value:.{DIGITS}g}")
