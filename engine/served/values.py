"""Numbers out of JSON of others, with words for what is wrong."""

from collections.abc import Mapping
from typing import Any

from engine.errors import TraceError, shown

Fields = Mapping[str, Any]
LARGEST = 2**53
MOST = 1_000  # draft tokens of a pass, so entries of a histogram
PASSES = 100_000  # of one request


def whole(given: Fields, name: str, where: str, *, needed: bool = False) -> int | None:
    """A count.

    Raises:
        TraceError: it is no integer >= 0, or missing where needed.
    """
    value = given.get(name)
    if value is None and not needed:
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= LARGEST:
        raise TraceError(f"{where}: {name} must be an integer >= 0, not {short(value)}.")
    return value


def number(given: Fields, name: str, where: str) -> float | None:
    """A finite number >= 0, None where it is missing.

    Raises:
        TraceError: it is something else.
    """
    value = given.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e15:
        raise TraceError(f"{where}: {name} must be a number >= 0, not {short(value)}.")
    return float(value)


def counts(given: Fields, name: str, where: str, most: int = MOST) -> tuple[int, ...]:
    """A list of counts, or an object that gives them by number ({"0": 39, "3": 3}); empty where it is missing.

    Raises:
        TraceError: it is something else, or has more than `most` entries.
    """
    value = given.get(name)
    if value is None:
        return ()
    if isinstance(value, Mapping):
        places = {int(key) for key in value if isinstance(key, str) and key.isdecimal() and len(key) < 6}
        if {str(place) for place in places} != value.keys() or max(places, default=0) >= MOST:
            raise TraceError(f"{where}: {name} must name its entries by integers from 0 to {MOST - 1}.")
        value = [value.get(str(place), 0) for place in range(max(places, default=-1) + 1)]
    if not isinstance(value, list):
        raise TraceError(f"{where}: {name} must be a list of integers, not {short(value)}.")
    if len(value) > most:
        raise TraceError(f"{where}: {name} has {len(value)} entries; {most} are the limit.")
    return tuple(whole({name: one}, name, where, needed=True) or 0 for one in value)


def passes(given: Fields, accepted: str, drafted: str, where: str) -> tuple[tuple[int, int], ...]:
    """Two lists of the same length as pairs; empty where both are missing.

    Raises:
        TraceError: one is missing, or their lengths differ.
    """
    ours, theirs = (counts(given, name, where, PASSES) for name in (accepted, drafted))
    if max((*ours, *theirs), default=0) > MOST:
        raise TraceError(f"{where}: a verify pass of {max((*ours, *theirs))} draft tokens; {MOST} are the limit.")
    if len(ours) != len(theirs):
        raise TraceError(f"{where}: {accepted} has {len(ours)} entries and {drafted} {len(theirs)}; they are pairs.")
    return tuple(zip(ours, theirs, strict=True))


def text(given: Fields, *names: str) -> str:
    """The first of these fields that is a text."""
    return next((given[name] for name in names if isinstance(given.get(name), str)), "")[:120]


def fields(given: Any, *path: str) -> Fields:
    """The object at a path of names; an empty one where there is none."""
    for name in path:
        given = given.get(name) if isinstance(given, Mapping) else None
    return given if isinstance(given, Mapping) else {}


def short(value: Any) -> str:
    """A value for a message; of a long one no more is written than is told."""
    return "null" if value is None else shown(value)
