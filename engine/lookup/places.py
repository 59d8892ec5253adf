"""Where each n-gram first stands in each trajectory: what PLD's left-to-right scan finds, in constant time."""

from collections.abc import Sequence

from engine.lookup.bounded import Bounded


class FirstPlaces:
    """For n = 1..orders: the position after the first occurrence of an n-gram that is followed by something.

    An n-gram is written down when its next token arrives, so the one at the end never finds itself.
    """

    def __init__(self, orders: int, entries: int) -> None:
        self.orders = orders
        self._first: Bounded[tuple[int, ...], tuple[int, int]] = Bounded(entries)  # position, and how often it was seen

    def add(self, group: int, tokens: Sequence[int], at: int, start: int) -> None:
        """The token at `at` has arrived in trajectory `group`, which begins at `start`."""
        for n in range(1, min(self.orders, at - start) + 1):
            key = (group, *tokens[at - n : at])
            first, times = self._first.find(key) or (at, 0)
            self._first.put(key, (first, times + 1))

    def find(self, group: int, gram: Sequence[int]) -> int | None:
        """The position after the first occurrence in a trajectory, or None."""
        found = self._first.find((group, *gram))
        return found[0] if found else None

    def times(self, group: int, gram: Sequence[int]) -> int:
        """How often it has been followed by something in a trajectory."""
        return (self._first.find((group, *gram)) or (0, 0))[1]

    def __len__(self) -> int:
        return len(self._first)
