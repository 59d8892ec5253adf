"""A dictionary with room for so many entries: the least recently used leave first."""

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class Bounded(Generic[Key, Value]):
    """At most `most` entries. Reading or writing an entry makes it the most recently used."""

    def __init__(self, most: int) -> None:
        self.most = max(1, most)
        self._items: OrderedDict[Key, Value] = OrderedDict()

    def find(self, key: Key) -> Value | None:
        """The entry, or None."""
        value = self._items.get(key)
        if value is not None:
            self._items.move_to_end(key)
        return value

    def put(self, key: Key, value: Value) -> None:
        """Write an entry, and let the oldest go when there are too many."""
        self._items[key] = value
        self._items.move_to_end(key)
        if len(self._items) > self.most:
            self._items.popitem(last=False)

    def __contains__(self, key: object) -> bool:
        return key in self._items

    def __len__(self) -> int:
        return len(self._items)
