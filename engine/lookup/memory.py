"""Dynamic memory: a suffix automaton over a History, with unique separators so that no match crosses trajectories."""

from collections.abc import Sequence

from engine.lookup.automaton import SuffixAutomaton
from engine.lookup.history import History


class DynamicMemory:
    """The automaton of all trajectories in scope; past `entries` states it is rebuilt over the newer half of the
    text."""

    def __init__(self, scope: str, entries: int) -> None:
        self.history = History(scope)
        self.entries = entries
        self._fresh(0)

    def _fresh(self, base: int) -> None:
        self.automaton = SuffixAutomaton()
        self._at: list[
            int
        ] = []  # history position of each token in the automaton; separators have that of the token after
        self._base = base
        self._separators = 0

    def begin(self, prompt: Sequence[int]) -> None:
        """A trajectory starts."""
        if self.history.begin(prompt):
            self._fresh(0)
        self._read(self.history.start, len(self.history.tokens))
        self._bound()

    def extend(self, tokens: Sequence[int]) -> list[int]:
        """The sequence has grown to `tokens`; returns what is new."""
        known = len(self.history.tokens)
        new = self.history.extend(tokens)
        self._read(known, len(self.history.tokens))
        self._bound()
        return new

    def _read(self, start: int, stop: int) -> None:
        opens = set(self.history.starts()) if stop - start > 1 else {self.history.start}
        for at in range(start, stop):
            if at in opens and self.automaton.tokens:
                self._separators += 1
                self.automaton.add(-self._separators)
                self._at.append(at)
            self.automaton.add(self.history.tokens[at])
            self._at.append(at)

    def _bound(self) -> None:
        """Start again from the newer half of what is kept, while there is too much."""
        end = len(self.history.tokens)
        while len(self.automaton) > self.entries and self._base < end:
            base = self._base + (end - self._base + 1) // 2
            self._fresh(base)
            self._read(base, end)

    def match(self) -> int:
        """Length of the longest end of the text that occurred before."""
        return self.automaton.match()[1]

    def continuation(self, n: int, climb: bool = False) -> tuple[int, int, list[int]]:
        """What followed the first occurrence of the longest match: its length, a history position, and at most n
        tokens.

        With `climb`, shorter matches are taken until one is followed by n tokens (SAM-Decoding with recycling); if none
        is, the longest match stays.
        """
        state, match = self.automaton.match()
        if match == 0 or n < 1:
            return match, -1, []
        at, tokens = self._after(state, n)
        while climb and len(tokens) < n and self.automaton.link[state] > 0:
            state = self.automaton.link[state]
            other, more = self._after(state, n)
            if len(more) >= n:
                return self.automaton.length[state], other, more
        return match, at, tokens

    def _after(self, state: int, n: int) -> tuple[int, list[int]]:
        """History position and tokens that follow a state's first occurrence, up to the end of its trajectory."""
        at = self._at[self.automaton.follows(state)]
        if self.automaton.tokens[self.automaton.follows(state)] < 0:
            return at, []
        return at, self.history.continuation(at, n)

    def __len__(self) -> int:
        return len(self.automaton)
