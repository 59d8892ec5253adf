"""What comes from outside, checked by pydantic models and refused in plain sentences. No gradio, no torch."""

import json
from collections.abc import AsyncIterable, Sequence
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from engine.errors import ConfigError, shown, unknown

M = TypeVar("M", bound=BaseModel)

Key = Annotated[str, Field(pattern="^[0-9a-f]{32}$", description="32 hexadecimal digits")]
MaybeKey = Annotated[str, Field(pattern="^([0-9a-f]{32})?$", description="32 hexadecimal digits, or empty")]


class Asked(BaseModel):
    """The base of every request: types as they are in JSON, no further fields, no NaN.

    The description of a field says what is allowed, as a refusal tells it.
    """

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False)


def checked(kind: type[M], given: object, what: str = "The request") -> M:
    """The request in plain values.

    Raises:
        ConfigError: something is missing, unknown, of another type or out of range; the message says which, what was
            given and what is allowed.
    """
    if not isinstance(given, dict):
        raise ConfigError(f"{what} must be a JSON object, not {shown(given)}.")
    for name, value in given.items():
        _require_unicode(name, value)
    try:
        return kind.model_validate(given)
    except ValidationError as error:
        raise ConfigError(_sentence(kind, error, what)) from None


def within(name: str, value: int, low: int, high: int) -> int:
    """An integer in a range that the server decides.

    Raises:
        ConfigError: it lies outside.
    """
    if not low <= value <= high:
        raise ConfigError(f"{name} must be an integer from {low} to {high}, not {shown(value)}.")
    return value


def here(models: str, known: Sequence[str]) -> str:
    """The name of a set of models that this server has.

    Raises:
        ConfigError: it has none of that name, perhaps any more.
    """
    if models not in known:
        raise ConfigError(
            f"{unknown('models', models, known)} Models that were opened from a page stay until others are opened or "
            "the server starts anew; then open them again."
        )
    return models


def parsed(data: str | bytes) -> object:
    """A JSON value.

    Raises:
        ConfigError: it is none, or nested too deeply.
    """
    try:
        return json.loads(data)
    except ValueError:
        raise ConfigError("The request is not JSON.") from None
    except RecursionError:
        raise ConfigError("The request is nested too deeply.") from None


class TooLarge(ConfigError):
    """A body that is longer than its limit."""


async def body(parts: AsyncIterable[bytes], most: int) -> bytes:
    """The bytes of a request's body.

    Raises:
        TooLarge: there are more than `most`.
    """
    found = bytearray()
    async for part in parts:
        found += part
        if len(found) > most:
            raise TooLarge(f"What was sent is larger than {most / 1e6:g} MB, which is the limit.")
    return bytes(found)


def _require_unicode(name: object, value: object) -> None:
    try:
        json.dumps([name, value], ensure_ascii=False, default=str).encode()
    except UnicodeEncodeError:
        raise ConfigError(f"{shown(name)} must be text in Unicode: it holds half a pair of surrogates.") from None
    except RecursionError:
        raise ConfigError(f"{shown(name)} is nested too deeply.") from None


def _sentence(kind: type[BaseModel], error: ValidationError, what: str) -> str:
    """The first thing that is wrong, in words."""
    first: Any = error.errors(include_url=False, include_context=False)[0]
    name, *inner = first["loc"]
    if first["type"] == "extra_forbidden":
        return unknown("setting", name, kind.model_fields)
    if first["type"] == "missing":
        return f"{what} lacks {name}: it must be {kind.model_fields[name].description}."
    must, given = f"{name} must be {kind.model_fields[name].description}", shown(first["input"])
    return (
        f"{must}; item {inner[0] + 1} is {given}." if inner and isinstance(inner[0], int) else f"{must}, not {given}."
    )
