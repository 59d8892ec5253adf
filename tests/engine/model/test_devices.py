"""Where models go is a function of numbers: one device each where it fits, the draft beside the target, else spread."""

import pytest
import torch

from engine.errors import ConfigError
from engine.model import devices
from engine.model.devices import accelerators, described, dtype_on, homes, pick_device, place, placement
from engine.runs import loading

GB = 10**9
TWO = {"cuda:0": 20 * GB, "cuda:1": 24 * GB}
PAIR = {"target": 14 * GB, "draft": 1 * GB}


@pytest.mark.parametrize(
    ("needed", "free", "asked", "placed"),
    [
        (PAIR, TWO, {}, {"target": ["cuda:1"], "draft": ["cuda:1"]}),  # where most is left, and beside it
        (PAIR, {"cuda:0": 17 * GB, "cuda:1": 17 * GB}, {}, {"target": ["cuda:0"], "draft": ["cuda:1"]}),  # no room beside
        (PAIR, {"cuda:0": 5 * GB}, {}, {"target": ["cuda:0"], "draft": ["cuda:0"]}),  # the only one there is
        (PAIR, TWO, {"target": "cuda:0"}, {"target": ["cuda:0"], "draft": ["cuda:0"]}),
        (PAIR, TWO, {"draft": "cpu"}, {"target": ["cuda:1"], "draft": ["cpu"]}),
        (PAIR, TWO, {"target": "cuda:0,cuda:1"}, {"target": ["cuda:0", "cuda:1"], "draft": ["cuda:0"]}),
        # only what fits nowhere is spread, over as few as hold it, in the order of the devices
        ({"target": 30 * GB}, {**TWO, "cuda:2": 23 * GB}, {}, {"target": ["cuda:1", "cuda:2"]}),
        ({"target": 50 * GB, "draft": GB}, {**TWO, "cuda:2": 23 * GB}, {}, {"target": [*TWO, "cuda:2"], "draft": ["cuda:0"]}),
        ({"target": 90 * GB}, TWO, {}, {"target": [*TWO]}),  # too much for all: loading tells
        ({"draft": 30 * GB, "target": 22 * GB}, {"cuda:0": 30 * GB, "cuda:1": 30 * GB, "cuda:2": 9 * GB}, {},
         {"target": ["cuda:0"], "draft": ["cuda:1", "cuda:2"]}),
    ],
)  # fmt: skip
def test_where_models_go(needed, free, asked, placed) -> None:
    assert {role: list(found) for role, found in place(needed, free, asked).items()} == placed


def test_a_spread_model_takes_memory_on_each_of_its_devices() -> None:
    """The target leaves nothing worth mentioning on its two, so the draft goes on the third."""
    free = {"cuda:0": 10 * GB, "cuda:1": 10 * GB, "cuda:2": 9 * GB}
    assert place({"target": 17 * GB, "draft": 2 * GB}, free)["draft"] == ("cuda:2",)


def test_auto_places_only_where_there_is_a_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    found = loading.wanted("tiny", {}, {}, "auto")
    assert loading.places(found, "cpu", {"draft": "cuda:1"}) == {"target": "cpu", "draft": "cuda:1"}
    monkeypatch.setattr(loading, "accelerators", lambda: {"cuda:0": GB})
    assert loading.places(found, "auto", {}) == {"target": "auto", "draft": "auto"}
    monkeypatch.setattr(loading, "accelerators", lambda: {"cuda:0": 10**7, "cuda:1": GB})
    assert loading.places(found, "auto", {}) == {"target": "cuda:1", "draft": "cuda:1"}
    assert loading.places(found, "cuda:0", {}) == {"target": "cuda:0", "draft": "cuda:0"}


def test_several_devices_must_be_gpus_of_one_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "_check", lambda device: None)
    assert homes("cuda:0, cuda:1") == [torch.device("cuda", 0), torch.device("cuda", 1)]
    for wrong in ("cuda:0,cuda:0", "cpu,cuda:0", "mps,mps", "cuda:0,xpu:1"):
        with pytest.raises(ConfigError, match="different GPUs of one kind"):
            homes(wrong)


@pytest.mark.skipif(torch.cuda.is_available() or torch.backends.mps.is_available(), reason="for machines without")
@pytest.mark.parametrize(
    ("name", "says"), [("mps", "no MPS device"), ("xpu", "no XPU device"), ("meta", "cannot be used")]
)
def test_what_is_not_there_is_said(name: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        pick_device(name)


def test_a_device_is_described_with_what_its_speed_hangs_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: f"A GPU, number {device.index}")
    assert described(torch.device("cuda:1")) == "cuda:1 (A GPU, number 1)"
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "AVX2")
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    assert described(torch.device("cpu")) == "cpu (x86_64, AVX2)"
    assert described(torch.device("mps")) == "mps"


def test_a_dtype_that_is_left_open_is_the_checkpoints_on_a_gpu_alone() -> None:
    assert (
        dtype_on(torch.device("cpu"), "auto") == torch.float32 and dtype_on(torch.device("cuda", 1), "auto") == "auto"
    )
    assert dtype_on(torch.device("cuda"), "float16") == dtype_on(torch.device("cpu"), "float16") == torch.float16


def test_a_spread_model_may_take_what_each_device_has_free(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "free", lambda device: 10 + (device.index or 0))
    first, last = (torch.device("cuda", i) for i in (0, 2))
    assert placement([last]) == {"device_map": {"": last}}
    assert placement([first, last]) == {"device_map": "auto", "max_memory": {0: 10, 2: 12}}


def test_of_gpus_those_are_there_that_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(devices, "free", lambda device: 5 + device.index)
    assert accelerators() == {"cuda:0": 5, "cuda:1": 6} and str(pick_device("auto")) == "cuda:0"
    assert str(pick_device("cuda:1")) == "cuda:1"
    with pytest.raises(ConfigError, match="there are 2 of that kind, counted from 0"):
        pick_device("cuda:2")
