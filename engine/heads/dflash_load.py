"""Load a DFlash drafter for a target, or say why it cannot be: checkpoints of github.com/z-lab/dflash and our own have
one layout."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from engine.errors import AssetError, ModelMismatch
from engine.heads.dflash import DflashHead, DflashSpec, wanted
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
    spec = read_spec(read_config(folder), target)
    weights = check(read_weights(folder), wanted(spec), ("rotary_emb.inv_freq",))
    like = target.decoder.embed(torch.zeros(1, dtype=torch.long, device=target.device))
    return DflashHead(
        spec, place(weights, like), target.decoder, target.vocab, {"folder": folder.name, "taps": spec.taps}
    )


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
    if "sliding_attention" in (config.get("layer_types") or ()):
        raise AssetError("The drafter has layers with a sliding window, which are not known here.")
    layers = count(config, "num_hidden_layers", most=256)
    return DflashSpec(
        block_of(config, target.width),
        layers,
        _taps(own.get("target_layer_ids", usual(target.layers, layers)), target),
        target.width,
        count({**own, **config}, "block_size", most=4096),
        _mask(own.get("mask_token_id"), target),
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
