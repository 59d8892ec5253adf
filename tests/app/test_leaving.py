"""Clients of a real server that go away: running or waiting, at every endpoint that runs something, they cost nothing more."""

import json
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import httpx
import pytest

from app import listened
from app.presets import PresetCatalogue
from app.rounds import Visitor
from app.serve import launch
from app.service import Service
from tests.app.fakes import FakeLab, free_port, sentence
from tests.app.synthetic import CARDS
from tests.app.test_turnstile import until

JSON = {"content-type": "application/json"}
TOKENS = 400
PATIENCE = 2.0  # seconds until a call that nobody listens to is ended
ARGUMENTS = [["plain", "chain"], "Once", "made-up", TOKENS, 0.0, 1.0, 0, 0, False, {}, []]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[FakeLab, Service, Any]]:
    lab = FakeLab()
    service = Service(CARDS, {"made-up": lambda: lab}, sentence)
    service.lab("made-up")
    catalogue = PresetCatalogue([], CARDS, sentence, service.limits, folder=tmp_path_factory.mktemp("presets"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(listened, "PATIENCE", PATIENCE)
        demo = launch(service, catalogue, sentence, host="127.0.0.1", port=free_port(), prevent_thread_lock=True)
    yield lab, service, demo
    demo.close()


@pytest.fixture
def lab(world: tuple[FakeLab, Service, Any]) -> FakeLab:
    world[0].pause = 0.02  # a run of 400 tokens takes eight seconds
    return world[0]


@pytest.fixture
def service(world: tuple[FakeLab, Service, Any]) -> Service:
    return world[1]


@pytest.fixture
def base(world: tuple[FakeLab, Service, Any]) -> str:
    return f"http://127.0.0.1:{world[2].server_port}"


@pytest.fixture
def queue(world: tuple[FakeLab, Service, Any]) -> Any:
    return world[2]._queue


Call = Callable[[httpx.Client], Any]


def api(name: str) -> Call:
    def call(http: httpx.Client) -> Any:
        event = http.post(f"/gradio_api/call/{name}", json={"data": ARGUMENTS}).json()["event_id"]
        return http.stream("GET", f"/gradio_api/call/{name}/{event}")

    return call


def page(http: httpx.Client) -> Any:
    session = secrets.token_hex(8)
    asked = {"prompt": "Once", "lanes": ["plain", "chain"], "max_new_tokens": TOKENS, "id": secrets.token_hex(16)}
    event = {"request": json.dumps({**asked, "visitor": secrets.token_hex(16)})}
    http.post("/gradio_api/queue/join", json={"data": [], "fn_index": 0, "session_hash": session, "event_data": event})
    return http.stream("GET", f"/gradio_api/queue/data?session_hash={session}")


def lines(path: str, **asked: Any) -> Call:
    return lambda http: http.stream("POST", path, json=asked)


CALLS = {
    "run": api("run"),
    "decode": api("decode"),
    "page": page,
    "trajectories": lines(
        "/lab/trajectories/live", prompt="Once", lanes=["chain"], n=3, max_new_tokens=TOKENS, visitor="a" * 32
    ),
    "repeat": lines("/lab/repeat", prompt="Once", lanes=["chain"], n=3, max_new_tokens=TOKENS, visitor="d" * 32),
    "continue": lines(
        "/lab/continue",
        prompt="Once",
        prompt_ids=[1, 2],
        forced=[3],
        lanes=["chain"],
        max_new_tokens=TOKENS,
        visitor="e" * 32,
    ),
    "mine": lines("/lab/mine", key="b" * 32, models="made-up", task="arithmetic", source="heldout", n=100),
}


@contextmanager
def held(service: Service, since: float | None = None) -> Iterator[None]:
    """The device taken, within two seconds: who had it before gives it back a moment behind its last stream."""
    since = time.monotonic() if since is None else since
    with service.line(Visitor("somebody")) as ticket:
        list(ticket.waits())
        assert time.monotonic() - since < 2, "somebody ran on"
        yield


@pytest.mark.parametrize("name", CALLS)
def test_who_leaves_while_it_runs_stops_it_within_a_round(base: str, name: str, service: Service, lab: FakeLab) -> None:
    lab.pause = 0.1 if name == "mine" else lab.pause
    with httpx.Client(base_url=base, timeout=30) as http, CALLS[name](http) as answer:
        parts = answer.iter_raw()
        until(lambda: (next(parts), bool(lab.open_streams))[1])
        left = time.monotonic()
    until(lambda: not lab.open_streams)
    with held(service, left):
        assert service._device.waiting == 0 and not lab.open_streams


@pytest.mark.parametrize("name", CALLS)
def test_who_leaves_while_it_waits_leaves_the_line(base: str, name: str, service: Service, lab: FakeLab) -> None:
    with held(service):
        with httpx.Client(base_url=base, timeout=30) as http, CALLS[name](http) as answer:
            parts = answer.iter_raw()
            until(lambda: (next(parts), service._device.waiting == 1)[1])
            left = time.monotonic()
        until(lambda: service._device.waiting == 0)
        assert time.monotonic() - left < 3 and not lab.open_streams


@pytest.mark.thorough
@pytest.mark.parametrize("name, waits", [("run", True), ("decode", False)])
def test_a_call_whose_answer_nobody_fetches_ends(
    base: str, name: str, waits: bool, service: Service, lab: FakeLab, queue: Any
) -> None:
    lab.pause = 0.1  # forty seconds
    with held(service) if waits else nullcontext(), httpx.Client(base_url=base, timeout=30) as http:
        event = http.post(f"/gradio_api/call/{name}", json={"data": ARGUMENTS}).json()["event_id"]
        until(lambda: service._device.waiting == 1 if waits else bool(lab.open_streams))
        asked = time.monotonic()
        until(lambda: service._device.waiting == 0 and not lab.open_streams)
        assert time.monotonic() - asked < PATIENCE + 5, "it ran on"
        assert event not in queue.pending_messages_per_session and event not in queue.pending_event_ids_session


@pytest.mark.thorough
@pytest.mark.parametrize("leaves", [False, True])
@pytest.mark.parametrize("name", ["run", "decode", "page"])
def test_gradio_forgets_a_session_whose_answer_was_fetched_or_left(
    base: str, name: str, leaves: bool, lab: FakeLab, queue: Any
) -> None:
    lab.pause = 0.02 if leaves else 0.0
    before = queue.pending_event_ids_session.keys() | set[str]()
    with httpx.Client(base_url=base, timeout=30) as http, CALLS[name](http) as answer:
        parts = answer.iter_raw()
        until(lambda: (next(parts), bool(lab.open_streams))[1]) if leaves else list(parts)
        assert queue.pending_event_ids_session.keys() - before
    until(lambda: not queue.pending_event_ids_session.keys() - before)
    assert not queue.pending_messages_per_session.keys() - before


def test_a_waiting_page_is_told_its_place_and_when_its_turn_may_be(base: str, service: Service) -> None:
    service._device._times.clear()  # of the tests before
    service._device._times.append(60.0)
    ready, told = threading.Event(), list[dict[str, Any]]()

    def wait() -> None:
        with httpx.Client(base_url=base, timeout=30) as http, lines("/lab/mine", **MINE)(http) as answer:
            for line in answer.iter_lines():
                told.append(json.loads(line))
                if "line" in told[-1]:
                    ready.set()
                    return

    with held(service):
        thread = threading.Thread(target=wait)
        thread.start()
        assert ready.wait(20)
        thread.join(20)
    assert told[0] == {"kind": "queued"}
    assert told[-1]["line"]["place"] == 1 and 0 < told[-1]["line"]["seconds"] < 60


MINE = {"key": "c" * 32, "models": "made-up", "task": "arithmetic", "source": "heldout", "n": 1}


def test_the_last_result_of_decode_is_the_whole(base: str, lab: FakeLab) -> None:
    lab.pause = 0.0
    with httpx.Client(base_url=base, timeout=30) as http, api("decode")(http) as answer:
        told = answer.read().decode()
    *_, last = [block for block in told.split("\n\n") if block]
    kind, data = last.split("\n", 1)
    traces = json.loads(data.removeprefix("data: "))[0]
    assert kind == "event: complete" and traces["chain"][-1]["reason"] == "limit"


@contextmanager
def crowd(service: Service, base: str, many: int, call: Callable[[int], Call]) -> Iterator[list[str]]:
    """So many call at once while the device is taken; what they were told in the end, once they are let go."""
    said, threads = list[str](), list[threading.Thread]()

    def ask(number: int) -> None:
        with httpx.Client(base_url=base, timeout=60) as http, call(number)(http) as answer:
            said.append(answer.read().decode())

    with held(service):
        for number in range(many):
            threads.append(threading.Thread(target=ask, args=[number]))
            threads[-1].start()
        yield said
    for thread in threads:
        thread.join(60)


@pytest.mark.thorough
def test_programs_of_one_address_leave_room_for_others(base: str, service: Service, lab: FakeLab) -> None:
    """`run`, and repetitions of programs that give no key, which wait under their address too."""
    lab.pause = 0.0
    repeat = lines("/lab/repeat", prompt="Once", lanes=["chain"], n=2, max_new_tokens=5)
    with crowd(service, base, 20, lambda number: repeat if number % 2 else api("run")) as said:
        until(lambda: len(said) == 4)
        assert service._device.waiting == 16
        assert all("16 runs of yours are waiting already, perhaps of other programs" in text for text in said)
        with service.line(Visitor("elsewhere")):
            assert service._device.waiting == 17
    assert len(said) == 20


@pytest.mark.slow
def test_an_address_with_many_keys_leaves_places_for_others(base: str, service: Service, lab: FakeLab) -> None:
    lab.pause = 0.0

    def key(number: int) -> Call:
        return lines("/lab/repeat", prompt="Once", lanes=["chain"], n=2, max_new_tokens=5, visitor=f"{number:032x}")

    with crowd(service, base, 51, key) as said:
        until(lambda: len(said) == 3)
        assert service._device.waiting == 48
        assert all("48 runs of your address are waiting already, 16 places" in text for text in said)
        with service.line(Visitor("elsewhere")):
            assert service._device.waiting == 49
    assert sum('"repeated"' in text for text in said) == 48
