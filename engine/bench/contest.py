"""Time several contenders in turns and give their ratios. Torch-free: a contender is a call that returns tokens and seconds."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import median

Contender = Callable[[Sequence[int]], tuple[int, float]]  # prompt ids -> tokens written, seconds


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
    """Per repetition and contender: tokens and seconds, summed over the prompts."""

    names: tuple[str, ...]
    tokens: tuple[tuple[int, ...], ...]
    seconds: tuple[tuple[float, ...], ...]

    def speed(self, name: str) -> Spread:
        """Tokens per second."""
        at = self.names.index(name)
        return Spread.of([t[at] / s[at] for t, s in zip(self.tokens, self.seconds, strict=True)])

    def ratio(self, name: str, over: str) -> Spread:
        """Tokens per second of one over another, repetition by repetition."""
        a, b = self.names.index(name), self.names.index(over)
        return Spread.of([(t[a] / s[a]) / (t[b] / s[b]) for t, s in zip(self.tokens, self.seconds, strict=True)])


def contest(
    contenders: dict[str, Contender],
    prompts: Sequence[Sequence[int]],
    repetitions: int = 5,
    wrap: Callable[[Iterable[int]], Iterable[int]] = iter,
) -> Times:
    """Warm each contender up on the first prompt, then run all of them on each prompt in turn, `repetitions` times."""
    for run in contenders.values():
        run(prompts[0])
    tokens, seconds = [], []
    for _ in wrap(range(repetitions)):
        row_tokens, row_seconds = [0] * len(contenders), [0.0] * len(contenders)
        for prompt in prompts:
            for i, run in enumerate(contenders.values()):
                n, s = run(prompt)
                row_tokens[i] += n
                row_seconds[i] += s
        tokens.append(tuple(row_tokens))
        seconds.append(tuple(row_seconds))
    return Times(tuple(contenders), tuple(tokens), tuple(seconds))
