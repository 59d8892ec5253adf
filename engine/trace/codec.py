"""Events to JSON and back. Reading trusts nothing: every field is checked against the type its dataclass declares."""

import math
import types
from collections.abc import Callable
from dataclasses import MISSING, fields
from operator import itemgetter
from typing import Any, Union, get_args, get_origin, is_typeddict

from engine.errors import TraceError, unknown
from engine.trace import outcome
from engine.trace.events import (
    GUARANTEES,
    NODE_STATES,
    ORIGINS,
    REASONS,
    RECORDS,
    SCHEMA,
    Cell,
    Event,
    Node,
    Round,
    RunEnded,
    RunStarted,
    Token,
    TopN,
)

KINDS: dict[str, type[RunStarted] | type[Round] | type[RunEnded]] = {
    cls.kind: cls for cls in (RunStarted, Round, RunEnded)
}
MAX_DEPTH = 12  # of free JSON: knobs, extras, reasons
LARGEST = 2**53  # whole numbers beyond it are not safe in JavaScript
SMALLEST = {"depth": 1, "rank": 1, "parent": -1, "seed": -LARGEST}  # 0 for all other whole numbers
_INFINITE = {"Infinity": math.inf, "-Infinity": -math.inf}  # JSON has no infinity: written as a string
NAMES = {"state": NODE_STATES, "origin": ORIGINS, "guarantee": GUARANTEES, "record": RECORDS, "reason": REASONS}

_PROBABILITY = itemgetter(1)

Reader = Callable[[object], Any]


def event_json(event: Event) -> dict[str, Any]:
    """The event as strict JSON types: `kind` first, fields that are None left out, `schema` on the head.

    NaN is left out like None; an infinite number becomes the string "Infinity" or "-Infinity".
    """
    schema = {"schema": SCHEMA} if isinstance(event, RunStarted) else {}
    return {"kind": event.kind, **schema, **_record(event)}


def event_from_json(data: object) -> Event:
    """The event of one parsed line. Unknown fields are ignored.

    Raises:
        TraceError: not an event, another schema, a missing field, or a field of the wrong type.
    """
    if not isinstance(data, dict):
        raise TraceError(f"A line of a trace is a JSON object, not {_name(data)}.")
    kind = data.get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        raise TraceError(unknown("kind of event", _short(kind), KINDS))
    if kind == RunStarted.kind and (data.get("schema") != SCHEMA or data["schema"] is True):
        raise TraceError(f"This trace has schema {_short(data.get('schema'))}; only schema {SCHEMA} can be read.")
    try:
        event: Event = _read(KINDS[kind], data)
    except _Wrong as wrong:
        raise TraceError(str(_Wrong(wrong.said, (kind, *wrong.path)))) from None
    if isinstance(event, Round):
        outcome.bill(event)
    return event


def check_round(event: Round) -> None:
    """Indices and names within one round.

    Raises:
        TraceError: an index that points nowhere, or a depth that does not follow from the parent.
    """
    where = f"Round {event.index}"
    for number, node in enumerate(event.nodes):
        if node.parent >= number:
            raise TraceError(f"{where}: node {number} has parent {node.parent}; a parent comes before its children.")
        above = event.nodes[node.parent].depth if node.parent >= 0 else 0
        if node.depth != above + 1:
            raise TraceError(f"{where}: node {number} has depth {node.depth}; its parent is at depth {above}.")
    known = len(event.nodes)
    pointed = [*event.path, *(token.node for token in event.tokens if token.node is not None)]
    if known and any(index >= known for index in pointed):
        raise TraceError(f"{where}: index {max(pointed)} points to no node; there are {known}.")


def _record(record: Any) -> dict[str, Any]:
    found = {}
    for name, top in _WRITTEN[type(record)]:
        value = getattr(record, name)
        if top and value and math.isfinite(sum(map(_PROBABILITY, value))):
            found[name] = list(map(list, value))  # most of a file is such lists
        elif (plain := _plain(value)) is not None:
            found[name] = plain
    return found


def _plain(value: Any) -> Any:
    """JSON types only; tuples become lists and NaN becomes None."""
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, float):
        if math.isfinite(value):
            return value
        return None if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    return _record(value)


def _read(cls: type[Any], data: object) -> Any:
    """One record of a dataclass from a JSON object."""
    if not isinstance(data, dict):
        raise _Wrong(f" is a JSON object, not {_name(data)}.")
    values: dict[str, Any] = {}
    for name, reader, required in _FIELDS[cls]:
        given = data.get(name)
        if given is not None:
            try:
                values[name] = reader(given)
            except _Wrong as wrong:
                raise _Wrong(wrong.said, (name, *wrong.path)) from None
        elif required:
            raise _Wrong(f" has no field {name!r}; it is needed.")
    return cls(**values)


