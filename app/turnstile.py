"""One device, shared in turns by visitors: a unit of work each, in the order of asking. No gradio, no torch."""

import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from app.wire.runs import InLine
from engine.errors import ConfigError

MOST_WAITING = 48
RESERVED = 16  # of these, for visitors who have nothing there yet
MOST_TABS = 8  # that wait for one browser
MOST_PROGRAMS = 16  # that wait for one address
TOLD_EVERY = 0.5  # seconds between two looks at one's place; whoever left is noticed as often
NOTHING = 0.02  # seconds: who had the device for less found nothing left to do
REMEMBERED = 8  # units whose times make the estimate


class Ticket:
    """A place in the line, from asking to leaving."""

    def __init__(self, line: "Turnstile", visitor: str) -> None:
        """Asked for by a visitor."""
        self._line, self.visitor = line, visitor

    def waits(self) -> Iterator[InLine]:
        """Where it stands, at once and every now and then, until its turn has come; nothing where it is free."""
        pause = 0.0
        while not self._line.comes(self, pause):
            yield self._line.spot(self)
            pause = TOLD_EVERY

    def again(self) -> None:
        """Give the device back, and wait in line once more: for the next unit of long work, which is never refused."""
        self._line.again(self)


class Turnstile:
    """Lets one through at a time.

    Long work waits in line for each of its units (a trajectory, a prompt that is mined), and visitors take turns
    however many tickets each has, so nobody waits for more than one unit of each other visitor.
    """

    def __init__(
        self,
        most_waiting: int = MOST_WAITING,
        clock: Callable[[], float] = time.monotonic,
        reserved: int = RESERVED,
    ) -> None:
        """At most so many wait, the last `reserved` of them each the only one of its visitor."""
        self._most, self._clock, self._reserved = most_waiting, clock, reserved
        self._changed = threading.Condition()
        self._waiting = OrderedDict[str, deque[Ticket]]()  # by visitor, those first whose turn is next
        self._through: Ticket | None = None
        self._began, self._times = 0.0, deque[float](maxlen=REMEMBERED)

    @property
    def waiting(self) -> int:
        """How many wait."""
        with self._changed:
            return sum(map(len, self._waiting.values()))

    @contextmanager
    def ticket(self, visitor: str, most: int | None = None, where: str = "in other tabs") -> Iterator[Ticket]:
        """Wait in line, at most `most` times at once; leaving gives back the place, or the device. `where` says
        where the others may be.

        Raises:
            ConfigError: too many wait already.
        """
        ticket = Ticket(self, visitor)
        with self._changed:
            own = self._waiting.get(visitor, deque())
            if most is not None and len(own) >= most:
                raise ConfigError(f"{most} runs of yours are waiting already, perhaps {where}: that is the limit.")
            there = own or (self._through is not None and self._through.visitor == visitor)
            limit = self._most - self._reserved if there else self._most
            if sum(map(len, self._waiting.values())) >= limit and self._through is not None:
                raise ConfigError(f"{limit} runs are waiting already, which is the limit. Try again in a minute.")
            self._waiting.setdefault(visitor, deque()).append(ticket)
            self._call()
        try:
            yield ticket
        finally:
            self._leave(ticket)

    def comes(self, ticket: Ticket, seconds: float) -> bool:
        """Whether its turn comes within so many seconds."""
        with self._changed:
            return self._changed.wait_for(lambda: self._through is ticket, seconds)

    def again(self, ticket: Ticket) -> None:
        """See `Ticket.again`."""
        with self._changed:
            if self._through is ticket:
                self._waiting.setdefault(ticket.visitor, deque()).append(ticket)
                self._free()

    def spot(self, ticket: Ticket) -> InLine:
        """Where a ticket stands, if each visitor before it takes one turn for each of its own."""
        with self._changed:
            own = self._waiting.get(ticket.visitor, deque())
            behind = own.index(ticket) if ticket in own else 0
            place, before = 1 + behind, True
            served = self._through and self._through.visitor  # goes to the end once it leaves
            for visitor, tickets in sorted(self._waiting.items(), key=lambda pair: pair[0] == served):
                if visitor == ticket.visitor:
                    before = False
                else:
                    place += min(len(tickets), behind + before)
            if not self._times:
                return {"place": place, "seconds": None}
            unit = sum(self._times) / len(self._times)
            left = max(0.0, unit - (self._clock() - self._began))
            return {"place": place, "seconds": (place - 1) * unit + left}

    def _call(self) -> None:
        """Let the next one through, if the device is free."""
        if self._through is None and self._waiting:
            visitor, tickets = next(iter(self._waiting.items()))
            self._through, self._began = tickets.popleft(), self._clock()
            if tickets:
                self._waiting.move_to_end(visitor)
            else:
                del self._waiting[visitor]
            self._changed.notify_all()

    def _free(self) -> None:
        """Take the device from the one who has it, whose visitor has just had a turn."""
        assert self._through is not None
        visitor = self._through.visitor
        if (spent := self._clock() - self._began) > NOTHING:
            self._times.append(spent)
        self._through = None
        if visitor in self._waiting:
            self._waiting.move_to_end(visitor)
        self._call()

    def _leave(self, ticket: Ticket) -> None:
        with self._changed:
            if self._through is ticket:
                self._free()
            elif ticket in (own := self._waiting.get(ticket.visitor, deque())):
                own.remove(ticket)
                if not own:
                    del self._waiting[ticket.visitor]
