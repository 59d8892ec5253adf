"""Which models and assets to load: from a preset's name, or from ids and folders; and loading the models."""

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace

from engine.config import LAB_OPTIONS, Calibration
from engine.drafters import DRAFTERS
from engine.errors import AssetError, ConfigError, shown, unknown
from engine.files.places import locate
from engine.files.presets import get_preset
from engine.forecast import Forecast
from engine.heads.mtp_load import brings
from engine.judge.client import Endpoint
from engine.judge.served import served_model
from engine.model import Model, bridge, load_model
from engine.model.checkpoint import weight_bytes
from engine.model.devices import accelerators, place
from engine.model.hub import fetch, local
from engine.progress import alone, loading, size_of
from engine.runs.assets import LOADERS, hub_files


@dataclass(frozen=True)
class Wanted:
    """Models and assets by role, as folders or hub ids. For just these models: defaults that were calibrated, by rule,
    and how often drafters hold, by drafter. `named`: the references themselves serve as the models' names. `languages`:
    of source and target, for models of several."""

    models: Mapping[str, str]
    assets: Mapping[str, str]
    dtype: str
    named: bool
    calibrated: Mapping[str, Calibration] = field(default_factory=dict)
    forecasts: Mapping[str, Forecast] = field(default_factory=dict)
    languages: str = ""


def wanted(
    preset: str | None, models: Mapping[str, str], assets: Mapping[str, str], dtype: str, languages: str = ""
) -> Wanted:
    """What a preset names, with `models` and `assets` in place of its own; or just those.

    Raises:
        ConfigError: neither or both of preset and target given, an unknown preset, option or role.
    """
    if (preset is None) == ("target" not in models):
        both = "Give either a preset's name or target=..., not both."
        raise ConfigError("Give a preset's name, or target=..." if preset is None else both)
    for role, ref in {**models, **assets}.items():
        if not ref.strip():
            raise ConfigError(f"The name of the {role} is empty: give a Hugging Face id or a folder.")
    calibrated: Mapping[str, Calibration] = {}
    forecasts: Mapping[str, Forecast] = {}
    if preset is not None:
        if "/" in str(preset):
            raise ConfigError(f"Unknown preset {str(preset)!r}: a folder or Hugging Face id is given as target.")
        found = get_preset(preset)
        found = found if found.kind == "pair" else get_preset(found.pair)  # a case names the preset of its models
        if not models:
            calibrated = found.calibrated
            forecasts = {name: one for name, one in found.forecasts.items() if assets.keys().isdisjoint(needs(name))}
        models, assets = {**found.models, **models}, {**found.assets, **assets}
        dtype = found.dtype if dtype == "auto" else dtype
    for role in assets:
        if (kind := role.split(":")[0]) not in LOADERS:
            raise ConfigError(unknown("option or asset role", kind, (*LAB_OPTIONS, *LOADERS)))
    return Wanted(models, assets, dtype, preset is not None, calibrated, forecasts, languages)


def references(given: Mapping[str, str | os.PathLike[str] | None]) -> dict[str, str]:
    """Folders and hub ids by role, of those that are given.

    Raises:
        ConfigError: one is neither a text nor a path.
    """
    for role, ref in given.items():
        if ref is not None and not isinstance(ref, str | os.PathLike):
            raise ConfigError(f"The {role} is named by a Hugging Face id or a folder, not by {shown(ref)}.")
    return {role: str(ref) for role, ref in given.items() if ref is not None}


def texts(settings: Mapping[str, object]) -> None:
    """Nothing where settings are texts.

    Raises:
        ConfigError: one is none.
    """
    for name, value in settings.items():
        if not isinstance(value, str):
            raise ConfigError(f"{name} must be a text, not {shown(value)}.")


def needs(drafter: str) -> tuple[str, ...]:
    """Roles of the models and assets that a drafter writes with.

    Raises:
        ConfigError: a preset's forecast is of no drafter.
    """
    if drafter not in DRAFTERS:
        raise ConfigError(unknown("drafter of a forecast", drafter, DRAFTERS))
    return DRAFTERS[drafter].NEEDS


def with_heads(found: Wanted) -> dict[str, str]:
    """The assets by role, and as "mtp" a head that the target, which is here by now, brings in its own files."""
    target = found.models["target"]
    folder = None if "mtp" in found.assets else local(locate(target))
    return {**found.assets, **({"mtp": target} if folder and brings(folder) else {})}


def fetch_models(models: Mapping[str, str]) -> None:
    """Bring what is on the hub here, model after model.

    Raises:
        AssetError: the hub does not give it. Stopped: nobody wants it any more.
    """
    for step, (role, ref) in enumerate(models.items(), 1):
        fetch(locate(ref), f"{role} {ref}", step, len(models))


def fetch_heads(assets: Mapping[str, str]) -> None:
    """Bring heads that are on the hub here too, so that no run holds a device for it. One that cannot be had is no
    fault yet: the methods that need it say so.

    Raises:
        Stopped: nobody wants it any more.
    """
    for role, ref in assets.items():
        if (names := hub_files(role, ref)) is not None:
            with suppress(AssetError):
                fetch(ref, f"{role} {ref}", also=names)


def places(found: Wanted, device: str, asked: Mapping[str, str]) -> dict[str, str]:
    """The device of each role, or several with commas between. "auto" looks where there is room, see
    `engine.model.devices.place`; otherwise all go where they are sent."""
    free = accelerators() if device == "auto" else {}
    if len(free) < 2:
        return {role: asked.get(role, device) for role in found.models}
    needed = {role: weight_bytes(locate(ref), found.dtype) for role, ref in found.models.items()}
    return {role: ",".join(chosen) for role, chosen in place(needed, free, asked).items()}


def load_models(
    found: Wanted,
    device: str,
    asked: Mapping[str, str] | None = None,
    graphs: str = "auto",
    endpoint: Endpoint | None = None,
) -> dict[str, Model]:
    """The models by role, "target" among them; `asked` are devices of roles that go before `device`;
    with an endpoint the target stays there. Of several threads each fetches what it needs, and one at a time reads.

    Raises:
        ConfigError: an unknown device or dtype. AssetError: files are missing. EngineFault: out of memory.
        ModelMismatch: the pair cannot work together, with the reason.
    """
    here = {role: ref for role, ref in found.models.items() if role != "target" or endpoint is None}
    fetch_models(here)
    fetch_heads(found.assets)
    loaded, done = dict[str, Model](), 0
    with alone():
        homes = places(replace(found, models=here), device, asked or {})
        for step, (role, ref) in enumerate(found.models.items(), 1):
            path = locate(ref)
            if role == "target" and endpoint is not None:
                loaded[role] = served_model(path, endpoint, ref)
                continue
            with loading(f"{role} {ref}", path, step, len(found.models), done):
                loaded[role] = load_model(
                    path,
                    homes[role],
                    found.dtype,
                    name=ref if found.named else "",
                    languages=found.languages,
                    graphs=graphs,
                )
            done += size_of(path) or 0
    for role, model in loaded.items():
        if role != "target":
            bridge(loaded["target"], model)
    return loaded
