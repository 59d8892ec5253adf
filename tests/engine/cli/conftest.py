"""The models that commands are run on."""

from collections.abc import Iterator

import pytest

from tests.engine.once import loaded_once
from tests.engine.zoo import Zoo


@pytest.fixture(autouse=True)
def _once() -> Iterator[None]:
    with loaded_once():
        yield


@pytest.fixture(scope="session")
def pair(zoo: Zoo) -> list[str]:
    """Options that name a small random target and its noisy copy as the draft."""
    target = zoo.path("llama", layers=2, hidden=32)
    return ["--target", str(target), "--draft", str(zoo.draft_path(target, "noise", sigma=0.3)), "--device", "cpu"]
