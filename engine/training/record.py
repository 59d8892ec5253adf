"""What a run was: the facts a card needs, gathered from the run itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from importlib.metadata import version
from typing import Any

from engine.training.batches import STEPS_A_POOL
from engine.training.trainer import Trainer


def in_words(mix: dict[str, Any]) -> str:
    """A mix as an option."""
    return "--mix " + " ".join(f"{name}={value:g}" for name, value in mix.items())


def describe(
    trainer: Trainer,
    command: str = "train",
    mixed: Callable[[dict[str, Any]], str] = in_words,
) -> dict[str, Any]:
    """The training record of a model, as JSON types; `command` is the one that trains it, `mixed` says a
    mix in options."""
    settings, legs = trainer.settings, trainer.history
    pairs = zip([legs[0], *legs], legs, strict=False)
    first, *rest = [_command(command, leg, before, mixed(leg["settings"]["mix"])) for before, leg in pairs]
    return {
        "commands": [f"{first} {trainer.begun}".strip(), *rest],
        "settings": asdict(settings),
        "progress": asdict(trainer.progress),
        "parameters": sum(p.numel() for p in trainer.parameters),
        "hardware": trainer.hardware,
        "data_steps": STEPS_A_POOL,
        "data_sha256": [leg["data_sha256"] for leg in trainer.history],
        "versions": {name: version(name) for name in ("torch", "transformers", "tokenizers")},
    }


def _command(name: str, leg: dict[str, Any], before: dict[str, Any], mix: str) -> str:
    """The command of one leg of a run; a later one resumes, or grows, what the leg before it left."""
    s = leg["settings"]
    budget = f"--steps {s['steps']}" if s["steps"] else f"--minutes {s['minutes']:g}"
    options = f"--seed {s['seed']} --matrix-lr {s['matrix_lr']:g} {mix}"
    command = f"python -m engine.training {name} {s['shape']} {budget} {options}"
    if leg["from_step"] == 0:
        return command
    grown = s["shape"] != before["settings"]["shape"]
    how = f"--grow build/{before['settings']['shape']}" if grown else "--resume"
    return f"{command} {how} (at step {leg['from_step']:,})"
