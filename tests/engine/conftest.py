"""Shared fixtures of the engine's tests: tiny random models (zoo) and table-driven toys, built once a session."""

from pathlib import Path

import pytest
import torch

from engine.lab import Lab
from tests.engine.crossed import Crossed
from tests.engine.toy import toy_lab
from tests.engine.zoo import Zoo


@pytest.fixture(autouse=True)
def _one_thread() -> None:
    """For each test anew: commands of training set another number, at which the tests behind them took several times as
    much of the processor."""
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def zoo(tmp_path_factory: pytest.TempPathFactory) -> Zoo:
    """Tiny random models by description: `zoo.lab("qwen2", draft="noise", seed=1)`, `zoo.model(...)`, `zoo.path(...)`."""
    return Zoo(tmp_path_factory.mktemp("zoo"))


@pytest.fixture(scope="session")
def crossed(tmp_path_factory: pytest.TempPathFactory) -> Crossed:
    """Tiny random encoder-decoders by family: `crossed.lab("bart")`, `crossed.model("t5")`, `crossed.plain("marian")`."""
    return Crossed(tmp_path_factory.mktemp("crossed"))


@pytest.fixture
def lab(zoo: Zoo) -> Lab:
    """A random 8-layer Llama, drafted for by a noised copy of itself."""
    return zoo.lab("llama", draft="noise")


@pytest.fixture(scope="session")
def tiny_folder(zoo: Zoo) -> Path:
    """Folder of a random 8-layer Llama with its tokenizer."""
    return zoo.path("llama")


@pytest.fixture
def toy() -> Lab:
    """A table-driven pair over five letters whose distributions are known exactly (tests/engine/toy.py)."""
    return toy_lab()
