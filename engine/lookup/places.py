"""Where each n-gram first stands in each trajectory: what PLD's left-to-right scan finds, in constant time."""

from collections.abc import Sequence

from engine.lookup.bounded import Bounded


class FirstPlaces:
    """For n = 1..orders: the position after the first occurrence of an n-gram that is followed by something.

    An n-gram is written down when its next token arrives, so the one at the end never finds itself.
    """

    def __init__(self, orders: int, entries: int) -> None:
        self.orders = orders
        self._first: Bounded[tuple[int, ...], int] = Bounded(entries)

    def add(self, group: int, tokens: Sequence[int], at: int, start: int) -> None:
        """The token at `at` has arrived in trajectory `group`, which begins at `start`."""
        for n in range(1, min(self.orders, at - start) + 1):
            key = (group, *tokens[at - n : at])
            if key not in self._first:
                self._first.put(key, at)

    def find(self, group: int, gram: Sequence[int]) -> int | None:
        """The position after the first occurrence in a trajectory, or None."""
        return self._first.find((group, *gram))

    def __len__(self) -> int:
        return len(self._first)
