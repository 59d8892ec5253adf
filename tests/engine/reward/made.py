"""Random reward models on disk, one of each kind of head."""

from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from transformers import (
    AutoModelForSequenceClassification,
    AutoModelForTokenClassification,
    LlamaForCausalLM,
    Qwen2ForCausalLM,
)

from tests.engine.zoo import config_of, save_tokenizer


def make_reward(folder: Path, kind: str, family: str = "llama", seed: int = 0, **extra: Any) -> Path:
    """A reward model of `kind`: tokens2, tokens1 (token classifiers), scalar (one number a text), value (trl's value
    head) or two_layers (Qwen's process reward models)."""
    torch.manual_seed(seed)
    config = config_of(family, 96, 2, 32, num_labels=2 if kind == "tokens2" else 1, **extra)
    if kind in ("value", "two_layers"):
        hf: Any = {"llama": LlamaForCausalLM, "qwen2": Qwen2ForCausalLM}[family](config)
        hf.save_pretrained(folder)
        size, file = config.hidden_size, folder / "model.safetensors"
        heads = {"v_head.summary": (1, size)} if kind == "value" else {"score.0": (size, size), "score.2": (2, size)}
        more = {f"{name}.weight": 0.2 * torch.randn(shape) for name, shape in heads.items()}
        more |= {f"{name}.bias": torch.randn(shape[0]) for name, shape in heads.items()}
        save_file(load_file(file) | more, file, {"format": "pt"})
    else:
        cls = AutoModelForSequenceClassification if kind == "scalar" else AutoModelForTokenClassification
        cls.from_config(config).save_pretrained(folder)
    save_tokenizer(folder, 96)
    return folder
