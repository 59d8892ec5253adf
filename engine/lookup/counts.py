"""Counted n-grams (ANPD): after these tokens, which one came most often?"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from engine.lookup.bounded import Bounded

FOLLOWERS = 256  # next tokens counted for one context


@dataclass(slots=True)
class Followers:
    """What followed one context. `best` is the most frequent, of equals the one seen last."""

    counts: dict[int, int] = field(default_factory=dict)
    best: int = -1
    place: int = -1  # where `best` was seen last

    def see(self, token: int, at: int) -> None:
        """Count one more sighting, at a position of the history."""
        count = self.counts.get(token, 0) + 1
        if count == 1 and len(self.counts) >= FOLLOWERS:
            return
        self.counts[token] = count
        if self.best < 0 or count >= self.counts[self.best]:
            self.best, self.place = token, at


class CountTable:
    """Contexts of 1 to `longest` tokens and what followed them; at most `entries` contexts (ANPD's tables 2 to N =
    longest + 1)."""

    def __init__(self, longest: int, entries: int) -> None:
        self.longest = longest
        self._table: Bounded[tuple[int, ...], Followers] = Bounded(entries)

    def add(self, tokens: Sequence[int], at: int, start: int) -> None:
        """The token at `at` has arrived in a trajectory that begins at `start`."""
        for n in range(1, min(self.longest, at - start) + 1):
            key = tuple(tokens[at - n : at])
            entry = self._table.find(key)
            if entry is None:
                entry = Followers()
                self._table.put(key, entry)
            entry.see(tokens[at], at)

    def find(self, tokens: Sequence[int]) -> tuple[int, Followers] | None:
        """The longest known context that `tokens` end with: its length, and what followed it."""
        for n in range(min(self.longest, len(tokens)), 0, -1):
            entry = self._table.find(tuple(tokens[-n:]))
            if entry is not None:
                return n, entry
        return None

    def __len__(self) -> int:
        return len(self._table)
