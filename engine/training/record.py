"""What a run was: the facts a card needs, gathered from the run itself."""

from __future__ import annotations

import hashlib
from dataclasses import asdict
from importlib.metadata import version
from typing import Any

from transformers import PreTrainedTokenizerBase

from engine.training.data import STEPS_A_POOL, Corpus, Mix
from engine.training.trainer import Progress, Settings


def digest(tokenizer: PreTrainedTokenizerBase, mix: Mix, seed: int, steps: int = STEPS_A_POOL) -> str:
    """sha256 over ids and weights of the first `steps` steps: generator, tokenizer, mix and seed."""
    corpus, total = Corpus(tokenizer, mix, seed), hashlib.sha256()
    for step in range(steps):
        for batch in corpus.batches(step):
            total.update(batch.ids.numpy().tobytes())
            total.update(batch.weights.numpy().tobytes())
    return total.hexdigest()


def describe(
    settings: Settings, progress: Progress, tokenizer: PreTrainedTokenizerBase, parameters: int, hardware: str
) -> dict[str, Any]:
    """The training record of a model, as JSON types."""
    budget = f"--steps {settings.steps}" if settings.steps else f"--minutes {settings.minutes:g}"
    return {
        "command": f"python -m engine.training train {settings.shape} {budget} --seed {settings.seed}",
        "settings": asdict(settings),
        "progress": asdict(progress),
        "parameters": parameters,
        "hardware": hardware,
        "data_steps": STEPS_A_POOL,
        "data_sha256": digest(tokenizer, settings.mix, settings.seed),
        "versions": {name: version(name) for name in ("torch", "transformers", "tokenizers")},
    }
