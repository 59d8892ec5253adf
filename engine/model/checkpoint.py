"""What a checkpoint's files tell: which weights they are, how large, and whether a network got all of them."""

import hashlib
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import nn
from transformers import AutoConfig
from transformers.quantizers import AutoHfQuantizer

from engine import progress
from engine.errors import AssetError, LabError, ModelMismatch
from engine.model import network
from engine.model.devices import DTYPES, pick_device
from engine.model.fewbits import Packing
from engine.model.hub import commit_of, fault, missing, unpackable, zeros
from engine.model.misnamed import misnamed, missized
from engine.model.unpacking import packing_of
from engine.progress import size_of

SCALES = ("scales", "weight_scale", "weight_scale_inv", "weight_scale_2", "input_scale", "SCB")  # of packed weights


def revision_of(path: str | Path) -> str:
    """sha256 of the weights in a folder, or the commit of a hub checkpoint."""
    return hash_of(path) or commit_of(str(path))


def hash_of(path: str | Path) -> str:
    """sha256 of the weights in a folder, empty for what is none; the bytes that are read are told."""
    folder = Path(path)
    if not folder.is_dir():
        return ""
    digest = hashlib.sha256()
    for file in sorted(folder.glob("*.safetensors")):
        with file.open("rb") as handle:
            while block := handle.read(1 << 20):
                digest.update(block)
                progress.advance(len(block))
    return "sha256:" + digest.hexdigest()[:16]


def weight_bytes(ref: str, dtype: str = "auto") -> int:
    """Bytes that the weights of a checkpoint take, before they are loaded.

    Raises:
        AssetError: there is no such model. ModelMismatch: its weights are packed in a way that is not understood.
    """
    stored = size_of(ref) or 0
    try:
        config = AutoConfig.from_pretrained(ref, trust_remote_code=False)
        if not network.auto_classes(config):  # it writes no text, as loading says
            return stored
        if network.packed(config):
            kept = not unpacks(config, ref, pick_device("auto"))
        else:  # of a multimodal model the rest is not loaded
            kept = dtype == "auto" and network.text_config(config) is config
        if stored and kept:
            return stored
        kind = DTYPES.get(dtype) or network.dtype_of(config) or torch.float32
        return network.count(config) * int(kind.itemsize)
    except LabError:
        raise
    except Exception as error:  # transformers raises whatever it likes on damaged files
        reason = misnamed(ref, error)
        raise AssetError(missing(ref, reason)) from fault(reason)


def unpacks(config: Any, name: str, device: torch.device) -> bool:
    """Whether packed weights are unpacked at load.

    Raises:
        ModelMismatch: they cannot be loaded here, with the reason.
    """
    if packing_of(config, name):
        return True
    if not network.packed(config):
        return False
    try:
        quantizer = AutoHfQuantizer.from_config(network.packing_config(config), pre_quantized=True)
        quantizer.validate_environment(device_map={"": device})
    except Exception as error:  # each way of packing has its own kinds
        raise ModelMismatch(unpackable(name, network.packed(config), error)) from fault(error)
    return bool(getattr(quantizer.quantization_config, "dequantize", False))


def complete(info: Any, name: str, hf: Any) -> None:
    """Refuse weights that transformers would have filled in at random, and layers that it would have left out.

    Raises:
        AssetError: tensors are missing, or of another shape than the configuration says, or the files hold more layers;
            where the configuration has a size that no network has, that is told.
    """
    lost = sorted(str(key) for kind in ("missing_keys", "mismatched_keys") for key in info.get(kind) or ())
    odd = _beyond(sorted(info.get("unexpected_keys") or ()), hf)
    if (lost or odd) and (told := missized(hf.config.to_dict())):
        raise AssetError(f"{name} is not a complete model: {told}")
    if lost:
        raise AssetError(
            f"The weights of {name} are not complete: {len(lost)} tensors are missing or misshapen, such as {lost[0]}."
        )
    if odd:
        raise AssetError(
            f"The files of {name} hold more layers than its config.json says, such as {odd[0]}: without them it is "
            "another model."
        )


def _beyond(unexpected: Sequence[str], hf: nn.Module) -> list[str]:
    """Of tensors that nothing took those of layers behind the last one; heads that stand there, as DeepSeek's and GLM's
    for several tokens do, are for drafting (`engine.heads.mtp_load`)."""
    layers = {at: len(part) for at, part in hf.named_modules() if isinstance(part, nn.ModuleList)}
    found: list[str] = []
    for key in unexpected:
        for number in re.finditer(r"\.(\d+)\.", key):
            place, last = key[: number.start()], number.end()
            behind = int(number[1]) >= layers.get(place, sys.maxsize)
            if behind and not any(other.startswith(f"{key[:last]}eh_proj.") for other in unexpected):
                found.append(key)
    return found


def all_taken(info: Any, hf: Any, path: str, name: str, how: str, packing: Packing | None) -> None:
    """Refuse weights that are unpacked here with tensors beside them that the plain modules have no place for, such as
    AWQ's scales of activations; biases of nothing but zeros, as AutoGPTQ gives every layer, are none. And weights whose
    configuration says nothing of their packing (`how` is empty), with scales beside them.

    Raises:
        ModelMismatch: with the name of one.
    """
    modules = {at for at, _ in hf.named_modules()}
    besides = {str(key) for key in info.get("unexpected_keys") or () if str(key).rpartition(".")[0] in modules}
    if packing and besides and (odd := sorted(besides - zeros(path, besides))):
        raise ModelMismatch(
            f"{name} cannot be unpacked: {odd[0]} stands beside its packed weights, and its type has no place for it."
        )
    if not how and (odd := sorted(key for key in besides if key.rpartition(".")[2] in SCALES)):
        reason = ValueError(f"its configuration does not say how, and there is {odd[0]}")
        raise ModelMismatch(unpackable(name, how, reason))
