"""The pool of lookahead decoding: n-grams by their first token, and the tree in which some are verified. Fu et al. 2024
(2402.02057), section 3.2."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from engine.lookup.bounded import Bounded


@dataclass(frozen=True, slots=True)
class Met:
    """Where an n-gram was last met: the round in which the window gave it, or a position of the history."""

    trajectory: int
    round: int | None = None
    at: int | None = None  # of the first token that follows
    times: int = 1  # that it was met so far


class Pool:
    """The n-grams of each first token, the one met longest ago first."""

    def __init__(self, entries: int) -> None:
        """`entries` bounds the first tokens."""
        self._tails: Bounded[int, dict[tuple[int, ...], Met]] = Bounded(entries)

    def put(self, first: int, tail: tuple[int, ...], met: Met, most: int) -> None:
        """An n-gram was met again, or for the first time: its first token, and the rest of it. Of more than `most` of
        one first token that which was met longest ago leaves."""
        tails = self._tails.find(first) or {}
        before = tails.pop(tail, None)
        tails[tail] = replace(met, times=before.times + 1) if before else met
        if len(tails) > most:
            del tails[next(iter(tails))]
        self._tails.put(first, tails)

    def after(self, first: int) -> dict[tuple[int, ...], Met]:
        """What followed a token, the one met longest ago first."""
        return self._tails.find(first) or {}

    def __len__(self) -> int:
        return len(self._tails)


def trie(tails: Iterable[Sequence[int]], room: int, space: int) -> tuple[list[int], list[int], list[tuple[int, int]]]:
    """Tokens and parents of the tree that holds every tail up to `room` tokens, with at most `space` nodes; tails that
    begin alike share nodes. Third, of each node the tail that brought it and its place in that."""
    tokens, parents, brought = list[int](), list[int](), list[tuple[int, int]]()
    at: dict[tuple[int, int], int] = {}
    for i, tail in enumerate(tails):
        above = -1
        for step, token in enumerate(tail[:room]):
            node = at.get((above, token))
            if node is None:
                if len(tokens) >= space:
                    return tokens, parents, brought
                node = at[above, token] = len(tokens)
                tokens.append(token)
                parents.append(above)
                brought.append((i, step))
            above = node
    return tokens, parents, brought
