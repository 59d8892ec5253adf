"""Which rows of the target's passes belong to committed tokens: the features f_1 .. f_{n-1} before the round's root
t_n.

Dimension key: F feature width.
"""

from collections.abc import Sequence

from torch import Tensor

from engine.model import Forward
from engine.sampling import sent


class Follower:
    """Reads each pass once. The prefill gives f_1 .. f_{n-1}; each round then its tail rows and those of its accepted
    path."""

    def __init__(self) -> None:
        self.count = 0  # features seen so far, or passed over as a source's
        self._length = 0  # tokens that the last pass stood on

    def begin(self, length: int, source: int = 0) -> None:
        """A new sequence; the prefill stands on all its tokens but the last. A source has no features of its own."""
        self.count, self._length = source, length - 1

    def fresh(self, forward: Forward | None, path: Sequence[int], length: int, states: Tensor | None) -> Tensor | None:
        """The new features [m, F] among the pass's `states` [tail + N, F], now that `length` tokens are committed.

        None when there are none yet (a prompt of one token).
        """
        start, self._length = self._length, length
        if forward is None or states is None:
            return None
        rows = [*range(forward.tail), *(forward.tail + i for i in path)]
        rows = rows[self.count - (start - forward.tail) :][: length - 1 - self.count]
        self.count += len(rows)
        return states.index_select(0, sent(rows, states.device)) if rows else None