def _whole(low: int) -> Reader:
    """The reader of whole numbers from `low` on."""

    def read(value: object) -> int:
        if type(value) is not int:
            raise _Wrong(f" must be an integer, not {_name(value)}.")
        if not low <= value <= LARGEST:
            raise _Wrong(f" must be from {low} to {LARGEST}, not {_short(value)}.")
        return value

    return read


def _bool(value: object) -> bool:
    if not isinstance(value, bool):
        raise _Wrong(f" must be true or false, not {_name(value)}.")
    return value


def _float(value: object) -> float:
    if type(value) is float and abs(value) < 1e308:
        return value
    if isinstance(value, str) and value in _INFINITE:
        return _INFINITE[value]
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _Wrong(f" must be a number, not {_name(value)}.")
    if not abs(value) < 1e308:  # also an integer of many digits, and NaN
        raise _Wrong(" must be a finite number.")
    return float(value)


def _str(value: object) -> str:
    if not isinstance(value, str):
        raise _Wrong(f" must be a text, not {_name(value)}.")
    if not value.isascii() and any("\ud800" <= sign <= "\udfff" for sign in value):
        raise _Wrong(" holds half of a surrogate pair, which is no text.")
    return value


def _one_of(what: str, names: tuple[str, ...]) -> Reader:
    """The reader of a name out of a closed list."""

    def read(value: object) -> str:
        if value not in names:
            raise _Wrong(f": {unknown(what, _short(_str(value)), names)}")
        return str(value)

    return read


def _top(value: object) -> TopN:
    out = []
    for pair in _list(value):
        if type(pair) is not list or len(pair) != 2:
            raise _Wrong(" is a list of [token id, probability].")
        token, share = pair
        if type(token) is not int or not 0 <= token <= LARGEST or type(share) is not float or not abs(share) < 1e308:
            token, share = _COUNT(token), _float(share)
        out.append((token, share))
    return out


def _free(value: object, depth: int = 0) -> Any:
    """Any JSON value, of limited depth."""
    if depth > MAX_DEPTH:
        raise _Wrong(f" is nested deeper than {MAX_DEPTH} levels.")
    if isinstance(value, dict):
        return {_str(key): _free(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        return [_free(item, depth + 1) for item in value]
    if isinstance(value, str):
        return _INFINITE[value] if value in _INFINITE else _str(value)
    if isinstance(value, float) or (isinstance(value, int) and abs(value) > LARGEST):
        return _float(value)
    return value


def _list(value: object) -> list[Any]:
    if not isinstance(value, list):
        raise _Wrong(f" is a list, not {_name(value)}.")
    return value


def _mapping(value: object, item: Reader) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _Wrong(f" is a JSON object, not {_name(value)}.")
    return {_str(key): item(one) for key, one in value.items()}


def _reader(kind: Any, name: str = "") -> Reader:
    """The reader for a declared type; a field's name narrows it."""
    if kind is str and name in NAMES:
        return _one_of(name, NAMES[name])
    if kind is int:
        return _whole(SMALLEST.get(name, 0))
    if kind in _READERS:
        return _READERS[kind]
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return _reader(next(part for part in inner if part is not type(None)), name)
    if origin is list:
        item = _reader(inner[0], name)
        return lambda value: [item(one) for one in _list(value)]
    if origin is dict:
        entry = _reader(inner[1])
        return lambda value: _mapping(value, entry)
    if is_typeddict(kind):  # what it holds is for `engine.trace.bounds`: others may note further names
        return lambda value: _mapping(value, _free)
    return lambda value: _read(kind, value)


class _Wrong(TraceError):
    """What is wrong with a value, and the fields that lead to it."""

    def __init__(self, said: str, path: tuple[str, ...] = ()) -> None:
        super().__init__(".".join(path) + said)
        self.said, self.path = said, path


def _name(value: object) -> str:
    names = {dict: "an object", list: "a list", str: "a text", bool: "a switch", type(None): "null"}
    return names.get(type(value), "a number")


def _short(value: object) -> str:
    text = str(value) if isinstance(value, str | int | float | None) else _name(value)
    return text if len(text) <= 40 else text[:40] + "..."


_COUNT = _whole(0)
_READERS: dict[Any, Reader] = {bool: _bool, float: _float, str: _str, TopN: _top, Any: _free}
_RECORDS = (Node, Token, Cell, RunStarted, Round, RunEnded)
_WRITTEN: dict[type[Any], list[tuple[str, bool]]] = {
    cls: [(field.name, field.type == TopN | None) for field in fields(cls)] for cls in _RECORDS
}
_FIELDS: dict[type[Any], list[tuple[str, Reader, bool]]] = {
    cls: [
        (field.name, _reader(field.type, field.name), field.default is MISSING and field.default_factory is MISSING)
        for field in fields(cls)
    ]
    for cls in _RECORDS
}
