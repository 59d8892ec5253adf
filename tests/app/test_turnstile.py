"""First come, first served, one unit at a time."""

import threading
import time
from collections.abc import Callable

import pytest

from app.turnstile import Turnstile
from engine.errors import ConfigError


def until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.002)


def started(work: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def test_turns_come_in_the_order_of_asking() -> None:
    gate, order, threads = Turnstile(), list[int](), list[threading.Thread]()

    def ask(number: int) -> None:
        with gate.turn():
            order.append(number)

    with gate.turn():
        for number in range(12):
            threads.append(started(lambda number=number: ask(number)))  # type: ignore[misc]
            until(lambda number=number: gate.waiting == number + 1)  # type: ignore[misc]
    for thread in threads:
        thread.join(20)
    assert order == list(range(12)) and gate.waiting == 0


def test_long_work_lets_everybody_through_between_its_units() -> None:
    gate, done = Turnstile(), list[str]()

    def units(name: str, ready: threading.Event, count: int) -> None:
        for _ in range(count):
            with gate.turn():
                done.append(name)
                ready.wait(20)

    first, other = threading.Event(), threading.Event()
    other.set()
    miner = started(lambda: units("miner", first, 5))
    until(lambda: done == ["miner"])
    visitors = []
    for name in ("a", "b"):
        visitors.append(started(lambda name=name: units(name, other, 2)))  # type: ignore[misc]
        until(lambda: gate.waiting == len(visitors))
    first.set()
    for thread in (miner, *visitors):
        thread.join(20)
    assert done[:4] == ["miner", "a", "b", "miner"] and sorted(done) == ["a"] * 2 + ["b"] * 2 + ["miner"] * 5


def test_too_many_are_refused_and_an_error_gives_the_turn_back() -> None:
    gate = Turnstile(most_waiting=2)
    entered = threading.Event()

    def hold() -> None:
        with gate.turn():
            entered.wait(20)

    threads = [started(hold) for _ in range(3)]
    until(lambda: gate.waiting == 2)
    with pytest.raises(ConfigError, match="2 runs are waiting already"), gate.turn():
        raise AssertionError
    entered.set()
    for thread in threads:
        thread.join(20)
    with pytest.raises(ZeroDivisionError), gate.turn():
        raise ZeroDivisionError
    with gate.turn():
        assert gate.waiting == 0
