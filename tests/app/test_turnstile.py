"""Visitors in turns, one unit each; places and estimates; limits; and what is given back."""

import random
import threading
import time
from collections.abc import Callable

import pytest

from app.rounds import Visitor, address_of
from app.turnstile import MOST_PLACES, Ticket, Turnstile
from engine.errors import ConfigError


def until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.002)


class Clock:
    """A time that is set."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Line:
    """A turnstile whose tickets are held by hand; who is through is read, never waited for."""

    def __init__(self, most: int = 32) -> None:
        self.clock = Clock()
        self.gate = Turnstile(most, self.clock)
        self.held: dict[str, tuple[object, Ticket]] = {}

    def ask(self, name: str, address: str = "", key: str = "", stands: bool = True) -> None:
        manager = self.gate.ticket(Visitor(address or name, key))
        self.held[name] = (manager, manager.__enter__())
        if stands:
            self.held[name][1].enqueue()

    def filled(self, address: str, key: Callable[[int], str]) -> int:
        """How many places an address gets that asks until it is refused, each time with the next key."""
        for number in range(1000):
            try:
                self.ask(f"{address} {number}", address, key(number))
            except ConfigError:
                return number
        raise AssertionError

    def leave(self, name: str) -> None:
        manager, _ = self.held.pop(name)
        manager.__exit__(None, None, None)  # type: ignore[attr-defined]

    def again(self, name: str) -> None:
        self.held[name][1].again()

    @property
    def through(self) -> list[str]:
        return [name for name, (_, ticket) in self.held.items() if self.gate.comes(ticket, 0)]

    def places(self) -> dict[str, int]:
        waiting = [name for name in self.held if name not in self.through]
        return {name: self.gate.spot(self.held[name][1])["place"] for name in waiting}

    def order(self) -> list[str]:
        """Who comes, one after another, from the one who is through on."""
        out = []
        while self.held:
            (name,) = self.through
            out.append(name)
            self.leave(name)
        return out


def test_turns_come_in_the_order_of_asking() -> None:
    gate, order, threads = Turnstile(), list[int](), list[threading.Thread]()

    def ask(number: int) -> None:
        with gate.ticket(Visitor(str(number))) as ticket:
            assert all(spot["place"] >= 1 for spot in ticket.waits())
            order.append(number)

    with gate.ticket(Visitor("me")) as ticket:
        assert list(ticket.waits()) == []
        for number in range(12):
            threads.append(threading.Thread(target=ask, args=[number], daemon=True))
            threads[-1].start()
            until(lambda number=number: gate.waiting == number + 1)  # type: ignore[misc]
    for thread in threads:
        thread.join(20)
    assert order == list(range(12)) and gate.waiting == 0


def test_many_tabs_of_one_visitor_wait_as_one_visitor() -> None:
    line = Line()
    for tab in range(4):
        line.ask(f"tab{tab}", "eager")
    line.ask("other")
    line.ask("third")
    line.ask("third too", "third")
    assert line.places() == {"other": 1, "third": 2, "tab1": 3, "third too": 4, "tab2": 5, "tab3": 6}
    assert line.order() == ["tab0", "other", "third", "tab1", "third too", "tab2", "tab3"]


@pytest.mark.parametrize("seed", range(20))
def test_places_come_true(seed: int) -> None:
    """Whoever waits comes in the order that the places say, however many tickets each visitor has."""
    rng, line = random.Random(seed), Line()
    for number in range(12):
        line.ask(str(number), rng.choice("ab"), rng.choice("uvwxyz"))
        if rng.random() < 0.3:
            line.leave(line.through[0])
    said = line.places()
    assert sorted(said, key=said.__getitem__) == line.order()[1:]
    assert sorted(said.values()) == list(range(1, len(said) + 1))


def test_long_work_lets_everybody_through_between_its_units() -> None:
    line, done = Line(), list[str]()
    line.ask("miner")
    line.ask("a")
    line.ask("b")
    for _ in range(6):
        (name,) = line.through
        done.append(name)
        line.again(name)
    assert done == ["miner", "a", "b"] * 2


def test_long_work_is_never_refused_its_next_unit() -> None:
    line = Line(most=1)
    line.ask("miner")
    line.ask("a")
    line.again("miner")
    assert line.through == ["a"] and line.places() == {"miner": 1}
    with pytest.raises(ConfigError, match="1 runs are waiting already"):
        line.ask("b")
    assert line.order() == ["a", "miner"]


def test_at_most_thirty_two_wait_and_few_of_one_browser() -> None:
    line = Line()
    for number in range(33):
        line.ask(str(number))
    with pytest.raises(ConfigError, match="32 runs are waiting already, which is the limit"):
        line.ask("late")
    line.leave("0")
    line.ask("late")
    assert line.gate.waiting == 32
    tabs = Line()
    for number in range(9):
        tabs.ask(str(number), "me", "key")
    with pytest.raises(ConfigError, match="8 runs of yours are waiting already, perhaps in other tabs"):
        tabs.ask("tenth", "me", "key")


def test_made_up_keys_leave_places_for_other_addresses() -> None:
    line = Line(MOST_PLACES)
    assert line.filled("greedy", str) == 1 + 48, "three quarters, and one is through"
    with pytest.raises(ConfigError, match=r"^48 runs of your address are waiting already, 16 places are kept for oth"):
        line.ask("one more", "greedy", "new")
    for number in range(12):
        line.ask(f"visitor {number}")
    line.ask("visitor 0 again", "visitor 0")
    with pytest.raises(ConfigError, match=r"60 runs are waiting|48 runs of your address"):
        line.ask("one more", "greedy", "new")


def test_a_few_browsers_of_an_address_leave_places_for_its_others() -> None:
    """Each has eight while there is much room, fewer towards the end, and whoever has none is the last to be refused."""
    line = Line(MOST_PLACES)
    line.ask("through", "other")
    for browser in range(7):
        for tab in range(8):
            try:
                line.ask(f"{browser} {tab}", "class", str(browser))
            except ConfigError as refused:
                assert "of them yours" in str(refused) and browser >= 5
                break
    line.ask("late", "class", "late")


def test_turns_go_by_address_a_few_at_a_time() -> None:
    """Forty keys of one address take four turns for one of a visitor who is alone."""
    line = Line(MOST_PLACES)
    line.ask("first")
    for number in range(10):
        line.ask(f"k{number}", "greedy", str(number))
    line.ask("me")
    line.ask("me too", "me")
    assert line.places()["me"] == 5 and line.places()["me too"] == 10
    order = line.order()
    assert order.index("me") == 5 and order.index("me too") == 10
    assert [name for name in order if name[0] == "k"] == [f"k{number}" for number in range(10)]


def test_who_waits_for_models_has_a_place_but_no_turn() -> None:
    line = Line(most=2)
    line.ask("loads", stands=False)
    line.ask("a")
    assert line.through == ["a"] and line.gate.waiting == 1
    line.ask("b")
    with pytest.raises(ConfigError, match="2 runs are waiting already"):
        line.ask("c")
    line.leave("a")
    assert line.through == ["b"]
    line.held["loads"][1].enqueue()
    assert line.order() == ["b", "loads"] and line.gate.waiting == 0


@pytest.mark.parametrize(
    "host, address",
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:aaaa::1", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("testclient", "testclient"),
    ],
)
def test_a_network_that_one_subscriber_has_is_one_address(host: str, address: str) -> None:
    assert address_of(host) == address


def test_an_estimate_comes_from_the_times_of_others() -> None:
    line = Line()
    line.ask("first")
    line.ask("second")
    line.ask("third")
    assert line.gate.spot(line.held["second"][1]) == {"place": 1, "seconds": None}
    line.clock.now = 10.0
    line.leave("first")
    line.clock.now = 14.0
    assert line.gate.spot(line.held["third"][1]) == {"place": 1, "seconds": 6.0}
    line.ask("fourth")
    assert line.gate.spot(line.held["fourth"][1]) == {"place": 2, "seconds": 16.0}


def test_an_estimate_promises_nothing_while_a_unit_takes_longer_than_others_did() -> None:
    line = Line()
    for name in ("first", "second", "third", "fourth", "fifth"):
        line.ask(name)
    line.clock.now = 2.0
    line.leave("first")
    line.clock.now = 12.0
    line.leave("second")
    line.clock.now = 15.0
    assert line.gate.spot(line.held["fourth"][1])["seconds"] == 7.0, "as long as the one that took longer"
    assert line.gate.spot(line.held["fifth"][1])["seconds"] == 13.0
    line.clock.now = 22.0
    assert line.gate.spot(line.held["fourth"][1]) == {"place": 1, "seconds": None}, "longer than any"


def test_who_leaves_the_line_is_not_waited_for() -> None:
    line = Line()
    for name in ("a", "b", "c"):
        line.ask(name)
    line.leave("b")
    assert line.places() == {"c": 1}
    assert line.order() == ["a", "c"] and line.gate.waiting == 0


def test_an_error_gives_the_turn_back() -> None:
    gate = Turnstile()
    with pytest.raises(ZeroDivisionError), gate.ticket(Visitor("a")):
        raise ZeroDivisionError
    with gate.ticket(Visitor("b")) as ticket:
        assert list(ticket.waits()) == [] and gate.waiting == 0
