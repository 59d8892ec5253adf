"""JSON objects from disk, none of which is trusted: bounded in size, plain numbers, whole texts; typed values."""

import json
import math
import types
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

from engine.errors import AssetError
from engine.files import marks
from engine.files.places import unreadable

MOST_BYTES = 32_000_000
LARGEST = 2**53  # whole numbers beyond it are not safe in JSON readers


def read_object(path: Path) -> dict[str, Any]:
    """The JSON object in a file.

    Raises:
        AssetError: missing, too large, damaged, no object, or with a number or text that JSON does not know.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        raise AssetError(unreadable(path, error)) from None
    found = parse(data, str(path))
    if not isinstance(found, dict):
        raise AssetError(f"{path} must be a JSON object.")
    return found


def parse(data: bytes, place: str) -> Any:
    """The JSON value of some bytes; `place` is said in errors.

    Raises:
        AssetError: too large, damaged, or with a number or text that JSON does not know.
    """
    if len(data) > MOST_BYTES or marks.count(data) > marks.MOST:
        raise AssetError(f"{place} must have at most {MOST_BYTES // 10**6} MB and {marks.MOST} values.")
    try:
        text = data.decode("utf-8-sig")
        found = json.loads(text, parse_constant=_constant, parse_float=_float, parse_int=_int)
        if "\\ud" in text.lower():
            json.dumps(found, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise AssetError(f"{place} cannot be read: {str(error)[:200] or 'it is nested too deeply'}.") from None
    return found


def _constant(name: str) -> float:
    raise ValueError(f"a number must be finite, not {name}")


def _float(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"a number must be finite, not {text[:40]}")
    return value


def _int(text: str) -> int:
    if len(text) > 17 or abs(int(text)) > LARGEST:
        raise ValueError(f"an integer must be from {-LARGEST} to {LARGEST}, not {text[:40]}")
    return int(text)


WORDS = {bool: "true or false", str: "a text", int: "a whole number", float: "a number", types.NoneType: "nothing"}


def wanted(kind: Any) -> str:
    """The values of a declared type in words: "a number", "a list, each a text", "one of 'above', 'below'"."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Literal:
        return f"one of {', '.join(map(repr, inner))}"
    if origin in (Union, types.UnionType):
        return " or ".join(wanted(part) for part in inner)
    if origin in (list, tuple):
        return f"a list, each {wanted(inner[0])}" if inner else "a list"
    if origin in (dict, Mapping):
        return f"a table, each value {wanted(inner[1])}" if inner and inner[1] is not Any else "a table"
    return WORDS.get(kind, "a value")


def fits(value: Any, kind: Any) -> bool:
    """Whether a value of JSON or TOML is of a declared type; a whole number is a float, and True is no number."""
    if kind is Any:
        return True
    if kind is float:
        return type(value) in (int, float) and math.isfinite(value)
    if kind is int:
        return type(value) is int and abs(value) <= LARGEST
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return any(fits(value, part) for part in inner)
    if origin in (list, tuple):
        return isinstance(value, list | tuple) and all(fits(item, inner[0]) for item in value)
    if origin in (dict, Mapping):
        return isinstance(value, dict) and all(isinstance(k, str) and fits(v, inner[1]) for k, v in value.items())
    return kind is type(value) or (kind is types.NoneType and value is None)
