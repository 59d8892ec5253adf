"""The models that commands are run on."""

import pytest

from tests.engine.zoo import Zoo


@pytest.fixture(scope="session")
def pair(zoo: Zoo) -> list[str]:
    """Options that name a small random target and its noisy copy as the draft."""
    target = zoo.path("llama", layers=2, hidden=32)
    return ["--target", str(target), "--draft", str(zoo.draft_path(target, "noise", sigma=0.3)), "--device", "cpu"]
