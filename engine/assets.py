"""Heads, judges, trees and automata on disk: which loader reads which role. Weights are safetensors, data is JSON."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from engine.errors import ConfigError, unknown
from engine.heads.eagle_load import load_eagle2, load_eagle3
from engine.heads.hydra import load_hydra
from engine.heads.medusa import load_medusa
from engine.judge.weights import load_judge
from engine.lookup.static import load_static
from engine.model import Model
from engine.strata import load_strata

Loader = Callable[[Path, Model], Any]
LOADERS: dict[str, Loader] = {  # role (before a colon) -> loader
    "judge": load_judge,
    "automaton": load_static,
    "eagle2": load_eagle2,
    "eagle3": load_eagle3,
    "medusa": load_medusa,
    "hydra": load_hydra,
    "strata": lambda path, target: load_strata(path),
}


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
