"""Time contenders in turns and give their ratios. No torch: a contender is a call that says what it wrote and when."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from random import Random
from statistics import median


@dataclass(frozen=True, slots=True)
class Lap:
    """One answer, or several added: tokens written, seconds, and for our methods target calls and verified tokens.

    Roots count as verified; `outputs` holds the token ids of each answer, in the order of the prompts.
    """

    tokens: int
    seconds: float
    calls: int = 0
    verified: int = 0
    outputs: tuple[tuple[int, ...], ...] = ()


Contender = Callable[[Sequence[int]], Lap]  # takes the ids of a prompt


@dataclass(frozen=True)
class Spread:
    """Median, smallest and largest of some repetitions."""

    median: float
    low: float
    high: float
    n: int

    @classmethod
    def of(cls, values: Sequence[float]) -> "Spread":
        """The spread of at least one value."""
        return cls(median(values), min(values), max(values), len(values))

    def __str__(self) -> str:
        return f"{self.median:.2f} ({self.low:.2f} to {self.high:.2f}, n={self.n})"


@dataclass(frozen=True)
class Times:
    """Per repetition and contender the sum over the prompts."""

    names: tuple[str, ...]
    laps: tuple[tuple[Lap, ...], ...]

    def speed(self, name: str) -> Spread:
        """Tokens per second."""
        at = self.names.index(name)
        return Spread.of([row[at].tokens / row[at].seconds for row in self.laps])

    def ratio(self, name: str, over: str) -> Spread:
        """Tokens per second of one over another, repetition by repetition."""
        a, b = self.names.index(name), self.names.index(over)
        return Spread.of([row[a].tokens / row[a].seconds / (row[b].tokens / row[b].seconds) for row in self.laps])

    def total(self, name: str) -> Lap:
        """Tokens, seconds, calls, verified tokens and outputs of the last repetition."""
        return self.laps[-1][self.names.index(name)]


def contest(
    contenders: dict[str, Contender],
    prompts: Sequence[Sequence[int]],
    repetitions: int = 5,
    wrap: Callable[[Iterable[int]], Iterable[int]] = iter,
) -> Times:
    """Warm each contender up on the first prompt, then run all of them on each prompt in turn, `repetitions` times.

    Their order is drawn anew for every prompt, the same in every call: one that always ran behind the same other would
    always find its caches.
    """
    runs, orders = list(contenders.values()), Random(0)
    for run in runs:
        run(prompts[0])
    laps = []
    for _ in wrap(range(repetitions)):
        row = [Lap(0, 0.0)] * len(contenders)
        for prompt in prompts:
            for i in orders.sample(range(len(runs)), len(runs)):
                row[i] = _sum(row[i], runs[i](prompt))
        laps.append(tuple(row))
    return Times(tuple(contenders), tuple(laps))


def _sum(a: Lap, b: Lap) -> Lap:
    counts = a.calls + b.calls, a.verified + b.verified
    return Lap(a.tokens + b.tokens, a.seconds + b.seconds, *counts, a.outputs + b.outputs)
