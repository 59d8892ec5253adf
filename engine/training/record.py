"""What a run was: the facts a card needs, gathered from the run itself."""

from __future__ import annotations

import hashlib
from dataclasses import asdict
from importlib.metadata import version
from typing import Any

from transformers import PreTrainedTokenizerBase

from engine.training.data import STEPS_A_POOL, Corpus, Mix
from engine.training.trainer import Trainer


def digest(tokenizer: PreTrainedTokenizerBase, mix: Mix, seed: int, steps: int = STEPS_A_POOL) -> str:
    """sha256 over ids and weights of the first `steps` steps: generator, tokenizer, mix and seed."""
    corpus, total = Corpus(tokenizer, mix, seed), hashlib.sha256()
    for step in range(steps):
        for batch in corpus.batches(step):
            total.update(batch.ids.numpy().tobytes())
            total.update(batch.weights.numpy().tobytes())
    return total.hexdigest()


def describe(trainer: Trainer, hardware: str) -> dict[str, Any]:
    """The training record of a model, as JSON types."""
    settings, tokenizer = trainer.settings, trainer.corpus.tokenizer
    return {
        "commands": [_command(leg) for leg in trainer.history],
        "settings": asdict(settings),
        "progress": asdict(trainer.progress),
        "parameters": sum(p.numel() for p in trainer.parameters),
        "hardware": hardware,
        "data_steps": STEPS_A_POOL,
        "data_sha256": [digest(tokenizer, Mix(**leg["settings"]["mix"]), settings.seed) for leg in trainer.history],
        "versions": {name: version(name) for name in ("torch", "transformers", "tokenizers")},
    }


def _command(leg: dict[str, Any]) -> str:
    """The command of one leg of a run; a later one is a resumption at its step."""
    s = leg["settings"]
    budget = f"--steps {s['steps']}" if s["steps"] else f"--minutes {s['minutes']:g}"
    mix = " ".join(f"{name}={value:g}" for name, value in s["mix"].items())
    command = f"python -m engine.training train {s['shape']} {budget} --seed {s['seed']} --matrix-lr {s['matrix_lr']:g} --mix {mix}"
    return command if leg["from_step"] == 0 else f"{command} --resume (at step {leg['from_step']:,})"
