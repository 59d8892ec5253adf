"""Suffix automaton, built online: the longest end of a text that occurred before, and where it occurred first.

Blumer et al. 1985; as a drafter SAM-Decoding (Hu et al. 2024, 2411.10666). At most 2L - 1 states and 3L - 4 edges.
"""

from collections.abc import Sequence


class SuffixAutomaton:
    """Reads tokens one by one. State 0 is the empty text; `first` is the end of a state's first occurrence."""

    def __init__(self) -> None:
        self.tokens: list[int] = []
        self.edges: list[dict[int, int]] = [{}]
        self.link = [-1]
        self.length = [0]
        self.first = [-1]
        self.last = 0

    def __len__(self) -> int:
        return len(self.link)

    def add(self, token: int) -> None:
        """Append one token."""
        at = len(self.tokens)
        self.tokens.append(token)
        new = self._state(self.length[self.last] + 1, {}, 0, at)
        state = self.last
        while state >= 0 and token not in self.edges[state]:
            self.edges[state][token] = new
            state = self.link[state]
        if state >= 0:
            self.link[new] = self._end_of(state, token)
        self.last = new

    def _end_of(self, state: int, token: int) -> int:
        """The state that holds exactly the texts of `state` followed by `token`; split off when it is not there."""
        goal = self.edges[state][token]
        if self.length[goal] == self.length[state] + 1:
            return goal
        clone = self._state(self.length[state] + 1, dict(self.edges[goal]), self.link[goal], self.first[goal])
        while state >= 0 and self.edges[state].get(token) == goal:
            self.edges[state][token] = clone
            state = self.link[state]
        self.link[goal] = clone
        return clone

    def _state(self, length: int, edges: dict[int, int], link: int, first: int) -> int:
        self.length.append(length)
        self.edges.append(edges)
        self.link.append(link)
        self.first.append(first)
        return len(self.link) - 1

    def match(self) -> tuple[int, int]:
        """State and length of the longest end of the text that occurred before: the suffix link of the whole text."""
        state = max(self.link[self.last], 0)
        return state, self.length[state]

    def follows(self, state: int) -> int:
        """Where the continuation of a state's first occurrence begins."""
        return self.first[state] + 1

    def find(self, tokens: Sequence[int]) -> int | None:
        """The state of a text, None when it does not occur."""
        state = 0
        for token in tokens:
            if token not in self.edges[state]:
                return None
            state = self.edges[state][token]
        return state
