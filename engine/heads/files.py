"""Weights of a head on disk: a folder or a hub id, a config, exactly the tensors that are wanted, nothing random.

The reference code of EAGLE loads with strict=False, so a renamed tensor is silently random; here every name and shape
is checked.
"""

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import load_file
from torch import Tensor

from engine.errors import AssetError, ModelMismatch, first_line, unknown
from engine.files.documents import read_object
from engine.files.places import a_file, near
from engine.heads.block import Llama3, Spec, Yarn
from engine.model import Model
from engine.model.hub import INDEX

WEIGHTS = ("model.safetensors", "pytorch_model.bin")
SHARDS = ("model-*-of-*.safetensors", "model.safetensors-*-of-*.safetensors")
RECORDS = ("training.json", "card.json")
MAPS = ("d2t", "t2d")  # whole numbers; all other tensors are fractions
MOST = 2**24  # of any size that a configuration names


def folder_of(path: Path, names: tuple[str, ...] = ()) -> Path:
    """The folder itself, or a hub repository's files in the local cache.

    Raises:
        AssetError: neither.
    """
    if path.is_dir():
        return path
    ref = str(path)
    if said := a_file(ref, "a head"):
        raise AssetError(said)
    if path.is_absolute() or ref.count("/") != 1:
        raise AssetError(f"There is no head in {ref}: the folder does not exist.{near(ref)}")
    from huggingface_hub import snapshot_download  # noqa: PLC0415  (only for hub ids)

    try:
        return Path(snapshot_download(ref, allow_patterns=["config.json", *RECORDS, *WEIGHTS, INDEX, *SHARDS, *names]))
    except (OSError, ValueError) as error:
        said = f"Neither a folder here nor a head that the hub gives: {ref!r}. ({first_line(error)})"
        raise AssetError(said) from None


def made_for(folder: Path) -> str:
    """Revision of the target that the head's own record names; empty where none does, as with official heads."""
    for name in RECORDS:
        try:
            record = read_object(folder / name)
        except AssetError:
            continue
        record = record.get("training", record)
        made = record.get("target") if isinstance(record, dict) else None
        if isinstance(made, str) and made:
            return made
    return ""


def fits(folder: Path, target: Model) -> None:
    """Nothing when the head may stand on this target: it was made for it, or does not say for which.

    Raises:
        ModelMismatch: its record names another target.
    """
    made = made_for(folder)
    if made and target.revision and made != target.revision:
        raise ModelMismatch(
            f"The head in {folder.name} was trained on the target {made}, not on {target.name} ({target.revision}). "
            "Train one for this target with `python -m engine.training features` and `head`, or load the target that "
            "it was made for."
        )


def read_config(folder: Path) -> dict[str, Any]:
    """config.json as a mapping.

    Raises:
        AssetError: missing or no JSON object.
    """
    try:
        return read_object(folder / "config.json")
    except AssetError as error:
        raise AssetError(f"The head in {folder} has no usable config.json: {error}") from None


def number(config: Mapping[str, Any], key: str, default: int | float | None = None) -> Any:
    """A positive number of a configuration.

    Raises:
        AssetError: missing without a default, or not a positive number.
    """
    value = config.get(key)
    if value is None:
        value = default
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
        raise AssetError(f"The head's config.json has {key} = {value!r}; a positive number is needed.")
    return value


def count(config: Mapping[str, Any], key: str, default: int | None = None, most: int = MOST) -> int:
    """A whole number of a configuration, from 1 to `most`.

    Raises:
        AssetError: missing without a default, or something else.
    """
    value = number(config, key, default)
    if value != int(value) or value > most:
        raise AssetError(f"The head's config.json has {key} = {value!r}; it must be an integer from 1 to {most}.")
    return int(value)


def held(config: Mapping[str, Any], key: str, heads: int) -> None:
    """Nothing when a file holds as many heads as its configuration says, or more, as published ones do.

    Raises:
        AssetError: fewer.
    """
    if (said := count(config, key, 1)) > heads:
        raise AssetError(f"The file holds {heads} of the {said} heads that its config.json names ({key}).")


