"""One device, shared in turns by visitors: a unit of work each, in rounds (`app.rounds`). No gradio, no torch."""

import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from statistics import mean

from app.rounds import Rounds, Visitor
from app.wire.runs import InLine
from engine.errors import ConfigError

MOST_PLACES = 64
SHARE = 3  # an address has up to so many times the places that it leaves free: alone three quarters of all
MOST_TABS = 8  # places of one browser
MOST_PROGRAMS = 16  # of all programs of one address
TOLD_EVERY = 0.5  # seconds between two looks at one's place; whoever left is noticed as often
NOTHING = 0.02  # seconds: who had the device for less found nothing left to do
REMEMBERED = 8  # units whose times make the estimate

OTHERS = "of other programs at your address"  # where more runs of a program may be


class Ticket:
    """A place, from asking to leaving: first of one who may still wait for models, then in the line."""

    def __init__(self, line: "Turnstile", visitor: Visitor) -> None:
        """Asked for by a visitor."""
        self._line, self.visitor, self.stands = line, visitor, False

    def enqueue(self) -> None:
        """Stand in line from now on, where it does not yet."""
        self._line.enqueue(self)

    def waits(self) -> Iterator[InLine]:
        """Stand in line: where, at once and every now and then, until its turn has come; nothing where it is free."""
        self.enqueue()
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
    however many tickets each has, so nobody waits for more than one unit of each other visitor, and for few of each
    other address.
    """

    def __init__(self, most: int = MOST_PLACES, clock: Callable[[], float] = time.monotonic) -> None:
        """So many places, besides that of the one who is through."""
        self._most, self._clock = most, clock
        self._changed = threading.Condition()
        self._places = Counter[Visitor]()  # that are taken, that of the one who is through too
        self._rounds = Rounds[Ticket]()
        self._through: Ticket | None = None
        self._began, self._times = 0.0, deque[float](maxlen=REMEMBERED)

    @property
    def waiting(self) -> int:
        """How many places are taken by those who wait."""
        with self._changed:
            return self._taken().total()

    @property
    def idle(self) -> bool:
        """Whether nobody has the device or waits for it."""
        with self._changed:
            return not self._places

    @contextmanager
    def ticket(self, visitor: Visitor) -> Iterator[Ticket]:
        """Take a place; leaving gives it back, or the device.

        Raises:
            ConfigError: too many are taken already, by all, by this address or by this visitor.
        """
        ticket = Ticket(self, visitor)
        with self._changed:
            if refused := self._refusal(visitor):
                raise ConfigError(refused)
            self._places[visitor] += 1
        try:
            yield ticket
        finally:
            self._leave(ticket)

    def enqueue(self, ticket: Ticket) -> None:
        """See `Ticket.enqueue`."""
        with self._changed:
            if not ticket.stands:
                ticket.stands = True
                self._rounds.put(ticket.visitor, ticket)
                self._call()

    def comes(self, ticket: Ticket, seconds: float) -> bool:
        """Whether its turn comes within so many seconds."""
        with self._changed:
            return self._changed.wait_for(lambda: self._through is ticket, seconds)

    def again(self, ticket: Ticket) -> None:
        """See `Ticket.again`."""
        with self._changed:
            if self._through is ticket:
                self._rounds.put(ticket.visitor, ticket)
                self._free()

    def spot(self, ticket: Ticket) -> InLine:
        """Where a ticket stands, if each visitor before it takes one turn for each of its own."""
        with self._changed:
            order = self._rounds.order(self._through.visitor if self._through else None)
            place = 1 + (order.index(ticket) if ticket in order else 0)
            spent = self._clock() - self._began
            longer = [took for took in self._times if took > spent]
            if not longer:
                return {"place": place, "seconds": None}
            unit, left = mean(self._times), mean(longer) - spent
            return {"place": place, "seconds": (place - 1) * unit + left}

    def _taken(self) -> Counter[Visitor]:
        return self._places - Counter([self._through.visitor] if self._through else [])

    def _refusal(self, visitor: Visitor) -> str:
        """Why a visitor can have no place, or none more; empty where there is one."""
        taken = self._taken()
        free, own = self._most - taken.total(), taken[visitor]
        most, where = (MOST_TABS, "in other tabs") if visitor.key else (MOST_PROGRAMS, OTHERS)
        if own >= most:
            return f"{most} runs of yours are waiting already, perhaps {where}: that is the limit."
        if free <= 0:
            return f"{self._most} runs are waiting already, which is the limit. Try again in a minute."
        there = sum(n for who, n in taken.items() if who.address == visitor.address)
        room = -((there - SHARE * free) // (SHARE + 1))  # places that the address can still have, one after another
        if own >= room and (own or room <= 0):
            whose = f"{own} of them yours" if own else f"{free} places are kept for others"
            return f"{there} runs of your address are waiting already, {whose}. Try again in a minute."
        return ""

    def _call(self) -> None:
        """Let the next one through, if the device is free."""
        if self._through is None and (ticket := self._rounds.next()):
            self._through, self._began = ticket, self._clock()
            self._changed.notify_all()

    def _free(self) -> None:
        """Take the device from the one who has it, whose visitor has just had a turn."""
        assert self._through is not None
        if (spent := self._clock() - self._began) > NOTHING:
            self._times.append(spent)
        self._rounds.had(self._through.visitor)
        self._through = None
        self._call()

    def _leave(self, ticket: Ticket) -> None:
        with self._changed:
            self._places -= Counter([ticket.visitor])  # and no entry where nothing is left
            if self._through is ticket:
                self._free()
            else:
                self._rounds.drop(ticket.visitor, ticket)
