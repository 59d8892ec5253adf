"""Many at once: large files are read a few at a time, and whatever else is asked for is answered meanwhile."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from app import build, pooled, routes
from app.endpoint import READERS

BINARY = {"content-type": "application/octet-stream"}


class Busy:
    """Stands in for work that takes until it may `end`, and a while; `most` is how many did it at once."""

    def __init__(self, answer: Any) -> None:
        self.now, self.most, self._answer, self._lock = 0, 0, answer, threading.Lock()
        self.end = threading.Event()

    def __call__(self, *_: Any) -> Any:
        with self._lock:
            self.now += 1
            self.most = max(self.most, self.now)
        self.end.wait(60)
        time.sleep(0.05)
        with self._lock:
            self.now -= 1
        return self._answer


@pytest.fixture
def client(base: str) -> Iterator[httpx.Client]:
    """One for all that is asked: each reads the certificates anew."""
    with httpx.Client(base_url=base, timeout=30) as one:
        yield one


@pytest.mark.thorough
def test_files_are_read_a_few_at_a_time(client: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    busy = Busy({"lanes": []})
    for module, name in ((routes, "open_traces"), (pooled, "pooled"), (build, "open_traces")):
        monkeypatch.setattr(module, name, busy)

    def sent(number: int) -> int:
        path = "/lab/open" if number % 2 else "/lab/pooled"
        return client.post(path, content=b"x", headers=BINARY).status_code

    with ThreadPoolExecutor(50) as threads:
        answers = [threads.submit(sent, number) for number in range(50)]
        try:
            while busy.now < READERS:
                time.sleep(0.01)
            time.sleep(0.3)  # for the others to arrive
            assert client.get("/lab-static/store.js", timeout=15).status_code == 200, "those who wait take no thread"
        finally:
            busy.end.set()
        assert [answer.result() for answer in answers] == [200] * 50
    assert busy.most == READERS
    busy.most = 0

    def called(_: int) -> int:
        event = client.post("/gradio_api/call/load_trace", json={"data": ["x"]}).json()["event_id"]
        return client.get(f"/gradio_api/call/load_trace/{event}").status_code

    with ThreadPoolExecutor(6) as threads:
        assert list(threads.map(called, range(6))) == [200] * 6
    assert 1 <= busy.most <= READERS
