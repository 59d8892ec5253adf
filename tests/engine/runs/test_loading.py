"""Pairs that are loaded by several threads at once: read one after another, fetched beside each other."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch
from transformers import AutoConfig

from engine import progress
from engine.lab import Lab
from engine.model import load_model
from engine.model.network import count
from engine.model.outline import outline
from engine.reward.model import load_reward
from engine.runs import loading
from tests.engine.reward.made import make_reward
from tests.engine.zoo import Zoo, make_model


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_model(tmp_path_factory.mktemp("models") / "plain", layers=2)


@pytest.fixture
def busy() -> Iterator[None]:
    """Another thread is loading."""
    holds, go = threading.Event(), threading.Event()

    def hold() -> None:
        with progress.alone():
            holds.set()
            assert go.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    assert holds.wait(20)
    yield
    go.set()
    thread.join(20)


def test_what_was_measured_of_a_pair_is_taken_for_that_pair_alone() -> None:
    own = loading.wanted("tiny", {}, {}, "auto")
    assert own.calibrated and own.forecasts
    other = loading.wanted("tiny", {"draft": "nobody/knows"}, {}, "auto")
    assert not other.calibrated and not other.forecasts
    assert other.models == {**own.models, "draft": "nobody/knows"} and other.assets == own.assets


def test_models_are_placed_by_room_only_where_no_device_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "accelerators", lambda: {"cuda:0": 10, "cuda:1": 2})
    monkeypatch.setattr(loading, "weight_bytes", lambda ref, dtype: 1)
    found = loading.wanted("tiny", {}, {}, "auto")
    assert loading.places(found, "auto", {}) == {"target": "cuda:0", "draft": "cuda:0"}
    assert loading.places(found, "cpu", {"draft": "cuda:1"}) == {"target": "cpu", "draft": "cuda:1"}


@pytest.mark.thorough
def test_threads_may_load_at_once(folder: Path) -> None:
    """transformers sets torch's default dtype, and whether weights are tied, for all threads while it reads some."""
    tied = make_model(folder.parent / "tied", layers=2, tie_word_embeddings=True)

    def load(number: int) -> str:
        if number % 3 == 2:
            return outline(str(tied), dtype="bfloat16").model.dtype
        return Lab.load(target=(folder, tied)[number % 2], dtype="bfloat16", device="cpu").target.dtype

    with ThreadPoolExecutor(6) as pool:
        assert set(pool.map(load, range(36))) == {"bfloat16"}
    assert torch.get_default_dtype() == torch.float32


@pytest.fixture
def ways(folder: Path, zoo: Zoo) -> dict[str, Callable[[], object]]:
    """What builds a network."""
    config, target = AutoConfig.from_pretrained(folder), zoo.lab().target
    reward = make_reward(folder.parent / "reward", "tokens2")
    return {
        "model": lambda: load_model(folder),
        "outline": lambda: outline(str(folder)),
        "count": lambda: count(config),
        "reward": lambda: load_reward(reward, target),
    }


@pytest.mark.parametrize("way", ["model", "outline", "count", "reward"])
def test_whatever_builds_a_network_waits_for_others(
    way: str, ways: dict[str, Callable[[], object]], busy: None
) -> None:
    stop = threading.Event()
    stop.set()
    with progress.stoppable(stop), pytest.raises(progress.Stopped):
        ways[way]()


def test_a_download_does_not_hold_up_what_is_here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go = threading.Event(), threading.Event()

    def slow(*_: object) -> None:
        if threading.current_thread() is thread:
            begun.set()
            assert go.wait(60)

    monkeypatch.setattr(loading, "fetch", slow)
    labs = list[Lab]()
    thread = threading.Thread(target=lambda: labs.append(Lab.load(target=folder, device="cpu")))
    thread.start()
    assert begun.wait(20)
    assert Lab.load(target=folder, device="cpu") and not labs
    go.set()
    thread.join(60)
    assert labs


def test_memory_is_looked_at_when_nobody_else_loads(folder: Path, monkeypatch: pytest.MonkeyPatch, busy: None) -> None:
    looked = list[str]()
    monkeypatch.setattr(loading, "places", lambda *_: looked.append("looked"))
    stop = threading.Event()
    stop.set()
    with progress.stoppable(stop), pytest.raises(progress.Stopped):
        Lab.load(target=folder)
    assert not looked
