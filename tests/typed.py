"""What a test knows of a value and its type does not say: told to the type checker and asserted at once."""

from typing import TypeVar

T = TypeVar("T")


def some(value: T | None) -> T:
    """The value, which is there."""
    assert value is not None
    return value


def known(kind: type[T], value: object) -> T:
    """The value, which is of that kind."""
    assert isinstance(value, kind), value
    return value
