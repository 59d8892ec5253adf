"""The shapes of the embedded models, and their files."""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerBase

from engine.errors import ConfigError, ModelMismatch, first_line
from engine.files.written import ready_folder
from engine.training.card import TRAINING

# layers, width, MLP width, query heads, key and value heads; heads are 64 wide
SHAPES = {
    "seedling": (8, 256, 640, 4, 1),
    "target": (12, 256, 640, 4, 1),  # grown from a seedling
    "draft": (2, 192, 384, 4, 4),
    "micro": (1, 64, 64, 1, 1),  # for tests
}


def build(shape: str, tokenizer: PreTrainedTokenizerBase, seed: int) -> LlamaForCausalLM:
    """A freshly initialised model in fp32; the seed decides every weight."""
    layers, width, mlp, heads, kv_heads = SHAPES[shape]
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=width,
        intermediate_size=mlp,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=kv_heads,
        head_dim=64,
        max_position_embeddings=1024,
        rope_parameters={"rope_type": "default", "rope_theta": 10000.0},
        tie_word_embeddings=True,
        initializer_range=0.02,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    torch.manual_seed(seed)
    return LlamaForCausalLM(config)


def grown(small: LlamaForCausalLM, shape: str, tokenizer: PreTrainedTokenizerBase, seed: int) -> LlamaForCausalLM:
    """A deeper model that computes what `small` does: new layers, evenly spread, add nothing to the stream yet.

    Each is a copy of the layer below it whose two output projections are zero (block expansion: Wu et al. 2024, arXiv
    2401.02415).

    Raises:
        ModelMismatch: `shape` differs in more than depth or is not deeper.
    """
    big = build(shape, tokenizer, seed)
    (old, *width), (new, *same) = (
        (c.num_hidden_layers, c.hidden_size, c.intermediate_size) for c in (small.config, big.config)
    )
    if width != same or new <= old:
        raise ModelMismatch(
            f"{shape} has {new} layers of width {same[0]}; growing wants more layers than {old}, of the same width"
        )
    sources = sources_of(old, new)
    weights = {name: value for name, value in small.state_dict().items() if ".layers." not in name}
    for place, (layer, fresh) in enumerate(sources):
        for name, value in small.model.layers[layer].state_dict().items():
            silent = fresh and name in ("self_attn.o_proj.weight", "mlp.down_proj.weight")
            weights[f"model.layers.{place}.{name}"] = torch.zeros_like(value) if silent else value.clone()
    big.load_state_dict(weights)
    return big


def sources_of(old: int, new: int) -> list[tuple[int, bool]]:
    """For each of `new` layers the old layer that it copies, and whether it is an added one."""
    n = new - old
    added = Counter(-(-(i + 1) * old // n) - 1 for i in range(n))
    return [(layer, place > 0) for layer in range(old) for place in range(1 + added[layer])]


def exportable(folder: Path) -> Path:
    """The path itself, where an export may be written: a folder that is new, empty or that of an earlier one.

    Raises:
        ConfigError: it holds other files, which would go with the folder that is replaced; or see `ready_folder`.
    """
    ready_folder(folder)
    if folder.is_dir() and any(folder.iterdir()) and not (folder / TRAINING).is_file():
        raise ConfigError(
            f"{folder} holds files and no {TRAINING}, so it is no export that may be replaced: name a new folder."
        )
    return folder


def export(model: Any, tokenizer: PreTrainedTokenizerBase, folder: Path, training: dict[str, Any]) -> None:
    """Write a bf16 checkpoint with its tokenizer; whoever reads `folder` sees all of it or the old one.

    The cards of the old folder are kept, and folders in it, such as a head's: an export writes none.

    Raises:
        ConfigError: see `exportable`, or the disk is full.
    """
    exportable(folder)
    fresh = folder.with_name(f".{folder.name}.{os.getpid()}")
    shutil.rmtree(fresh, ignore_errors=True)
    copy = type(model)(model.config).to(torch.bfloat16)
    copy.load_state_dict({name: value.to(torch.bfloat16) for name, value in model.state_dict().items()})
    copy.tie_weights()
    copy.generation_config = GenerationConfig(
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        decoder_start_token_id=getattr(model.config, "decoder_start_token_id", None),
        max_new_tokens=256,
        do_sample=False,
    )
    try:
        copy.save_pretrained(fresh)
        tokenizer.save_pretrained(fresh)
        (fresh / TRAINING).write_text(json.dumps(training, indent=1) + "\n")
    except SafetensorError as error:
        shutil.rmtree(fresh)
        raise ConfigError(f"{folder} cannot be written: {first_line(error)}") from None
    for path in fresh.iterdir():  # safetensors makes files for their owner alone
        shutil.copymode(fresh / TRAINING, path)
    old = folder.with_name(f".{folder.name}.old.{os.getpid()}")
    if folder.exists():
        for name in ("README.md", "card.json"):
            if (folder / name).exists():
                shutil.copy2(folder / name, fresh / name)
        for path in filter(Path.is_dir, folder.iterdir()):
            shutil.copytree(path, fresh / path.name, symlinks=True)
        folder.rename(old)
    fresh.rename(folder)
    shutil.rmtree(old, ignore_errors=True)
