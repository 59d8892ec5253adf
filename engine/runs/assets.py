"""Heads, judges, trees and automata on disk: which loader reads which role. Weights are safetensors, data is JSON."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from engine.errors import ConfigError, LabError, ModelMismatch, unknown
from engine.files.places import a_file, there
from engine.heads import dflash_load, eagle_load, files, hydra, medusa
from engine.heads.dflash_load import load_dflash
from engine.heads.eagle_load import load_eagle2, load_eagle3
from engine.heads.mtp_load import load_mtp
from engine.heads.parallel import META as MASKS
from engine.heads.parallel import load_parallel
from engine.judge import weights
from engine.judge.weights import load_judge
from engine.lookup.static import load_static
from engine.model import Model
from engine.model.hub import INDEX
from engine.nat.files import load_nat
from engine.reward.likelihood import LINE, META
from engine.reward.model import WEIGHTS as REWARD_WEIGHTS
from engine.reward.model import load_reward
from engine.strata.bins import load_strata

Loader = Callable[[Path, Model], Any]
SYSTEMS = ("cmlm", "glat_ctc", "dat", "rewrite_nat")  # non-autoregressive ones
LOADERS: dict[str, Loader] = {  # role (before a colon) -> loader
    "judge": load_judge,
    "automaton": load_static,
    "eagle2": load_eagle2,
    "eagle3": load_eagle3,
    "medusa": medusa.load_medusa,
    "hydra": hydra.load_hydra,
    "prm": load_reward,
    "mtp": load_mtp,
    "dflash": load_dflash,
    "parallel": load_parallel,
    "strata": lambda path, target: load_strata(path, target.revision),
    **dict.fromkeys(SYSTEMS, load_nat),
}
CONFIGURED: dict[str, Loader] = {  # role -> what its configuration says, held against the target before weights are
    "eagle2": lambda path, target: eagle_load.foreseen("eagle2", path, target),
    "eagle3": lambda path, target: eagle_load.foreseen("eagle3", path, target),
    "dflash": dflash_load.foreseen,
}
CONFIG = ("config.json",)
HEADS: dict[str, tuple[str, ...]] = {  # role -> its weights, under any of these names; a hub id will do too
    "eagle2": (*files.WEIGHTS, INDEX),
    "eagle3": (*files.WEIGHTS, INDEX),
    "mtp": (*files.WEIGHTS, INDEX),
    "dflash": (*files.WEIGHTS, INDEX),
    "medusa": (*files.WEIGHTS, *medusa.FILES),
    "hydra": (*files.WEIGHTS, *hydra.FILES),
    **dict.fromkeys(SYSTEMS, (*files.WEIGHTS, INDEX)),
}
FILES: dict[str, tuple[tuple[str, ...], ...]] = {  # role -> what its folder holds, each under any of its names
    "judge": ((weights.META,), (weights.WEIGHTS,)),
    "automaton": (("automaton.safetensors",), ("card.json",)),
    "strata": (("strata.json",),),
    "parallel": (CONFIG, (MASKS,), (*files.WEIGHTS, INDEX)),
    "prm": ((*CONFIG, META), (*REWARD_WEIGHTS, LINE)),
    **{kind: (CONFIG, names) for kind, names in HEADS.items()},
}


def load_asset(role: str, path: str, target: Model) -> Any:
    """Whatever the role's loader makes of a folder or file.

    Raises:
        ConfigError: no loader for that role.
        AssetError, ModelMismatch: from the loader; or it is another non-autoregressive system than the role's.
    """
    kind = kind_of(role)
    asset = LOADERS[kind](Path(path), target)
    if kind in SYSTEMS and asset.kind != kind:
        raise ModelMismatch(f"{path} holds the system {asset.kind!r}, and {kind!r} was asked for.")
    return asset


def kind_of(role: str) -> str:
    """The loader's name in a role: "judge" of "judge:arithmetic".

    Raises:
        ConfigError: no loader for that role.
    """
    kind = role.split(":")[0]
    if kind not in LOADERS:
        raise ConfigError(unknown("asset role", kind, LOADERS))
    return kind


def hub_files(role: str, path: str) -> tuple[str, ...] | None:
    """Names that an asset's weights have on the hub; None of one that is here, or that is never there."""
    kind, place = kind_of(role), Path(path)
    if kind not in (*HEADS, "prm") or there(place) or place.is_absolute() or path.count("/") != 1:
        return None
    return HEADS.get(kind, ())


def obstacle(role: str, path: str, target: Model) -> str:
    """What speaks against an asset before any weights are read: files that are missing, another target by its
    record or configuration; empty is nothing.

    A hub id is taken to be there, and whether a judge fits is for the run that uses it (it can be forced).
    """
    kind, place = kind_of(role), Path(path)
    if not there(place):
        return f"{path} is missing." if hub_files(role, path) is None else ""
    if kind != "strata" and (said := a_file(path, f"an asset {kind!r}", FILES[kind][0])):
        return said
    if place.is_dir() or kind != "strata":
        gone = [names for names in FILES[kind] if not any((place / name).is_file() for name in names)]
        if gone:
            return f"{path} has no {' or '.join(gone[0])}."
    try:
        if kind in HEADS:
            files.fits(place, target)
            if kind in CONFIGURED:
                CONFIGURED[kind](place, target)
        elif kind == "strata":
            load_strata(place, target.revision)
    except LabError as error:
        return str(error)
    return ""


def describe(ref: str, path: str, asset: Any) -> dict[str, str]:
    """An asset as a trace names it: id, and the sha256 of its weights (of its JSON where it has none) or its hub
    commit."""
    place = Path(path)
    name = place.name if Path(ref).is_absolute() else ref
    if not place.exists():
        return {"id": name, "revision": str((getattr(asset, "card", None) or {}).get("folder", ""))}
    digest = hashlib.sha256()
    for file in _weights(place):
        with file.open("rb") as handle:
            while block := handle.read(1 << 20):
                digest.update(block)
    return {"id": name, "revision": "sha256:" + digest.hexdigest()[:16]}


def _weights(place: Path) -> list[Path]:
    """The file itself, or those of a folder that hold the weights."""
    if place.is_file():
        return [place]
    found = (sorted(place.glob(pattern)) for pattern in ("*.safetensors", "*.bin", "*.pt", "*.json"))
    return next((some for some in found if some), [])
