"""Load an EAGLE-2 or EAGLE-3 head for a target, or say why it cannot be: official checkpoints and our own have one
layout."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from engine.errors import AssetError, ModelMismatch, unknown
from engine.heads.block import Spec
from engine.heads.eagle import EagleHead, EagleSpec, Kind, names, tapped, wanted
from engine.heads.files import check, count, fits, folder_of, number, place, read_config, read_weights, sizes
from engine.model import Model

BUFFERS = ("rotary_emb.inv_freq",)  # old exports carry it; it follows from the config


def load_eagle2(path: Path, target: Model) -> EagleHead:
    """An EAGLE-1 or EAGLE-2 head, by folder or hub id.

    Raises:
        AssetError: files, names or shapes are wrong. ModelMismatch: made for another target.
    """
    return _load("eagle2", path, target)


def load_eagle3(path: Path, target: Model) -> EagleHead:
    """An EAGLE-3 head, by folder or hub id.

    Raises:
        AssetError: files, names or shapes are wrong. ModelMismatch: made for another target, or one of fewer than 7
        layers.
    """
    return _load("eagle3", path, target)


def _load(kind: Kind, path: Path, target: Model) -> EagleHead:
    if kind == "eagle3" and target.layers < 7:
        raise ModelMismatch(
            f"EAGLE-3 taps three different layers, so its target needs at least 7; {target.name} has {target.layers}."
        )
    folder = folder_of(path)
    fits(folder, target)
    config = read_config(folder)
    spec = read_spec(kind, config, target)
    found = read_weights(folder)
    _kind_fits(kind, found, folder)
    if kind == "eagle3" and "embed_tokens.weight" in found and not spec.own_embedding:
        raise AssetError(
            "The head brings embed_tokens.weight, but its config has no target_hidden_size that asks for it."
        )
    weights = check(found, wanted(spec), BUFFERS)
    _map_fits(weights)
    like = target.decoder.embed(torch.zeros(1, dtype=torch.long, device=target.device))
    return EagleHead(spec, place(weights, like), target.decoder, {"folder": folder.name, "taps": tapped(target.layers)})


def read_spec(kind: Kind, config: Mapping[str, Any], target: Model) -> EagleSpec:
    """What the configuration says, checked against the target.

    Raises:
        AssetError: a value the lab cannot follow. ModelMismatch: another target's head.
    """
    width, vocab = count(config, "hidden_size"), count(config, "vocab_size")
    heads = count(config, "num_attention_heads")
    if count(config, "num_hidden_layers", 1) != 1:
        raise AssetError(f"The head has {config['num_hidden_layers']} layers; EAGLE heads have one.")
    if config.get("hidden_act", "silu") != "silu":
        raise AssetError(f"The head's hidden_act is {config['hidden_act']!r}; only silu is known.")
    states = count(config, "target_hidden_size", width) if kind == "eagle3" else width
    if states != target.width:
        raise ModelMismatch(
            f"The head reads features {states} wide, but {target.name} has {target.width}: it was made for another "
            "target."
        )
    if vocab != target.vocab:
        raise ModelMismatch(
            f"The head knows {vocab} tokens, but {target.name} has {target.vocab}: it was made for another target."
        )
    draft = count(config, "draft_vocab_size", vocab) if kind == "eagle3" else vocab
    if draft > vocab:
        raise AssetError(f"The head's draft_vocab_size {draft} is larger than its vocab_size {vocab}.")
    block = sizes(
        Spec(
            width=width,
            mlp=count(config, "intermediate_size"),
            heads=heads,
            kv_heads=count(config, "num_key_value_heads", heads),
            channels=count(config, "head_dim", width // heads),
            eps=float(number(config, "rms_norm_eps", 1e-6)),
            context=count(config, "max_position_embeddings", 2048),
            **_rope(config),
        )
    )
    return EagleSpec(
        kind,
        block,
        states,
        vocab,
        draft,
        bias=bool(config.get("bias", True)),
        qkv_bias=bool(config.get("qkv_bias", config.get("attention_bias", False))),
        own_embedding="target_hidden_size" in config,
    )


def _rope(config: Mapping[str, Any]) -> dict[str, float]:
    """Rotary settings of the head's own config; never the target's."""
    scaling, newer = config.get("rope_scaling") or {}, config.get("rope_parameters") or {}
    if not isinstance(scaling, dict) or not isinstance(newer, dict):
        raise AssetError("The head's rope_scaling and rope_parameters must be JSON objects.")
    theta = float(number({**newer, **config}, "rope_theta", 10000.0))
    kind = scaling.get("rope_type", scaling.get("type", newer.get("rope_type", "default")))
    factor = {**newer, **scaling}.get("factor")
    if kind == "default":
        return {"theta": theta}
    if kind not in ("linear", "dynamic"):
        raise AssetError(unknown("rope scaling of a head", kind, ("default", "linear", "dynamic")))
    value = float(number({"factor": factor}, "factor"))
    return {"theta": theta, "stretch" if kind == "linear" else "dynamic": value}


def _kind_fits(kind: Kind, found: Mapping[str, Tensor], folder: Path) -> None:
    """Say so plainly when one kind of head is given as the other."""
    looks = "eagle3" if any(name.startswith("midlayer.") for name in found) else "eagle2"
    if any(name.startswith(("midlayer.", "layers.0.")) for name in found) and looks != kind:
        raise AssetError(
            f"{folder.name} holds an {looks.upper().replace('E2', 'E-2').replace('E3', 'E-3')} head, not one for "
            f"{kind!r}."
        )


def _map_fits(weights: Mapping[str, Tensor]) -> None:
    """The draft vocabulary: offsets that give strictly increasing target ids, the very ones that t2d marks.

    Raises:
        AssetError: they contradict each other, as when d2t holds ids instead of offsets.
    """
    ids = names(weights)
    if ids is None:
        return
    marked = weights["t2d"].bool()
    inside = bool((ids[1:] > ids[:-1]).all()) and int(ids[0]) >= 0 and int(ids[-1]) < len(marked)
    if not inside or int(marked.sum()) != len(ids) or not bool(marked[ids].all()):
        raise AssetError(
            "The head's d2t and t2d contradict each other: d2t holds offsets (target id - draft id), ids rising."
        )
