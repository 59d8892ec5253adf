"""Labs that are there, that come, that cannot, and that went."""

import threading
import time

import pytest

from app import continuing, labs, mining, repeats, several, trajectories
from app.labs import Labs
from app.service import Service
from engine.errors import AssetError, ConfigError
from tests.app.fakes import FakeLab, sentence
from tests.app.synthetic import CARDS
from tests.app.test_service import ask
from tests.app.test_turnstile import until


class Gate:
    """Loads a lab once it is let go."""

    def __init__(self, fault: Exception | None = None) -> None:
        self.lab, self.fault, self.begun, self.go, self.loads = (
            FakeLab(),
            fault,
            threading.Event(),
            threading.Event(),
            0,
        )

    def __call__(self) -> FakeLab:
        self.loads += 1
        self.begun.set()
        assert self.go.wait(20)
        if self.fault:
            raise self.fault
        return self.lab


@pytest.fixture
def gate(monkeypatch):
    monkeypatch.setattr(labs, "LOOKS", 0.02)
    gate = Gate()
    yield gate
    gate.go.set()


def test_runs_of_loaded_models_go_on_while_others_are_loaded(gate):
    service = Service(CARDS, {"fast": FakeLab, "slow": gate}, sentence)
    service.lab("fast")
    slow = service.run(ask(service, models="slow"))
    assert [next(slow)["phase"] for _ in range(3)] == ["loading"] * 3 and gate.begun.is_set()
    *_, last = service.run(ask(service, models="fast"))
    assert last["done"] and last["compared"]
    gate.go.set()
    *_, last = slow
    assert last["done"] and last["compared"] and gate.loads == 1


def test_all_who_ask_meanwhile_wait_for_one_loading(gate):
    service, found = Service(CARDS, {"slow": gate}, sentence), []
    threads = [threading.Thread(target=lambda: found.append(service.lab("slow"))) for _ in range(4)]
    for thread in threads:
        thread.start()
    assert gate.begun.wait(20)
    gate.go.set()
    for thread in threads:
        thread.join(20)
    assert found == [gate.lab] * 4 and gate.loads == 1


def test_no_pair_waits_for_the_download_of_another(gate):
    """What is read into memory takes turns by itself (`engine.progress.alone`)."""
    other = Gate()
    other.go.set()
    both = Labs({"far": gate, "near": other})
    coming = both.comes("far")
    next(coming)
    assert gate.begun.wait(20) and both.get("near") is other.lab
    gate.go.set()
    list(coming)
    assert both.there("far") is gate.lab


def test_a_run_is_stopped_while_its_models_are_loaded(gate):
    service = Service(CARDS, {"slow": gate}, sentence)
    request = ask(service, models="slow")
    run = service.run(request)
    assert [next(run)["phase"] for _ in range(2)] == ["loading"] * 2
    assert service.stop(request.run)
    (last,) = run
    assert last["done"] and last["compared"] is None
    gate.go.set()
    until(lambda: service.family("slow") is not None)  # who comes next has them


@pytest.mark.parametrize("room", [repeats, continuing, trajectories, mining])
def test_long_work_notices_who_has_gone_while_its_models_are_loaded(gate, room, tmp_path):
    service = Service(CARDS, {"slow": gate}, sentence)
    asked = {"prompt": "Once", "lanes": ["chain"]}
    if room is mining:
        folder = mining.Folder(tmp_path)
        given = {"key": "a" * 32, "models": "slow", "task": "arithmetic", "source": "heldout"}
        lines = mining.events(service, folder, mining.prepared(service, folder, given))
    elif room is continuing:
        job = continuing.parse(service, asked | {"prompt_ids": [1], "forced": [2]})
        lines = continuing.lines(service, sentence, job)
    else:
        kind = repeats.AskedRepeats if room is repeats else trajectories.AskedTrajectories
        lines = room.lines(service, several.parse(kind, service, asked | {"n": 2}))
    assert [next(lines)["kind"] for _ in range(4)] == ["queued"] * 4
    lines.close()


def test_why_models_cannot_be_loaded_is_told_to_all_and_the_next_one_tries_anew(gate):
    gate.fault = AssetError("weights.safetensors is damaged.")
    service = Service(CARDS, {"slow": gate}, sentence)
    runs = [service.run(ask(service, models="slow")) for _ in range(2)]
    for run in runs:
        assert [next(run)["phase"] for _ in range(2)] == ["loading"] * 2
    gate.go.set()
    for run in runs:
        with pytest.raises(AssetError, match="damaged"):
            list(run)
    gate.fault = None
    assert service.lab("slow") is gate.lab and gate.loads == 2


def test_a_run_of_a_pair_that_was_replaced_is_told_so(gate):
    service = Service(CARDS, {"own": gate}, sentence)
    service.take("A", FakeLab())
    request = ask(service, models="A")
    own = service.run(ask(service, models="own"))
    next(own)
    next(own)
    began = time.monotonic()
    service.take("B", FakeLab())
    assert time.monotonic() - began < 5, "though others are being loaded"
    with pytest.raises(ConfigError, match=r"^A is not here any more: other models were opened in its place"):
        list(service.run(request))
    assert service.models == ("own", "B")
