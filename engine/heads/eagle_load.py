"""Load an EAGLE-2 or EAGLE-3 head for a target, or say why it cannot be: official checkpoints and our own have one
layout."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from engine.errors import AssetError, ModelMismatch
from engine.heads.eagle import SHALLOWEST, EagleHead, EagleSpec, Kind, names, tapped, wanted
from engine.heads.files import (
    block_of,
    check,
    count,
    fits,
    folder_of,
    place,
    read_config,
    read_weights,
)
from engine.model import Model

TAPS = "eagle_aux_hidden_state_layer_ids"
UNUSED = (
    "rotary_emb.inv_freq",  # old exports carry it; it follows from the config
    "verifier_norm.weight",  # of the target, beside it in training
    "verifier_lm_head.weight",
)


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
    folder = folder_of(path)
    fits(folder, target)
    spec = foreseen(kind, folder, target)
    found = renamed(read_weights(folder))
    _kind_fits(kind, found, folder)
    if kind == "eagle3":
        spec = replace(
            spec,
            own_embedding=spec.own_embedding or "embed_tokens.weight" in found,
            fc_bias="fc.bias" in found,
            norm_taps=spec.norm_taps or "input_norm.weight" in found,
        )
        if "d2t" in found and "t2d" not in found:
            ids = names(found)
            assert ids is not None
            found["t2d"] = torch.zeros(spec.vocab, dtype=torch.bool, device=ids.device)
            found["t2d"][ids.long().clamp(0, spec.vocab - 1)] = True  # of fractions, which are refused below
    weights = check(found, wanted(spec), UNUSED)
    map_fits(weights)
    like = target.decoder.embed(torch.zeros(1, dtype=torch.long, device=target.device))
    return EagleHead(spec, place(weights, like), target.decoder, {"folder": folder.name, "taps": spec.taps})


def foreseen(kind: Kind, folder: Path, target: Model) -> EagleSpec:
    """What a head's configuration says, checked against the target; no weights are read.

    Raises:
        AssetError: a value the lab cannot follow. ModelMismatch: another target's head.
    """
    return read_spec(kind, plain(read_config(folder)), target)


def plain(config: Mapping[str, Any]) -> dict[str, Any]:
    """A configuration as the EAGLE repository writes it, from one of speculators, which keeps the layer's apart, or of
    SpecForge, whose `eagle_config` numbers the layers by their outputs: [1, 46, 90] are the inputs of 2, 47 and 91.

    Raises:
        AssetError: another method of speculators, or a head that taps nothing.
    """
    method = config.get("speculators_model_type", "eagle3")
    if method != "eagle3":
        raise AssetError(f"The head is one of speculators for {method!r}; eagle3 is known.")
    layer, more = config.get("transformer_layer_config") or {}, config.get("eagle_config") or {}
    if not isinstance(layer, dict) or not isinstance(more, dict):
        raise AssetError("The head's transformer_layer_config and eagle_config must be JSON objects.")
    if more.get("use_aux_hidden_state", True) is not True:
        raise AssetError("The head reads no layers of its target (use_aux_hidden_state); EAGLE-3 reads three.")
    outputs = more.get(TAPS)
    if isinstance(outputs, list) and all(type(i) is int for i in outputs):
        more = {**more, TAPS: [i + 1 for i in outputs]}
    given = {name: value for name, value in config.items() if value is not None}
    return {**layer, **more, **given}


def renamed(found: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """EAGLE-3's layer as the EAGLE repository calls it; speculators and vLLM call it layers.0."""
    if "layers.0.hidden_norm.weight" not in found:
        return dict(found)
    return {
        f"midlayer.{name.removeprefix('layers.0.')}" if name.startswith("layers.0.") else name: tensor
        for name, tensor in found.items()
    }


def taps_of(config: Mapping[str, Any], target: Model) -> tuple[int, ...]:
    """The target's layers whose inputs the head reads: those that its config names, else the usual three.

    Raises:
        AssetError: they are no layers. ModelMismatch: the target has not so many.
    """
    ids = config.get(TAPS)
    if ids is None:
        return three(target, "EAGLE-3")
    whole = isinstance(ids, list) and all(isinstance(i, int) and not isinstance(i, bool) for i in ids)
    if not whole or not ids or sorted(set(ids)) != ids or ids[0] < 0:
        raise AssetError(f"{TAPS} must be rising layer numbers, not {ids!r}.")
    if ids[-1] > target.layers:
        raise ModelMismatch(
            f"The head reads layer {ids[-1]}, but {target.name} has {target.layers}: it was made for another target."
        )
    return tuple(ids)


def three(target: Model, reader: str) -> tuple[int, int, int]:
    """The three layers whose inputs are read unless a head says otherwise; `reader` is what reads them.

    Raises:
        ModelMismatch: the target has not so many that they are three.
    """
    if target.layers < SHALLOWEST:
        raise ModelMismatch(
            f"{reader} taps three different layers, so its target needs at least {SHALLOWEST}; {target.name} has "
            f"{target.layers}."
        )
    return tapped(target.layers)


def read_spec(kind: Kind, config: Mapping[str, Any], target: Model) -> EagleSpec:
    """What the configuration says, checked against the target.

    Raises:
        AssetError: a value the lab cannot follow. ModelMismatch: another target's head.
    """
    width, vocab = count(config, "hidden_size"), count(config, "vocab_size")
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
    block = block_of(config, width)
    return EagleSpec(
        kind,
        block,
        states,
        vocab,
        draft,
        bias=bool(config.get("bias", True)),
        qkv_bias=bool(config.get("qkv_bias", config.get("attention_bias", False))),
        own_embedding=width != states,
        taps=taps_of(config, target) if kind == "eagle3" else (),
        norm_first=bool(config.get("norm_before_residual", False)),
        norm_output=kind == "eagle3" and bool(config.get("norm_output", False)),
        norm_taps=kind == "eagle3" and bool(config.get("norm_before_fc", False)),
    )


def _kind_fits(kind: Kind, found: Mapping[str, Tensor], folder: Path) -> None:
    """Say so plainly when one kind of head is given as the other."""
    looks = "eagle3" if any(name.startswith("midlayer.") for name in found) else "eagle2"
    if any(name.startswith(("midlayer.", "layers.0.")) for name in found) and looks != kind:
        raise AssetError(
            f"{folder.name} holds an {looks.upper().replace('E2', 'E-2').replace('E3', 'E-3')} head, not one for "
            f"{kind!r}."
        )


def map_fits(weights: Mapping[str, Tensor]) -> None:
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
