"""The trace format as JSON Schema (draft 2020-12), generated from the dataclasses of `engine.trace.events`.

It says of one line what `engine.trace.codec` checks of it; what lines must have in common (order, sums, indices) is
checked by `python -m engine replay`. Published as docs/trace.schema.json.
"""

import inspect
import re
import types
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any, Union, get_args, get_origin, get_type_hints, is_typeddict

from engine.trace.codec import KINDS, LARGEST, NAMES, SMALLEST
from engine.trace.events import SCHEMA, TopN

_NUMBER = {"anyOf": [{"type": "number"}, {"enum": ["Infinity", "-Infinity"]}]}  # JSON has no infinity


def schema() -> dict[str, Any]:
    """Of one line of a trace: its run, a round, or its end."""
    records: dict[str, Any] = {}
    lines = [_reference(kind, records) for kind in KINDS.values()]
    for kind, cls in KINDS.items():
        found = records[cls.__name__]
        extra = {"schema": {"const": SCHEMA}} if kind == "run" else {}
        found["properties"] = {"kind": {"const": kind}, **extra, **found["properties"]}
        found["required"] = ["kind", *extra, *found["required"]]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"A line of a Draftscope trace, schema {SCHEMA}",
        "description": "A trace is JSON lines: one run, a round for each target call, and an end. Fields that are "
        "unknown are left out or null; further fields are ignored. See docs/design/0003-trace.md.",
        "oneOf": lines,
        "$defs": records,
    }


def _reference(cls: type[Any], records: dict[str, Any]) -> dict[str, str]:
    """Put a record among the definitions, and point to it."""
    name = cls.__name__
    if name not in records:
        records[name] = {}  # records may hold each other
        records[name] = _dataclass(cls, records)
    return {"$ref": f"#/$defs/{name}"}


def _dataclass(cls: type[Any], records: dict[str, Any]) -> dict[str, Any]:
    notes, hints = comments(cls), get_type_hints(cls)
    properties = {one.name: _said(notes.get(one.name, ""), _field(one, hints, records)) for one in fields(cls)}
    required = [one.name for one in fields(cls) if one.default is MISSING and one.default_factory is MISSING]
    return {
        "type": "object",
        "description": inspect.getdoc(cls) or "",
        "properties": properties,
        "required": required,
    }


def comments(kind: type[Any]) -> dict[str, str]:
    """What the source says of each field at the end of its line."""
    found: dict[str, str] = {}
    for line in inspect.getsource(kind).splitlines():
        field = re.match(r"\s{4}(\w+): .*?  # (.*)$", line)
        if field and not field[2].startswith(("type:", "noqa")):
            found[field[1]] = field[2]
    return found


def _field(one: Field[Any], hints: dict[str, Any], records: dict[str, Any]) -> dict[str, Any]:
    found = _type(hints[one.name], records, one.name)
    optional = one.default is not MISSING or one.default_factory is not MISSING
    return {"anyOf": [found, {"type": "null"}]} if optional else found


def _said(note: str, found: dict[str, Any]) -> dict[str, Any]:
    return {"description": note, **found} if note else found


def _type(hint: Any, records: dict[str, Any], name: str = "") -> dict[str, Any]:
    """The schema of a declared type; a field's name narrows it, as it does for the reader."""
    if hint is str and name in NAMES:
        return {"enum": list(NAMES[name])}
    if hint is int:
        return {"type": "integer", "minimum": SMALLEST.get(name, 0), "maximum": LARGEST}
    if hint == TopN:
        pair = {"type": "array", "prefixItems": [_type(int, records), _NUMBER], "items": False, "minItems": 2}
        return {"type": "array", "items": pair}
    if hint in _PLAIN:
        return _PLAIN[hint]
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        kinds = [_type(part, records, name) for part in inner if part is not type(None)]
        return kinds[0] if len(kinds) == 1 else {"anyOf": kinds}
    if origin is list:
        return {"type": "array", "items": _type(inner[0], records, name)}
    if origin is dict:
        return {"type": "object", "additionalProperties": _type(inner[1], records)}
    if is_typeddict(hint):
        return {"type": "object", "additionalProperties": {}}
    if isinstance(hint, type) and is_dataclass(hint):
        return dict(_reference(hint, records))
    return {}


_PLAIN: dict[Any, dict[str, Any]] = {bool: {"type": "boolean"}, float: _NUMBER, str: {"type": "string"}, Any: {}}
