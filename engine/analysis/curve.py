"""What a pass costs by the tokens it reads: a measured curve, to choose draft lengths by. Plain data, no torch."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from engine.errors import ConfigError
from engine.trace.events import Round


@dataclass(frozen=True, slots=True)
class Curve:
    """Milliseconds of a target call by the tokens that it reads (root included), at one length of text."""

    rows: tuple[int, ...]  # measured, rising
    ms: tuple[float, ...]
    context: int = 0  # tokens in the cache; 0: as they were in runs

    def __post_init__(self) -> None:
        rising = all(a < b for a, b in zip(self.rows, self.rows[1:], strict=False))
        if not self.rows or len(self.rows) != len(self.ms) or not rising or min(self.ms) <= 0:
            raise ConfigError("A cost curve needs rows that rise, each with milliseconds > 0.")

    def at(self, rows: float) -> float:
        """Milliseconds of a call that reads so many tokens: straight between two measured numbers, and beyond them."""
        if len(self.rows) == 1:
            return self.ms[0]
        right = min(max(bisect_right(self.rows, rows), 1), len(self.rows) - 1)
        (x0, x1), (y0, y1) = self.rows[right - 1 : right + 1], self.ms[right - 1 : right + 1]
        return max(y0 + (y1 - y0) * (rows - x0) / (x1 - x0), min(self.ms) / 2)

    def to_json(self) -> dict[str, Any]:
        """As JSON types."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> "Curve":
        """The inverse of `to_json`.

        Raises:
            ConfigError: rows that do not rise, or times that are not above 0.
        """
        return cls(tuple(found["rows"]), tuple(found["ms"]), int(found.get("context", 0)))

    @classmethod
    def of_rounds(cls, rounds: Iterable[Round]) -> "Curve":
        """Medians of the target calls of recorded rounds, by the tokens fed.

        Raises:
            ConfigError: none was timed.
        """
        found: dict[int, list[float]] = defaultdict(list)
        for event in rounds:
            if event.fed and event.verify_ms:
                found[event.fed].append(event.verify_ms)
        rows = sorted(found)
        return cls(tuple(rows), tuple(median(found[row]) for row in rows))
