"""A progress bar on stderr for long work; silent when stderr is no terminal or --json was asked for."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from tqdm.auto import tqdm

T = TypeVar("T")


def track(items: Sequence[T] | Iterable[T], what: str, total: int | None = None, quiet: bool = False) -> Iterator[T]:
    """The items, with a bar that shows how many are done and how long the rest may take."""
    yield from tqdm(items, desc=what, total=total, disable=quiet or None, unit="run")
