"""Milliseconds of the parts of a round on one device, for one target and one drafter."""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from engine.errors import ConfigError
from engine.trace.records import CostsRecord

AHEAD = 8  # tokens over which a pass is looked at for what one more costs
Sample = tuple[int, float]  # tokens that the target reads at once, and the milliseconds of that pass


@dataclass(frozen=True)
class Curve:
    """Milliseconds of a pass of the target by the tokens that it reads (the root included)."""

    samples: tuple[Sample, ...]  # measured, of rising size

    def __post_init__(self) -> None:
        sizes = [size for size, _ in self.samples]
        if not sizes or sizes != sorted(set(sizes)) or min(ms for _, ms in self.samples) <= 0:
            raise ConfigError("A cost curve needs sizes that rise, each with milliseconds > 0.")

    def at(self, tokens: float) -> float:
        """A pass over so many tokens: straight between two measured sizes and beyond them, never near nothing."""
        if len(self.samples) == 1:
            return self.samples[0][1]
        right = min(max(bisect_left(self.samples, (tokens, 0.0)), 1), len(self.samples) - 1)
        (n, low), (m, high) = self.samples[right - 1 : right + 1]
        return max(low + (high - low) * (tokens - n) / (m - n), self._least)

    @cached_property
    def whole(self) -> tuple[float, ...]:
        """Passes over 0 (which never is) to 127 tokens."""
        return tuple(self.at(tokens) for tokens in range(128))

    def further(self, tokens: int) -> float:
        """One more token in a pass over so many: the mean over the next `AHEAD`, since measured curves have steps."""
        known = self.ahead
        return known[tokens] if tokens < len(known) else self._mean(tokens)

    @cached_property
    def ahead(self) -> tuple[float, ...]:
        """The same in passes over 0 (which never is) to 127 tokens."""
        return tuple(map(self._mean, range(128)))

    def _mean(self, tokens: int) -> float:
        return (self.at(tokens + AHEAD) - self.at(tokens)) / AHEAD

    @cached_property
    def _least(self) -> float:
        return min(ms for _, ms in self.samples) / 2


@dataclass(frozen=True)
class Costs:
    """What was measured."""

    passes: Curve
    start: float  # of a draft, before its first token; with what the pass behind it takes longer than one by itself
    step: float  # of each token of a chain, or each level of a tree after the first that goes on with one node
    row: float = 0.0  # of each further node that goes on in a level
    other: float = 0.0  # of a round besides drafting and verifying
    fork: float = 0.0  # of each level of a tree, more than of a chain with as many rows
    spread: float = 0.0  # of a pass over a tree, more than over a chain of as many tokens

    def verify(self, tokens: float) -> float:
        """A pass of the target over so many tokens, the root included."""
        return self.passes.at(tokens)

    def further(self, tokens: int) -> float:
        """One more token in a pass over so many; see `Curve.further`."""
        return self.passes.further(tokens)

    def draft(self, steps: int, rows: int | None = None) -> float:
        """A draft of so many steps: a chain, or a tree in which so many nodes went on."""
        return self.start + steps * self.step + (0.0 if rows is None else self.forks(steps, rows))

    def forks(self, steps: int, rows: int) -> float:
        """What so many levels of a tree in which so many nodes went on cost more than as many steps of a chain."""
        return steps * self.fork + (rows - steps) * self.row

    def round(self, steps: int | None, tokens: float, rows: int | None = None) -> float:
        """A whole round of so many steps (None drafts nothing) that verifies so many tokens, the root included; `rows`
        as for `draft`."""
        spread = 0.0 if steps is None or rows is None else self.spread
        return (0.0 if steps is None else self.draft(steps, rows)) + self.verify(tokens) + spread + self.other

    @cached_property
    def chains(self) -> tuple[float, ...]:
        """Whole rounds of chains of 0 to 126 tokens, a step each."""
        passes = self.passes.whole
        return tuple((self.draft(n) if n else 0.0) + passes[n + 1] + self.other for n in range(len(passes) - 1))

    def to_json(self) -> CostsRecord:
        """JSON types; nanoseconds are kept."""
        return CostsRecord(
            passes=[(n, round(ms, 6)) for n, ms in self.passes.samples],
            start=round(self.start, 6),
            step=round(self.step, 6),
            row=round(self.row, 6),
            other=round(self.other, 6),
            fork=round(self.fork, 6),
            spread=round(self.spread, 6),
        )

    @classmethod
    def from_json(cls, given: CostsRecord) -> "Costs":
        """What `to_json` gave."""
        passes = tuple((int(n), float(ms)) for n, ms in given["passes"])
        tree = given.get("fork", 0.0), given.get("spread", 0.0)
        return cls(Curve(passes), given["start"], given["step"], given["row"], given["other"], *tree)


def rising(samples: Sequence[Sample]) -> tuple[Sample, ...]:
    """The samples with times that never fall: where noise made a larger pass cheaper, both have their mean."""
    pools: list[tuple[float, int]] = []  # sum and number of neighbours that share a time
    for _, ms in samples:
        pools.append((ms, 1))
        while len(pools) > 1 and pools[-2][0] / pools[-2][1] > pools[-1][0] / pools[-1][1]:
            (a, n), (b, m) = pools[-2:]
            pools[-2:] = [(a + b, n + m)]
    times = [total / n for total, n in pools for _ in range(n)]
    return tuple((n, ms) for (n, _), ms in zip(samples, times, strict=True))
