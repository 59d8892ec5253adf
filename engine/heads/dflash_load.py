"""Load a DFlash drafter for a target, or say why it cannot be: checkpoints of github.com/z-lab/dflash and our own have
one layout; those of speculators name the same tensors, keep the layer's sizes apart, and bring embeddings and an output
head of their own."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from engine.errors import AssetError, ModelMismatch
from engine.heads.dflash import DflashHead, DflashSpec, wanted
from engine.heads.eagle_load import UNUSED, map_fits
from engine.heads.files import block_of, check, count, fits, folder_of, place, read_config, read_weights
from engine.model import Model


def load_dflash(path: Path, target: Model) -> DflashHead:
    """A DFlash drafter, by folder or hub id.

    Raises:
        AssetError: files, names or shapes are wrong, or it is of a kind that the lab does not know. ModelMismatch: made
        for another target.
    """
    folder = folder_of(path)
    fits(folder, target)
    config, spec, found = plain(read_config(folder)), foreseen(folder, target), read_weights(folder)
    spec = replace(
        spec,
        own_embedding="embed_tokens.weight" in found,
        draft_vocab=count(config, "draft_vocab_size", target.vocab) if "lm_head.weight" in found else 0,
    )
    weights = check(found, wanted(spec), UNUSED)
    map_fits(weights)
    like = target.decoder.embed(torch.zeros(1, dtype=torch.long, device=target.device))
    return DflashHead(spec, place(weights, like), target.decoder, {"folder": folder.name, "taps": spec.taps})


def foreseen(folder: Path, target: Model) -> DflashSpec:
    """What a drafter's configuration says, checked against the target; no weights are read.

    Raises:
        AssetError: a value the lab cannot follow. ModelMismatch: another target's drafter.
    """
    return read_spec(plain(read_config(folder)), target)


def plain(config: Mapping[str, Any]) -> dict[str, Any]:
    """A configuration as github.com/z-lab/dflash writes it, from one of speculators, which numbers layers by their
    inputs.

    Raises:
        AssetError: another method of speculators, or blocks whose root is a place to fill too.
    """
    if "speculators_model_type" not in config:
        return dict(config)
    method, layer = config["speculators_model_type"], config.get("transformer_layer_config")
    if method != "dflash":
        raise AssetError(f"The drafter is one of speculators for {method!r}; dflash is known.")
    if not isinstance(layer, dict):
        raise AssetError("The drafter's transformer_layer_config must be a JSON object.")
    if config.get("sample_from_anchor"):
        raise AssetError(
            "The drafter draws a token for the root as well (sample_from_anchor), which is not known here."
        )
    taps = config.get("aux_hidden_state_layer_ids")
    ids = [tap - 1 if isinstance(tap, int) else tap for tap in taps] if isinstance(taps, list) else taps
    own = {"mask_token_id": config.get("mask_token_id"), "target_layer_ids": ids}
    rest = {name: config[name] for name in ("block_size", "draft_vocab_size") if name in config}
    return {**layer, **rest, "dflash_config": own}


def read_spec(config: Mapping[str, Any], target: Model) -> DflashSpec:
    """What the configuration says, checked against the target.

    Raises:
        AssetError: a value the lab cannot follow. ModelMismatch: another target's drafter.
    """
    own = config.get("dflash_config")
    if not isinstance(own, dict):
        raise AssetError("The drafter's config.json has no dflash_config, as those of github.com/z-lab/dflash have.")
    for key, ours, theirs in (
        ("hidden_size", target.width, "states {} wide"),
        ("vocab_size", target.vocab, "{} tokens"),
        ("num_target_layers", target.layers, "a target of {} layers"),
    ):
        if (given := count(config, key, ours)) != ours:
            raise ModelMismatch(
                f"The drafter knows {theirs.format(given)}, but {target.name} has {ours}: it was made for another "
                "target."
            )
    if config.get("hidden_act", "silu") != "silu" or config.get("attention_bias"):
        raise AssetError(
            f"The drafter has hidden_act = {config.get('hidden_act', 'silu')!r} and attention_bias = "
            f"{config.get('attention_bias', False)!r}; silu and false are known."
        )
    kinds = config.get("layer_types") or []
    if not isinstance(kinds, list):
        raise AssetError(f"The drafter's config.json has layer_types = {kinds!r}; a list of names is needed.")
    if "sliding_attention" in kinds:
        raise AssetError("The drafter has layers with a sliding window, which are not known here.")
    layers = count(config, "num_hidden_layers", most=256)
    return DflashSpec(
        block_of(config, target.width),
        layers,
        _taps(own.get("target_layer_ids", usual(target.layers, layers)), target),
        target.width,
        count({**own, **config}, "block_size", most=4096),
        _mask(own.get("mask_token_id"), target),
        target.vocab,
    )


def usual(target_layers: int, layers: int) -> list[int]:
    """The target's layers whose outputs are read where a configuration does not say, as the published code spreads
    them."""
    if layers == 1:
        return [target_layers // 2]
    return [round(1 + i * (target_layers - 4) / (layers - 1)) for i in range(layers)]


def _taps(ids: Any, target: Model) -> tuple[int, ...]:
    """The target's layers whose inputs are read: those behind the ones that the configuration names.

    Raises:
        AssetError: they are no layers. ModelMismatch: the target has not so many.
    """
    whole = isinstance(ids, list) and all(isinstance(i, int) and not isinstance(i, bool) for i in ids)
    if not whole or not ids or sorted(set(ids)) != ids or ids[0] < 0:
        raise AssetError(f"dflash_config.target_layer_ids must be rising layer numbers from 0, not {ids!r}.")
    if ids[-1] > target.layers - 2:
        raise ModelMismatch(
            f"The drafter reads what layer {ids[-1]} writes for the next, but the last of {target.name}, which writes "
            f"for none, is {target.layers - 1}: it was made for another target."
        )
    return tuple(i + 1 for i in ids)


def _mask(mask: Any, target: Model) -> int:
    """The id of the mask.

    Raises:
        AssetError: none is named, or it is no id of the target.
    """
    if not isinstance(mask, int) or isinstance(mask, bool) or not 0 <= mask < target.vocab:
        raise AssetError(f"dflash_config.mask_token_id must be an id from 0 to {target.vocab - 1}, not {mask!r}.")
    return mask
