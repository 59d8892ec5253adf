"""A checkpoint without its weights: the model that its configuration, its tokenizer and its list of files promise.

The network is built on torch's meta device, where weights have shapes and no numbers, so what holds of the one that
would be loaded holds of it: architecture, sizes, layers that keep states. Only the trial at load needs the weights.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig

from engine import progress
from engine.docstrings import docstrings
from engine.errors import AssetError, LabError
from engine.model import lean, network
from engine.model.assembly import assembled
from engine.model.checkpoint import complete, unpacks
from engine.model.devices import dtype_on, pick_device
from engine.model.generation import generation_of
from engine.model.hub import Glance, fault, glance, missing, tensors_of, whole
from engine.model.load import no_assistant, reason_of, ways_to_load
from engine.model.misnamed import sized
from engine.model.model import Model
from engine.model.products import halves_work, second
from engine.model.seq2seq import codes_of
from engine.model.tokens import read_tokenizer
from engine.model.weights import FAMILIES, sizes

Shapes = Mapping[str, tuple[int, ...]]  # of tensors by name
HALVES = (torch.bfloat16, torch.float16)
POSITIONS = 4096  # of a text, at most, that memory is reckoned for


@dataclass(frozen=True, eq=False)
class Outline:
    """What can be told of a checkpoint before its weights are read."""

    model: Model  # on the meta device: it can be asked, not run
    type: str  # as transformers calls the architecture
    files: Glance
    lean: bool
    packing: str  # of the files; empty for plain ones
    unpacked: bool  # whether packed weights are unpacked at load
    weights: int  # bytes of memory, as they would lie there
    a_position: int  # bytes of keys and values of one position, as many of one of a source

    @property
    def memory(self) -> int:
        """Bytes of the weights, and of keys and values of a text of `POSITIONS`, and of a source as long."""
        return self.weights + self.a_position * self.positions

    @property
    def positions(self) -> int:
        """Positions that memory is reckoned for."""
        return sum(min(most, POSITIONS) for most in (self.model.context, self.model.source_context))


def outline(ref: str, device: str = "auto", dtype: str = "auto", name: str = "", languages: str = "") -> Outline:
    """What a folder or hub id would be once loaded; of the hub only configuration and tokenizer are fetched.

    Raises:
        AssetError: no such model, or files are missing. ModelMismatch: an architecture that cannot run here, with the
        reason. ConfigError: unknown device or dtype; languages that it does not know, or needs; Python without
        docstrings.
    """
    docstrings()
    where = pick_device(device)
    wanted = dtype_on(where, dtype)
    files = glance(ref)
    name = name or (files.folder.name if Path(ref).is_absolute() else ref)
    whole(ref, files)
    try:
        config: Any = AutoConfig.from_pretrained(files.folder, trust_remote_code=False)
        no_assistant(config, name)
        sized(config, name)
        tokenizer = read_tokenizer(files.folder)
        packing = network.packed(config)
        unpacked = unpacks(config, name, where)
        here = None if packing or files.missing else tensors_of(files)
        stored = here.dtype if here else None if packing else network.dtype_of(config)
        own = network.dtype_of(config) or stored or torch.float32
        hf = _network(config, name, own if wanted == "auto" else wanted, here.shapes if here else None)
        hf.generation_config = generation_of(files.folder)
        model = assembled(name, hf, tokenizer, config, "", trial=False, languages=languages)
    except (LabError, progress.Stopped):
        raise
    except Exception as error:  # transformers raises whatever it likes on damaged files
        reason = reason_of(error, ref)
        raise AssetError(missing(ref, reason)) from fault(reason)
    plain = unpacked or not packing
    suits = plain and (model.lean if model.seam else lean.suits(hf.config, where.type))
    more = _second_table(hf, where) + _blocks(hf, where, stored) if suits else 0
    return Outline(
        model=model,
        type=str(config.model_type),
        files=files,
        lean=suits,
        packing=packing,
        unpacked=unpacked,
        weights=model.bytes + more if plain else files.size,
        a_position=_a_position(network.text_config(config), model, hf.dtype.itemsize),
    )


def spoken(ref: str) -> tuple[str, ...]:
    """Codes of the languages that an encoder-decoder's tokenizer knows; none of any other model.

    Raises:
        AssetError: no such model.
    """
    files = glance(ref)
    try:
        config: Any = AutoConfig.from_pretrained(files.folder, trust_remote_code=False)
        if not network.crossed(config):
            return ()
        return tuple(codes_of(read_tokenizer(files.folder)))
    except Exception as error:  # transformers raises whatever it likes on damaged files
        raise AssetError(missing(ref, error)) from fault(error)


@progress.alone()
def _network(config: Any, name: str, dtype: "torch.dtype | str", shapes: Shapes | None) -> Any:
    """The network without weights. With the `shapes` of its tensors it is seen that they are all there, as loading sees
    it.

    Raises:
        ModelMismatch: as `ways_to_load`. AssetError: tensors are missing. And what transformers raises of others.
    """
    for auto, part, names in ways_to_load(config, name):
        with torch.device("meta"):
            hf = auto.from_config(part, dtype=dtype)
        if shapes is None:
            return hf
        _, info = type(hf).from_pretrained(
            None,
            config=part,
            state_dict={tensor: torch.empty(shape, device="meta") for tensor, shape in shapes.items()},
            key_mapping=names or None,
            device_map={"": "meta"},
            output_loading_info=True,
        )
        if not info.get("missing_keys"):
            break
    complete(info, name, hf)
    return hf


def _second_table(hf: Any, device: torch.device) -> int:
    """Bytes of the lean forward's own copy of an output head that is the table of embeddings."""
    table, head = hf.get_input_embeddings().weight, hf.get_output_embeddings().weight
    tied = bool(getattr(hf.config, "tie_word_embeddings", False)) or head is table
    return table.numel() * table.element_size() if tied and device.type == "cpu" else 0


