"""The server ends while it works: threads are told and waited for, the status is the usual one, folders go."""

import http.client
import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Generator, Iterator
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import pytest
import uvicorn
from gradio import http_server

from app import labs, ndjson
from app.ending import ENDS, Ending
from app.patience import Patient
from app.service import Service
from engine import progress
from engine.errors import ConfigError
from tests.app.fakes import FakeLab, free_port, sentence
from tests.app.synthetic import CARDS
from tests.app.test_service import ask
from tests.app.test_turnstile import until


def test_the_end_waits_for_those_at_work_and_takes_no_more():
    end, go = Ending(), threading.Event()

    def work() -> None:
        with end.work():
            go.wait(20)

    thread = threading.Thread(target=work)
    thread.start()
    until(lambda: end._at_work == 1)
    assert not end.wait(0.01)
    with pytest.raises(ConfigError, match=ENDS), end.work():
        raise AssertionError("it began")
    go.set()
    assert end.wait(20)
    thread.join(20)


def test_a_start_that_is_slow_is_waited_for_and_one_that_fails_is_given_up_at_once(monkeypatch):
    """Gradio gave it five seconds, and the port of a busy machine was called taken."""
    go = threading.Event()
    monkeypatch.setattr(http_server, "time", SimpleNamespace(time=count(0, 6).__next__, sleep=time.sleep))

    class Slow(Patient):
        def run(self, sockets=None):
            self.started = go.wait(20)

    server = Slow(uvicorn.Config(""))
    threading.Timer(0.05, go.set).start()
    server.run_in_thread()
    assert server.started
    go.clear()

    class Failing(Patient):
        def run(self, sockets=None):
            """It ends, as where the port is taken."""

    began = time.monotonic()
    with pytest.raises(http_server.ServerFailedToStartError):
        Failing(uvicorn.Config("")).run_in_thread()
    assert time.monotonic() - began < 5


def test_what_is_watched_is_closed_with_who_watches():
    class Items:
        closed = False

        def __iter__(self) -> Iterator[int]:
            return self

        def __next__(self) -> int:
            return 1

        def close(self) -> None:
            self.closed = True

    items = Items()
    watched = Ending().watched(items)
    assert next(watched) == 1 and not items.closed
    assert isinstance(watched, Generator)
    watched.close()
    assert items.closed
    assert list(Ending().watched(iter([1, 2]))) == [1, 2], "what cannot be closed is read to its end"


@pytest.fixture
def end(monkeypatch):
    end = Ending()
    for module in ("ending", "labs", "ndjson", "service", "endpoint", "opening"):
        monkeypatch.setattr(f"app.{module}.ENDING", end)
    return end


def test_a_run_ends_within_its_round(end):
    lab = FakeLab()
    service = Service(CARDS, {"own": lambda: lab}, sentence)
    run = service.run(ask(service))
    assert any("ev" in message for message in iter(lambda: next(run), None) if "ev" in message)
    assert end.wait(0), "nobody works between two messages"
    with pytest.raises(ConfigError, match=ENDS):
        list(run)
    assert not lab.open_streams
    with pytest.raises(ConfigError, match=ENDS):
        list(service.run(ask(service)))


def test_loading_is_stopped(end, monkeypatch):
    monkeypatch.setattr(labs, "LOOKS", 0.02)

    def load() -> FakeLab:
        with progress.loading("target"):
            while True:
                progress.advance(1)
                time.sleep(0.01)

    service = Service(CARDS, {"own": load}, sentence)
    run = service.run(ask(service))
    assert [next(run)["phase"] for _ in range(2)] == ["loading"] * 2
    assert end.wait(20)
    with pytest.raises(ConfigError, match=ENDS):
        list(run)


def test_long_work_ends_at_its_next_line(end):
    closed = threading.Event()

    def lines():
        try:
            while True:
                yield {"kind": "row"}
                time.sleep(0.01)
        finally:
            closed.set()

    async def read() -> list[bytes]:
        found = []
        async for line in ndjson._lines(lines):
            found.append(line)
            end.comes.set()
        return found

    import asyncio

    *rows, last = asyncio.run(read())
    assert rows and json.loads(last) == {"kind": "error", "error": ENDS} and closed.is_set() and end.wait(20)


@pytest.mark.parametrize("status", [0, 1])
def test_who_goes_on_is_left_behind_and_folders_go(tmp_path, status):
    """In a process of its own, whose status is the one asked for though a thread works on."""
    code = (
        "import threading, time; from app import ending, scratch\n"
        "begun = threading.Event()\n"
        "def work():\n    with ending.ENDING.work(): begun.set(); time.sleep(60)\n"
        "threading.Thread(target=work).start(); begun.wait()\n"
        "print(scratch.fresh('x'), flush=True); ending.leave(scratch.clear, 0.1, "
        f"status={status})"
    )
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, env={"TMPDIR": str(tmp_path)}
    )
    assert done.returncode == status and time.monotonic() - began < 30, done.stderr
    assert done.stdout.startswith(str(tmp_path)) and not list(tmp_path.iterdir())


@pytest.mark.installed
@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
def test_the_lab_ends_as_usual_while_it_works(name: str, tmp_path: Path) -> None:
    import os

    port = free_port()
    command = [sys.executable, "-m", "app", "--host", "127.0.0.1", "--port", str(port)]
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    asked = {"prompt": "Q: 1", "lanes": ["medusa", "hydra"], "models": "tiny", "max_new_tokens": 1000, "n": 20}
    lines = []

    def run() -> None:
        http_ = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        http_.request("POST", "/lab/repeat", json.dumps(asked), {"Content-Type": "application/json"})
        answer = http_.getresponse()
        while line := answer.readline():
            lines.append(json.loads(line))

    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment, text=True) as lab:
        assert lab.stdout is not None
        while "Draftscope is on" not in (line := lab.stdout.readline()):
            assert line
        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        end = time.monotonic() + 120
        while not any(line["kind"] == "running" for line in lines):
            assert time.monotonic() < end
            time.sleep(0.05)
        lab.send_signal(getattr(signal, name))
        said = lab.stdout.read()
        assert lab.wait(60) == 0, said
    assert "terminate" not in said and "Traceback" not in said, said
    assert not [path for path in tmp_path.iterdir() if path.name.startswith("draftscope-app")]
