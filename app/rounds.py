"""Whose turn is next among many visitors of many addresses. No gradio, no torch.

A key that tells browsers apart is free, an address is not: so addresses come in rounds, in each with a few turns, of
another visitor each. Who makes up keys has no more turns than that, and a class behind one address is not one visitor.
"""

from collections import OrderedDict, deque
from dataclasses import dataclass, field
from ipaddress import IPv4Address, ip_address, ip_network
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")

TURNS = 4  # of an address, before the next has its own
HOME = 64  # bits of an address of version 6 that a provider gives away as one


class Visitor(NamedTuple):
    """Who asks: a browser, by the key that its tabs share, or with an empty key all programs of an address."""

    address: str = ""
    key: str = ""


NOBODY = Visitor()


def address_of(host: str) -> str:
    """What counts as one address: of version 6 the network that one subscriber has."""
    try:
        found = ip_address(host.partition("%")[0])
    except ValueError:  # a name, or nothing
        return host
    if isinstance(found, IPv4Address):
        return str(found)
    return str(found.ipv4_mapped or ip_network((found.packed, HOME), strict=False))


@dataclass
class _Crowd(Generic[T]):
    """Those of one address, by key, who is next first; `left`: how many turns they still have in this round."""

    waiting: OrderedDict[str, deque[T]] = field(default_factory=OrderedDict)
    left: int = 0


class Rounds(Generic[T]):
    """What visitors wait with, handed out turn by turn."""

    def __init__(self) -> None:
        """Nobody waits."""
        self._crowds = OrderedDict[str, _Crowd[T]]()

    def put(self, visitor: Visitor, item: T) -> None:
        """One more, behind all of its visitor's."""
        self._crowds.setdefault(visitor.address, _Crowd()).waiting.setdefault(visitor.key, deque()).append(item)

    def drop(self, visitor: Visitor, item: T) -> None:
        """One fewer, if it is there."""
        crowd = self._crowds.get(visitor.address, _Crowd())
        if item in (own := crowd.waiting.get(visitor.key, deque())):
            own.remove(item)
            self._tidy(visitor)

    def next(self) -> T | None:
        """The next one, who has a turn now; None where nobody waits."""
        if not self._crowds:
            return None
        address, crowd = next(iter(self._crowds.items()))
        crowd.left = min(crowd.left or TURNS, len(crowd.waiting)) - 1
        key, own = next(iter(crowd.waiting.items()))
        item = own.popleft()
        crowd.waiting.move_to_end(key)
        if not crowd.left:
            self._crowds.move_to_end(address)
        self._tidy(Visitor(address, key))
        return item

    def had(self, visitor: Visitor) -> None:
        """A turn of a visitor is over: who came meanwhile goes before, within an address and among them."""
        if crowd := self._crowds.get(visitor.address):
            if visitor.key in crowd.waiting:
                crowd.waiting.move_to_end(visitor.key)
            if not crowd.left:
                self._crowds.move_to_end(visitor.address)

    def order(self, served: Visitor | None) -> list[T]:
        """All in the order that they come in, if each takes one turn and the visitor who is served goes behind."""
        rest = Rounds[T]()
        for address, crowd in self._crowds.items():
            waiting = OrderedDict((key, deque(own)) for key, own in crowd.waiting.items())
            rest._crowds[address] = _Crowd(waiting, crowd.left)
        if served:
            rest.had(served)
        out = list[T]()
        while (item := rest.next()) is not None:
            out.append(item)
        return out

    def _tidy(self, visitor: Visitor) -> None:
        crowd = self._crowds[visitor.address]
        if not crowd.waiting[visitor.key]:
            del crowd.waiting[visitor.key]
        if not crowd.waiting:
            del self._crowds[visitor.address]
