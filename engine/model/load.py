"""Load a model that writes text and its tokenizer, from the hub or a folder, and refuse with the reason what cannot
work."""

from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig

from engine import progress
from engine.docstrings import docstrings
from engine.errors import AssetError, ConfigError, EngineFault, LabError, ModelMismatch, unknown
from engine.model import network
from engine.model.assembly import assembled
from engine.model.checkpoint import all_taken, complete, hash_of, revision_of, weight_bytes
from engine.model.devices import DTYPES, dtype_on, homes, placement
from engine.model.fewbits import Packing
from engine.model.forks import FORKS
from engine.model.graphs import SWITCH
from engine.model.hub import commit_of, fault, glance, is_folder, missing, template_beside, unpackable, whole
from engine.model.misnamed import misnamed, sized
from engine.model.model import Model
from engine.model.tokens import read_tokenizer
from engine.model.unpacking import packing_of, unpacking

__all__ = ["DTYPES", "Model", "hash_of", "load_model", "revision_of", "ways_to_load", "weight_bytes"]


def load_model(
    ref: str | Path,
    device: str = "auto",
    dtype: str = "auto",
    name: str = "",
    languages: str = "",
    graphs: str = "auto",
) -> Model:
    """A causal or encoder-decoder model by hub id or local folder; safetensors only, no remote code.

    Of a multimodal model the part that writes text. `dtype` "auto" is fp32 on a CPU and the checkpoint's own on CUDA.
    `device` may name several GPUs with commas between, over which transformers then spreads the layers. `name` is how
    traces and messages call the model; a folder's own name if not given. `languages` ("en_XX:de_DE") are those of
    source and target, for models of several. `graphs` ("auto", "on", "off") captures passes on CUDA devices; the notes
    say why not where that was asked for and cannot be.

    Raises:
        AssetError: no such model, or files are missing.
        ModelMismatch: an architecture the lab cannot run, with the reason.
        ConfigError: unknown device, dtype or language, or Python without docstrings.
        EngineFault: out of memory.
    """
    docstrings()
    FORKS.begun = True
    if graphs not in SWITCH:
        raise ConfigError(unknown("setting of graphs", graphs, SWITCH))
    where, *further = homes(device)
    wanted = dtype_on(where, dtype)
    path = str(ref)
    name = name or (Path(path).name if Path(path).is_absolute() else path)
    config: Any = None
    packing: Packing | None = None
    if is_folder(path):
        whole(path, glance(path))
    try:
        revision = hash_of(path)
        config = AutoConfig.from_pretrained(path, trust_remote_code=False)
        no_assistant(config, name)
        sized(config, name)
        packing = packing_of(config, name)
        tokenizer = read_tokenizer(path)
        tokenizer.chat_template = tokenizer.chat_template or template_beside(path) or None
        hf, info = weights(path, name, config, packing, dtype=wanted, **placement([where, *further]))
    except torch.OutOfMemoryError:
        raise EngineFault(
            f"{name} does not fit the memory of {where}. Use a smaller model, dtype='bfloat16', or the CPU."
        ) from None
    except (LabError, progress.Stopped):
        raise
    except Exception as error:  # transformers and safetensors raise whatever they like on damaged files
        if isinstance(error, MemoryError) or "allocate memory" in str(error):
            raise EngineFault(f"{name} does not fit the memory of {where}. Use a smaller model.") from None
        reason = reason_of(error, path, packing)
        if config is not None and (how := network.packed(config)):
            raise ModelMismatch(unpackable(name, how, reason)) from fault(reason)
        raise AssetError(missing(path, reason)) from fault(reason)
    complete(info, name, hf)
    all_taken(info, hf, path, name, network.packed(config), packing)
    hf.eval().requires_grad_(False)
    found = revision or commit_of(path)
    return assembled(name, hf, tokenizer, config, found, languages=languages, graphs=graphs)


def no_assistant(config: Any, name: str) -> None:
    """Nothing for a model that writes by itself.

    Raises:
        ModelMismatch: one that drafts from what its target keeps, with the role that it has.
    """
    if owner := network.ASSISTANTS.get(config.model_type):
        raise ModelMismatch(
            f"{name} is an assistant of {owner} and cannot write by itself: give it as mtp={name}, beside its target."
        )


def ways_to_load(config: Any, name: str) -> list[tuple[Any, Any, dict[str, str]]]:
    """See `network.auto_classes`.

    Raises:
        ModelMismatch: what writes no text.
    """
    ways = network.auto_classes(config)
    if not ways:
        raise ModelMismatch(f"{name} is of type {config.model_type}, which is no model that writes text.")
    return ways


def weights(path: str, name: str, config: Any, packing: Packing | None, **where: Any) -> tuple[Any, Any]:
    """The network with its weights, and what transformers says of its tensors.

    Raises:
        ModelMismatch: see `ways_to_load`.
    """
    for auto, part, names in ways_to_load(config, name):
        with progress.alone():
            hf, info = auto.from_pretrained(
                path,
                config=unpacking(config, part, packing),
                key_mapping=names or None,
                use_safetensors=True,
                trust_remote_code=False,
                output_loading_info=True,
                **where,
            )
        if not info.get("missing_keys"):
            break
    return hf, info


def reason_of(error: Exception, ref: str, packing: Packing | None = None) -> Exception:
    """What went wrong while a checkpoint was read, where transformers does not say it itself."""
    if packing and packing.faults:
        return ValueError(packing.faults[0])
    if "ignore_mismatched_sizes" in str(error):
        return misnamed(ref, ValueError("its tensors have other shapes than its configuration says"))
    if "custom code" in str(error):
        return ValueError("its model is code that it brings, and no such code is run")
    return misnamed(ref, error)
