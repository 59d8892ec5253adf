"""Gumbel noise drawn ahead in one piece and handed out in fresh slices (STAND, section 4.2; register S7)."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class NoiseCache:
    """Each number is handed out once: noise that a node shares with another would bias the output."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.clear()

    def clear(self) -> None:
        """Throw away what is left, so that a new run draws from its own stream."""
        self._noise: Floats = np.empty(0)
        self._next = 0

    def take(self, n: int, generator: np.random.Generator) -> Floats:
        """The next n numbers [n], standard Gumbel; the whole cache is drawn anew when fewer are left."""
        if self._next + n > len(self._noise):
            self._noise = generator.gumbel(size=max(self.size, n))
            self._next = 0
        self._next += n
        return self._noise[self._next - n : self._next]
