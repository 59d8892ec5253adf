"""A ZeroGPU Space: what stays on the CPU, what is loaded before the fork, what is lent; and a start under the real `spaces`."""

import importlib.util
import json
import os
import subprocess
import sys
import time
import urllib.request
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import gradio
import pytest

from app import zerogpu
from app.request import build
from app.service import Service
from app.state import Limits
from engine.errors import AssetError, ConfigError
from engine.files.places import ROOT
from tests.app.fakes import FakeLab, free_port
from tests.app.synthetic import CARDS


def requirements(name: str) -> list[str]:
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def test_the_embedded_pair_stays_on_the_cpu_of_such_a_space(monkeypatch):
    ours, others = (
        {"target": "assets/tiny/target", "draft": "assets/tiny/draft"},
        {"target": "org/model", "draft": "assets/tiny/draft"},
    )
    monkeypatch.setenv("SPACES_ZERO_GPU", "true")
    usual = {"device": "auto", "target_device": "", "draft_device": "cuda:1", "threads": "1"}
    stays = usual | {"device": "cpu", "target_device": "cpu", "draft_device": "cpu"}
    assert [zerogpu.placed(m, usual) for m in (ours, others, {})] == [stays, usual, usual]
    monkeypatch.delenv("SPACES_ZERO_GPU")
    assert zerogpu.placed(ours, usual) == usual


def test_heads_are_loaded_before_anything_is_borrowed(monkeypatch):
    monkeypatch.setattr(zerogpu, "LABS", {})
    lab = FakeLab()
    zerogpu.prepare({"pair": lab})
    assert lab.prepared and list(zerogpu.LABS) == ["pair"] and zerogpu.LABS["pair"] is lab


@pytest.mark.parametrize(("device", "lent"), [("cpu", False), ("cuda", True)])
def test_only_runs_on_the_gpu_are_lent(device, lent):
    lab, asked = FakeLab(device=device), []

    def turns(models, request):
        asked.append(models)
        return iter(())

    service = Service(CARDS, {"pair": lambda: lab}, turns=turns)
    given = {"prompt": "hello", "lanes": ["plain"], "models": "pair", "id": "a" * 32, "max_new_tokens": 4}
    messages = list(service.run(build(given, service.cards, service.models, service.limits)))
    assert asked == (["pair"] if lent else [])
    assert any("ev" in message for message in messages) is not lent


def lending(monkeypatch, gpu):
    """A service whose models are on a GPU that `gpu`, in place of the decorator of `spaces`, lends."""
    monkeypatch.setitem(sys.modules, "spaces", SimpleNamespace(GPU=lambda duration: gpu))
    lab = FakeLab(device="cuda")
    monkeypatch.setattr(zerogpu, "LABS", {"pair": lab})
    return lab, Service(CARDS, {"pair": lambda: lab}, turns=zerogpu.borrowed())


def asked(*lanes):
    given = {"prompt": "hello", "lanes": list(lanes), "models": "pair", "id": "a" * 32, "max_new_tokens": 40}
    return build(given, CARDS, ["pair"], Limits())


def in_a_fork(task):
    """As `spaces` has it: of an exception in the process that works only its kind comes back."""

    def handler(*args):
        try:
            yield from task(*args)
        except Exception as error:
            raise gradio.Error(type(error).__name__, title="ZeroGPU worker error") from None

    return handler


def test_a_loan_that_is_refused_is_told_in_its_own_words(monkeypatch):
    def refuses(_task):
        def handler(*_):
            raise gradio.Error("You have exceeded your quota.<br>Try <b>later</b>.", title="ZeroGPU quota exceeded")
            yield

        return handler

    _, service = lending(monkeypatch, refuses)
    with pytest.raises(ConfigError, match=r"^ZeroGPU quota exceeded: You have exceeded your quota\. Try later\."):
        list(service.run(asked("plain")))


def test_a_run_that_cannot_start_on_a_lent_device_says_why(monkeypatch):
    lab, service = lending(monkeypatch, in_a_fork)

    def stream(method, **_):
        raise AssetError("It has no such head.")

    monkeypatch.setattr(lab, "stream", stream)
    with pytest.raises(ConfigError, match=r"^It has no such head\.$"):
        list(service.run(asked("plain")))


def test_a_loan_that_ends_within_a_run_ends_every_lane_with_its_reason(monkeypatch):
    closed = []

    def lapses(task):
        def handler(*args):
            try:
                for number, item in enumerate(task(*args)):
                    if number == 8:
                        raise gradio.Error("GPU task aborted", title="ZeroGPU worker error")
                    yield item
            finally:
                closed.append(True)

        return handler

    _, service = lending(monkeypatch, lapses)
    messages = list(service.run(asked("plain", "chain")))
    events = [pair for message in messages for pair in message.get("ev", ())]
    ends = {key: event for key, event in events if event["kind"] == "end"}
    assert set(ends) == {"plain", "chain"} and messages[-1]["done"]
    assert all(end["reason"] == "error" and "GPU task aborted" in end["message"] for end in ends.values())
    left = service.run(replace(asked("plain"), run="b" * 32))
    while "ev" not in next(left):
        pass
    left.close()
    assert closed == [True, True], "the device is given back once its visitor has left"


def test_the_pin_is_the_only_difference_of_the_spaces_requirements():
    plain, pinned = requirements("requirements.txt"), requirements("requirements-zerogpu.txt")
    assert [a for a in plain if a not in pinned] == [a for a in plain if a.startswith("torch")]
    (torch,) = (a for a in pinned if a not in plain)
    assert torch.startswith("torch==")


def answer(url: str, seconds: float, process: subprocess.Popen) -> dict:
    """The JSON at an address, once there is one."""
    end = time.monotonic() + seconds
    while time.monotonic() < end and process.poll() is None:
        try:
            with urllib.request.urlopen(url, timeout=2) as found:
                return json.load(found)
        except OSError:
            time.sleep(0.5)
    raise AssertionError(f"no answer from {url}")


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.skipif(not importlib.util.find_spec("spaces"), reason="the spaces package is not installed")
def test_a_space_starts_and_runs_the_embedded_pair_without_a_loan(tmp_path):
    """A second pair goes to the emulated GPU with its head; the embedded one runs on the CPU, and no GPU is asked for."""
    from gradio_client import Client

    port, log = free_port(), tmp_path / "log"
    tiny = ROOT / "assets" / "tiny"
    flags = [
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
        "--target",
        str(tiny / "target"),
        "--draft",
        str(tiny / "draft"),
    ]
    flags += ["--asset", f"medusa={tiny / 'medusa'}"]
    script = Path(__file__).with_name("zerogpu_space.py")
    env = {k: v for k, v in os.environ.items() if k != "HF_DEACTIVATE_ASYNC_LOAD"}
    with log.open("w") as out:
        process = subprocess.Popen(
            [sys.executable, str(script), str(ROOT), str(tmp_path / "packed"), *flags], stdout=out, stderr=out, env=env
        )
    try:
        answer(f"http://127.0.0.1:{port}/healthz", 300, process)
        client = Client(f"http://127.0.0.1:{port}", verbose=False)
        runs = client.predict(["sd"], "1 + 1 =", "tiny", 8, api_name="/decode")
        assert [event["kind"] for event in runs["sd"]][-1] == "end", runs["sd"][-1]
    finally:
        process.terminate()
        process.wait(20)
        said = log.read_text(encoding="utf-8")
    assert "target: on cuda" in said and "tiny: on cpu" in said, said
    assert "asked /startup-report" in said and "asked /schedule" not in said