def _blocks(hf: Any, device: torch.device, stored: "torch.dtype | None") -> int:
    """Bytes of the matrices that the lean forward keeps in blocks besides: none of those that fp16 holds, which it
    takes one by one in place of the loaded ones, as it does where the files have them in a half type."""
    family = FAMILIES.get(hf.config.model_type)
    if family is None or (stored in HALVES and halves_work()):  # an encoder-decoder, or in halves
        return 0
    found = [hf.lm_head.weight.numel(), *(size for block in hf.model.layers for size in sizes(block, family))]
    return sum(second(size, hf.dtype, device) for size in found)


def _a_position(text: Any, model: Model, size: int) -> int:
    """Bytes of keys and values of one position in all layers, `size` a number; layers may differ (Gemma 4). Layers of a
    decoder keep as much of a position of the source; where encoder and decoder have one configuration, it counts those
    of the encoder."""
    if text.is_encoder_decoder:
        return model.layers * _numbers(text) * size
    return sum(map(_numbers, text.per_layer_config)) * size


def _numbers(layer: Any) -> int:
    """How many numbers one layer keeps of a position: keys and values, or what both are made of (latent attention), and
    what it is chosen by (sparse attention)."""
    chosen = int(layer.index_head_dim) if getattr(layer, "index_topk", None) else 0
    if latent := getattr(layer, "kv_lora_rank", None):
        return int(latent + layer.qk_rope_head_dim) + chosen
    heads = int(getattr(layer, "num_attention_heads", None) or 1)
    kv = int(getattr(layer, "num_key_value_heads", None) or heads)
    if hasattr(layer, "new_decoder_architecture"):  # Falcon
        kv = int(layer.num_kv_heads) if layer.new_decoder_architecture else 1 if layer.multi_query else heads
    return 2 * kv * int(getattr(layer, "head_dim", None) or layer.hidden_size // heads)
