"""Places in a file of results: `compare.over_k[method=stand,k=8].tau` is the field tau of the first entry that fits."""

import re
from collections.abc import Mapping
from typing import Any

from engine.analysis.intervals import Interval
from engine.errors import ConfigError

_STEP = re.compile(r"([^.\[\]]+)((?:\[[^\]]*\])*)(?:\.|$)")
_PART = re.compile(r"\[([^\]]*)\]")
_ALSO = re.compile(r",(?=\w+=)")  # a comma may also stand in a value


def entries(data: Any, path: str) -> list[Any]:
    """What lies at a path; each bracket keeps the entries of a list whose fields have these values, or are that place.

    Raises:
        ConfigError: a path that cannot be read.
    """
    found, at = [data], 0
    while at < len(path):
        step = _STEP.match(path, at)
        if step is None:
            raise ConfigError(f"{path!r} is no path: one reads such as compare.over_k[method=stand,k=8].tau.")
        name, at = step[1], step.end()
        found = [one[name] for one in found if isinstance(one, Mapping) and name in one]
        for wanted in _PART.findall(step[2]):
            found = [kept for one in found for kept in _kept(one, wanted)]
    return found


def _kept(given: Any, wanted: str) -> list[Any]:
    if isinstance(given, Mapping):
        return [given[wanted]] if wanted in given else []
    if not isinstance(given, list):
        return []
    if wanted.isdigit():
        return given[int(wanted) : int(wanted) + 1]
    pairs = [part.partition("=")[::2] for part in _ALSO.split(wanted)]
    return [one for one in given if all(_told(one, name) == value for name, value in pairs)]


def _told(one: Any, name: str) -> str:
    value = one.get(name) if isinstance(one, Mapping) else None
    return f"{value:g}" if isinstance(value, float | int) and not isinstance(value, bool) else str(value)


def value_at(data: Any, path: str) -> Interval | None:
    """The number at a path, with its interval where it has one; None where there is none.

    Raises:
        ConfigError: as `entries`, or something else is there.
    """
    found = next(iter(entries(data, path)), None)
    return None if found is None else as_interval(found, path)


def as_interval(found: Any, place: str = "") -> Interval:
    """A number, or a mean or median with its bounds.

    Raises:
        ConfigError: neither.
    """
    if isinstance(found, float | int) and not isinstance(found, bool):
        return Interval(float(found), None, None, 1)
    if isinstance(found, Mapping) and {"low", "high", "n"} <= found.keys() and {"mean", "median"} & found.keys():
        return Interval(found.get("mean", found.get("median")), found["low"], found["high"], found["n"])
    raise ConfigError(f"There is no number at {place!r}.")
