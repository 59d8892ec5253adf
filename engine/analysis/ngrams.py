"""How much later trajectories repeat of earlier ones (STAND, section 3.1, figure 2). Pure; token ids in, shares out."""

from collections.abc import Iterator, Sequence
from typing import Any

Gram = tuple[int, ...]
ORDERS = (2, 3, 4, 5)  # bigrams to 5-grams, as in figure 2


def grams(tokens: Sequence[int], n: int) -> Iterator[Gram]:
    """The n-grams of a sequence, from left to right."""
    return (tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1))


class Reuse:
    """Which tokens of a trajectory lie in an n-gram that an earlier one of the problem holds. Grows with the text.

    For each token so far: `order` is the longest such n-gram around it (0 for none), `times` how often that one stood
    in the earlier trajectories, and `first` the trajectory that had it first.
    """

    def __init__(self, orders: Sequence[int] = ORDERS) -> None:
        self.orders = tuple(sorted(orders))
        self._seen: dict[Gram, tuple[int, int]] = {}  # times, first trajectory
        self._number = -1
        self.begin()

    def begin(self) -> None:
        """A trajectory starts; the one before, if any, is now an earlier one."""
        for n in self.orders if self._number >= 0 else ():
            for gram in grams(self.tokens, n):
                times, first = self._seen.get(gram, (0, self._number))
                self._seen[gram] = (times + 1, first)
        self._number += 1
        self.tokens: list[int] = []
        self.order: list[int] = []
        self.times: list[int] = []
        self.first: list[int] = []

    def extend(self, tokens: Sequence[int]) -> int:
        """More tokens; returns the first position whose marks are new or may have changed."""
        start = len(self.tokens)
        changed = max(0, start - self.orders[-1] + 1)
        for token in tokens:
            self.tokens.append(token)
            for marks, none in ((self.order, 0), (self.times, 0), (self.first, -1)):
                marks.append(none)
            for n in self.orders:
                self._mark(n)
        return changed

    def _mark(self, n: int) -> None:
        """Mark the last n tokens if they stood in an earlier trajectory."""
        known = self._seen.get(tuple(self.tokens[-n:])) if len(self.tokens) >= n else None
        if known is None:
            return
        for at in range(len(self.tokens) - n, len(self.tokens)):
            if self.order[at] < n:
                self.order[at], (self.times[at], self.first[at]) = n, known


def repeated_share(trajectories: Sequence[Sequence[int]], n: int) -> float | None:
    """Share of all n-grams in these trajectories that stand at another place too, in the same or another trajectory.

    The paper says that n-grams "recur across" trajectories; this counts occurrences of n-grams that occur at least
    twice. None when there is no n-gram.
    """
    counts: dict[Gram, int] = {}
    for tokens in trajectories:
        for gram in grams(tokens, n):
            counts[gram] = counts.get(gram, 0) + 1
    total = sum(counts.values())
    return sum(c for c in counts.values() if c > 1) / total if total else None


def seen_share(trajectories: Sequence[Sequence[int]], n: int) -> float | None:
    """Share of the last trajectory's n-grams that an earlier trajectory holds: what a drafter could have looked up.

    None when there is no earlier trajectory or no n-gram.
    """
    if len(trajectories) < 2:
        return None
    earlier = {gram for tokens in trajectories[:-1] for gram in grams(tokens, n)}
    last = list(grams(trajectories[-1], n))
    return sum(gram in earlier for gram in last) / len(last) if last else None


def overlap_table(
    problems: Sequence[Sequence[Sequence[int]]], counts: Sequence[int], orders: Sequence[int]
) -> list[dict[str, Any]]:
    """Figure 2 as rows: for each number of trajectories and order the mean over problems of both shares, or None."""
    rows = []
    for k in counts:
        groups = [problem[:k] for problem in problems if len(problem) >= k]
        for n in orders:
            repeated = [s for s in (repeated_share(group, n) for group in groups) if s is not None]
            seen = [s for s in (seen_share(group, n) for group in groups) if s is not None]
            rows.append(
                {
                    "trajectories": k,
                    "order": n,
                    "problems": len(groups),
                    "repeated": _mean(repeated),
                    "seen_before": _mean(seen),
                }
            )
    return rows


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
