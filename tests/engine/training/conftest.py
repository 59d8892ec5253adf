"""What the tests of heads train on."""

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from engine.training import eagle
from engine.training.features import Features, _states
from engine.training.heads import TrainingContext
from tests.engine.zoo import Zoo


@pytest.fixture
def context(zoo: Zoo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TrainingContext:
    """Twelve texts of a random target, with a draft vocabulary smaller than its own."""
    monkeypatch.setattr(eagle, "DRAFT_VOCAB", 24)
    model = zoo.model("llama", vocab=32)
    rng = torch.Generator().manual_seed(0)
    lines = [
        ([3 + i, 4, 5][: 2 + i % 2], torch.randint(3, 32, (5 + i % 4,), generator=rng).tolist()) for i in range(12)
    ]
    save_file(_states(model, lines), tmp_path / "part-0000.safetensors")
    (tmp_path / "features.json").write_text(
        json.dumps({"target": model.revision, "texts": 12, "greedy": 0.5, "seed": 0})
    )
    return TrainingContext(model, Features(tmp_path), 0, "cpu")
