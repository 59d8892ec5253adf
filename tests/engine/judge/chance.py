"""Judges with random weights for labs of the zoo."""

from pathlib import Path

import torch

from engine.judge.kind import FeatureKind
from engine.judge.weights import Judge
from engine.lab import Lab


def give_judge(
    lab: Lab, folder: Path, kind: FeatureKind | None = None, role: str = "judge", seed: int = 0, **meta: object
) -> Judge:
    """Save a random judge for the lab's pair to `folder`, and name it there."""
    kind = kind or FeatureKind()
    models = {"target": lab.target} | lab.models
    width = sum(models[block.split(":")[0]].width for block in kind.blocks)
    weight = torch.randn(width, generator=torch.Generator().manual_seed(seed)) * 0.3
    described = {name: model.describe() for name, model in models.items()}
    judge = Judge(weight, 0.0, kind, 0.5, {"task": "toy", "models": described, **meta})
    judge.save(folder)
    lab.asset_paths[role] = str(folder)
    return judge