def read_weights(folder: Path, names: tuple[str, ...] = ()) -> dict[str, Tensor]:
    """All tensors of the folder's weight file (WEIGHTS, then `names`), or of the several that its index names; a
    pickle only with weights_only.

    Raises:
        AssetError: there is none, or it cannot be read.
    """
    if (folder / INDEX).is_file():
        return read_named(folder, names_in(folder))
    for name in (*WEIGHTS, *names):
        file = folder / name
        if not file.is_file():
            continue
        try:
            found = (
                load_file(file)
                if file.suffix == ".safetensors"
                else torch.load(file, map_location="cpu", weights_only=True)
            )
        except Exception as error:  # safetensors, zip and pickle each raise their own kinds
            raise AssetError(f"{file} cannot be read: {str(error)[:200]}.") from None
        if not isinstance(found, dict) or not all(isinstance(t, Tensor) for t in found.values()):
            raise AssetError(f"{file} holds something else than named tensors.")
        return found
    raise AssetError(f"There are no weights in {folder}: {' or '.join((*WEIGHTS, *names))} is needed.")


def read_named(folder: Path, names: set[str]) -> dict[str, Tensor]:
    """Some of the tensors in a folder's safetensors, one file or several; the others are not read.

    Raises:
        AssetError: the files cannot be read, or do not hold them.
    """
    placed = _index(folder) if (folder / INDEX).is_file() else dict.fromkeys(names, WEIGHTS[0])
    kept: dict[str, Tensor] = {}
    for name in sorted({placed[tensor] for tensor in names}):
        try:
            with safe_open(folder / name, "pt") as file:
                inside = set(file.keys())
                kept |= {t: file.get_tensor(t) for t in names if placed[t] == name and t in inside}
        except Exception as error:  # safetensors raises its own kinds
            raise AssetError(f"{folder / name} cannot be read: {str(error)[:200]}.") from None
    if lost := sorted(names - kept.keys()):
        raise AssetError(f"The files of {folder.name} lack {_some(lost)}.")
    return kept


def _index(folder: Path) -> dict[str, str]:
    """File of each tensor.

    Raises:
        AssetError: no such thing, or files outside the folder.
    """
    placed = read_object(folder / INDEX).get("weight_map")
    if not isinstance(placed, dict) or not all(
        isinstance(file, str) and Path(file).name == file and file.endswith(".safetensors") for file in placed.values()
    ):
        raise AssetError(f"{folder / INDEX} must have a weight_map from tensors to .safetensors files beside it.")
    return placed


def names_in(folder: Path) -> set[str]:
    """Names of the tensors in a folder's safetensors, read off the headers.

    Raises:
        AssetError: they cannot be read.
    """
    if (folder / INDEX).is_file():
        return set(_index(folder))
    try:
        with safe_open(folder / WEIGHTS[0], "pt") as file:
            return set(file.keys())
    except Exception as error:  # safetensors raises its own kinds
        raise AssetError(f"{folder / WEIGHTS[0]} cannot be read: {str(error)[:200]}.") from None


def check(
    found: Mapping[str, Tensor], wanted: Mapping[str, tuple[int, ...]], ignored: tuple[str, ...] = ()
) -> dict[str, Tensor]:
    """Exactly the wanted tensors; names that end in one of `ignored` (buffers) are left out.

    Raises:
        AssetError: a tensor is missing, unknown, or of another shape.
    """
    kept = {name: tensor for name, tensor in found.items() if not name.endswith(ignored)} if ignored else dict(found)
    missing, odd = sorted(wanted.keys() - kept.keys()), sorted(kept.keys() - wanted.keys())
    if missing:
        raise AssetError(f"The head lacks {_some(missing)}.")
    if odd:
        raise AssetError(f"The head has tensors of unknown names: {_some(odd)}.")
    for name, shape in wanted.items():
        if tuple(kept[name].shape) != shape:
            raise AssetError(f"The head's {name} has shape {list(kept[name].shape)}; its config says {list(shape)}.")
        if kept[name].is_floating_point() == (name in MAPS) or kept[name].is_complex():
            raise AssetError(f"The head's {name} holds {kept[name].dtype}, which is no type for it.")
        if not finite(kept[name]):
            raise AssetError(f"The head's {name} holds numbers that are infinite or not a number (NaN).")
    return kept


def finite(tensor: Tensor) -> bool:
    """Whether all numbers of a tensor are; no copy is made."""
    if not tensor.is_floating_point() or not tensor.numel():
        return True
    if tensor.element_size() == 1:  # eight-bit types have no comparison
        tensor = tensor.float()
    return all(math.isfinite(float(end)) for end in tensor.aminmax())


