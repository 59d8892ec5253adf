"""How many of torch's threads share a pass of a small network: one where there is little to do, and one for a while
where the others were kept from working.

Threads that share an operation wait for the last of them, and torch's fused attention wakes all however little there is
to do. On a machine that does nothing else this takes some microseconds. Where something else wants the cores, it takes
until the system gives the last thread its turn: milliseconds an operation, of which a pass has dozens. Then a pass over
a few tokens is ten times as slow, and one over a tree three times, as one thread that waits for nobody.

Only networks are held to this whose products give the same sums by one thread as by all (`engine.model.products`), so
that nothing but time depends on it.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from time import perf_counter
from types import TracebackType

import torch

from engine.model.products import Product

ATTENDED = 1 << 21  # numbers of all queries times slots, up to which one thread attends about as fast as two
SCORED = 8  # multiplications as long as those of matrices that a number of a query takes with each slot in a layer
READING = 3  # rows whose products take as long as reading the matrices does
SLOW = 3.0  # times as long as usual takes a pass whose threads were kept from working
PAUSE, LONGEST = 0.5, 4.0  # seconds for which passes then have one thread: at first, and at most
WHOLE = nullcontext()


class OneThread:
    """Within it torch has the calling thread alone, and behind it as many as before. Torch counts for each thread of
    the process, but one that uses torch for the first time meanwhile begins with one as well: what runs on a pair
    therefore says how many it has (`Pair.use_threads`)."""

    __slots__ = ("_count",)

    def __enter__(self) -> None:
        self._count = torch.get_num_threads()
        torch.set_num_threads(1)  # both take a fifth of a microsecond

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        torch.set_num_threads(self._count)


@dataclass(eq=False)
class Sharing:
    """Of one network: up to how many rows one thread does all products of a pass (`alone`; 0 where nothing is decided
    here), the elements of its matrices, and its layers."""

    alone: int
    elements: int
    layers: int
    _usual: dict[int, float] = field(default_factory=dict)  # least seconds a multiplication, by bits of the rows
    _pause: float = PAUSE
    _until: float = 0.0  # on the clock, when passes are shared again

    def over(self, rows: int, slots: int, width: int) -> AbstractContextManager[None]:
        """Within it a pass runs over so many rows, which see at most so many slots by queries of this width."""
        if not self.alone:
            return WHOLE
        attended = rows * slots * width
        if (rows <= self.alone and attended <= ATTENDED) or perf_counter() < self._until:
            return OneThread()
        return _Timed(self, rows, self.elements * (rows + READING) + SCORED * self.layers * attended)

    def took(self, rows: int, work: int, seconds: float) -> None:
        """A shared pass of so many multiplications took so long."""
        size, each = rows.bit_length(), seconds / work
        usual = self._usual.setdefault(size, each)
        if each > SLOW * usual:
            self._until = perf_counter() + self._pause
            self._pause = min(LONGEST, 2 * self._pause)
            return
        self._usual[size], self._pause = min(usual, each), PAUSE


def sharing_of(products: Sequence[Product], layers: int) -> Sharing:
    """That of a network of these products; of none, or of some that are not kept so, nothing is decided."""
    alone = min((product.alone for product in products), default=0)
    return Sharing(alone, sum(product.inputs * product.outputs for product in products), layers)


class _Timed:
    """A pass that all threads share, if there are several."""

    __slots__ = ("_began", "_rows", "_sharing", "_work")

    def __init__(self, sharing: Sharing, rows: int, work: int) -> None:
        self._sharing, self._rows, self._work = sharing, rows, work

    def __enter__(self) -> None:
        self._began = perf_counter()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if error is None and torch.get_num_threads() > 1:
            self._sharing.took(self._rows, self._work, perf_counter() - self._began)
