"""STAND's table: after these tokens, the mean of the target's distributions there, its ten largest entries.

Section 4.1 of the paper. Register: S2 to S4, S8, S14. Probabilities are stored as averaged, never renormalised.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import log

from engine.lookup.bounded import Bounded

Entries = list[tuple[int, float]]  # (token, probability), largest first, ties by token


@dataclass(slots=True)
class MeanDistribution:
    """The mean of `count` distributions cut to its largest entries, and where the last of them was seen."""

    entries: Entries
    count: int = 1
    place: int = -1
    _distribution: Entries | None = None
    _logs: list[float] | None = None

    @property
    def distribution(self) -> Entries:
        """The entries as a distribution of its own, summing to one (register S3); kept until the mean changes."""
        if self._distribution is None:
            total = sum([p for _, p in self.entries])
            self._distribution = [(token, p / total) for token, p in self.entries]
        return self._distribution

    @property
    def logs(self) -> list[float]:
        """Log-probabilities of the distribution's entries; kept as it is."""
        if self._logs is None:
            self._logs = [log(p) for _, p in self.distribution]
        return self._logs

    def add(self, distribution: Entries, most: int, place: int) -> None:
        """One more distribution joins the mean."""
        self.entries, self.count, self.place = (
            merged(self.entries, self.count, distribution, most),
            self.count + 1,
            place,
        )
        self._distribution = self._logs = None


def cut(entries: Entries, most: int) -> Entries:
    """The largest entries, smaller token first among equals, zeros left out."""
    return [(token, -p) for p, token in sorted([(-p, token) for token, p in entries if p > 0])[:most]]


def merged(old: Entries, count: int, new: Entries, most: int) -> Entries:
    """The old entries weigh count / (count + 1), the new 1 / (count + 1); a token that one side lacks has zero
    there."""
    share = 1.0 / (count + 1)
    keep = count * share
    mean = {token: p * keep for token, p in old}
    for token, p in new:
        mean[token] = mean.get(token, 0.0) + p * share
    return [(token, -p) for p, token in sorted([(-p, token) for token, p in mean.items()])[:most]]


class DistributionTable:
    """Contexts of 1 to `orders` tokens, at most `entries` of them, each with a MeanDistribution of `stored` entries."""

    def __init__(self, orders: int, stored: int, entries: int) -> None:
        self.orders, self.stored = orders, stored
        self._table: Bounded[tuple[int, ...], MeanDistribution] = Bounded(entries)

    def see(
        self, context: Sequence[int], distribution: Entries, place: int = -1, full: Callable[[int], float] | None = None
    ) -> None:
        """The target's distribution after `context`, its largest entries first.

        With `full`, which gives the probability of any token, the whole distribution takes part in the mean and not
        only its stored entries (register S14, option merge_full).
        """
        distribution = distribution[: self.stored]
        context = tuple(context[-self.orders :])
        for n in range(1, len(context) + 1):
            key = context[-n:]
            known = self._table.find(key)
            if known is None:
                self._table.put(key, MeanDistribution(distribution, 1, place))
                continue
            known.add(self._extended(distribution, known, full), self.stored, place)

    @staticmethod
    def _extended(distribution: Entries, known: MeanDistribution, full: Callable[[int], float] | None) -> Entries:
        if full is None:
            return distribution
        have = {token for token, _ in distribution}
        return distribution + [(token, full(token)) for token, _ in known.entries if token not in have]

    def find(self, context: Sequence[int]) -> tuple[int, MeanDistribution] | None:
        """The longest known context that `context` ends with: its length and its distribution."""
        context = tuple(context[-self.orders :])
        for n in range(len(context), 0, -1):
            known = self._table.find(context[-n:])
            if known is not None:
                return n, known
        return None

    def __len__(self) -> int:
        return len(self._table)