def sizes(spec: Spec) -> Spec:
    """The sizes of a block, where they go together.

    Raises:
        AssetError: heads or channels that cannot be shared out.
    """
    if spec.heads % spec.kv_heads:
        raise AssetError(
            f"The head's {spec.heads} attention heads are no multiple of its {spec.kv_heads} key-value heads."
        )
    if spec.channels % 2 or spec.channels < 4:
        raise AssetError(f"The head's head_dim is {spec.channels}; an even number from 4 is needed.")
    return spec


def block_of(config: Mapping[str, Any], width: int) -> Spec:
    """A Llama block as a head's configuration describes it, `width` channels wide.

    Raises:
        AssetError: sizes that are missing or do not go together, or a rotary scaling that is not known.
    """
    heads = count(config, "num_attention_heads")
    return sizes(
        Spec(
            width=width,
            mlp=count(config, "intermediate_size"),
            heads=heads,
            kv_heads=count(config, "num_key_value_heads", heads),
            channels=count(config, "head_dim", width // heads),
            eps=float(number(config, "rms_norm_eps", 1e-6)),
            context=count(config, "max_position_embeddings", 2048),
            **rotary(config),
        )
    )


def configured(spec: Spec) -> dict[str, Any]:
    """The sizes of a block in the words of a configuration, as `block_of` reads them; its rotation is plain."""
    return {
        "intermediate_size": spec.mlp,
        "num_attention_heads": spec.heads,
        "num_key_value_heads": spec.kv_heads,
        "head_dim": spec.channels,
        "rms_norm_eps": spec.eps,
        "rope_theta": spec.theta,
    }


def _some(names: list[str]) -> str:
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")


def place(weights: Mapping[str, Tensor], like: Tensor) -> dict[str, Tensor]:
    """On the device of `like`; floating tensors in its type."""
    return {
        n: t.to(like.device, like.dtype) if t.is_floating_point() else t.to(like.device) for n, t in weights.items()
    }


def rotary(config: Mapping[str, Any]) -> dict[str, Any]:
    """Rotary settings of the head's own config, as fields of `Spec`; never the target's.

    Raises:
        AssetError: a scaling that is not known, or numbers that it needs are missing.
    """
    scaling, newer = config.get("rope_scaling") or {}, config.get("rope_parameters") or {}
    if not isinstance(scaling, dict) or not isinstance(newer, dict):
        raise AssetError("The head's rope_scaling and rope_parameters must be JSON objects.")
    theta = float(number({**newer, **config}, "rope_theta", 10000.0))
    kind = scaling.get("rope_type", scaling.get("type", newer.get("rope_type", "default")))
    given = {**newer, **scaling}
    if kind == "default":
        return {"theta": theta}
    if not isinstance(kind, str) or kind not in ROPES:
        raise AssetError(unknown("rope scaling of a head", kind, ("default", *ROPES)))
    factor = float(number(given, "factor"))
    return {"theta": theta, **ROPES[kind](given, factor, config)}


def _llama3(given: Mapping[str, Any], factor: float, config: Mapping[str, Any]) -> dict[str, Any]:
    names = ("low_freq_factor", "high_freq_factor", "original_max_position_embeddings")
    low, high, context = (float(number(given, name)) for name in names)
    if high <= low:
        raise AssetError(f"The head's high_freq_factor = {high:g} must be larger than its low_freq_factor = {low:g}.")
    return {"llama3": Llama3(factor, low, high, context)}


def _yarn(given: Mapping[str, Any], factor: float, config: Mapping[str, Any]) -> dict[str, Any]:
    context = number(given, "original_max_position_embeddings", config.get("max_position_embeddings"))
    fast, slow = (float(number(given, name, usual)) for name, usual in (("beta_fast", 32), ("beta_slow", 1)))
    told, own = given.get("attention_factor"), 0.1 * math.log(factor) + 1 if factor > 1 else 1.0
    if given.get("mscale") or given.get("mscale_all_dim") or given.get("truncate", True) is not True:
        raise AssetError("The head's yarn has mscale, mscale_all_dim or truncate, which only other families use.")
    return {
        "yarn": Yarn(
            factor, float(context), fast, slow, own if told is None else float(number(given, "attention_factor"))
        )
    }


ROPES: dict[str, Callable[[Mapping[str, Any], float, Mapping[str, Any]], dict[str, Any]]] = {
    "linear": lambda given, factor, config: {"stretch": factor},
    "dynamic": lambda given, factor, config: {"dynamic": factor},
    "llama3": _llama3,
    "yarn": _yarn,
}
