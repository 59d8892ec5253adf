"""Heads, judges, trees and automata on disk: which loader reads which role. Weights are safetensors, data is JSON."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from engine.errors import ConfigError, unknown
from engine.judge.weights import load_judge
from engine.model import Model

Loader = Callable[[Path, Model], Any]
LOADERS: dict[str, Loader] = {"judge": load_judge}  # role (before a colon) -> loader


def load_asset(role: str, path: str, target: Model) -> Any:
    """Whatever the role's loader makes of a folder or file.

    Raises:
        ConfigError: no loader for that role.
        AssetError, ModelMismatch: from the loader.
    """
    kind = role.split(":")[0]
    if kind not in LOADERS:
        raise ConfigError(unknown("asset role", kind, LOADERS))
    return LOADERS[kind](Path(path), target)
