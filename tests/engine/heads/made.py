"""Synthetic heads with the official tensor names, for random targets: strict files, no training."""

import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

from engine.heads.block import Spec
from engine.heads.dflash import DflashSpec
from engine.heads.dflash import wanted as dflash_names
from engine.heads.eagle import EagleSpec, Kind
from engine.heads.eagle import wanted as eagle_names
from engine.heads.hydra import wanted as hydra_names
from engine.heads.medusa import wanted as medusa_names
from engine.model import Model


def fill(names: dict[str, tuple[int, ...]], seed: int = 0, std: float = 0.3) -> dict[str, torch.Tensor]:
    """Random tensors of these names; norms are near one."""
    rng = torch.Generator().manual_seed(seed)
    weights = {}
    for name, shape in names.items():
        noise = torch.randn(*shape, generator=rng)
        weights[name] = 1 + 0.1 * noise if "norm" in name else std * noise
    return weights


def save(
    folder: Path, config: dict[str, Any], weights: dict[str, torch.Tensor], file: str = "model.safetensors"
) -> Path:
    """A head's folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    if file.endswith(".safetensors"):
        save_file({n: t.contiguous() for n, t in weights.items()}, folder / file)
    else:
        torch.save(weights, folder / file)
    return folder


def eagle(
    folder: Path,
    target: Model,
    kind: Kind,
    *,
    draft_vocab: int = 0,
    seed: int = 0,
    file: str = "model.safetensors",
    **more: Any,
) -> Path:
    """An EAGLE checkpoint: config keys and tensor names as published. `draft_vocab` reduces EAGLE-3's vocabulary."""
    D, V = target.width, target.vocab
    config: dict[str, Any] = {
        "architectures": ["LlamaForCausalLM"],
        "hidden_size": D,
        "intermediate_size": 2 * D,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "num_hidden_layers": 1,
        "hidden_act": "silu",
        "rms_norm_eps": 1e-6,
        "max_position_embeddings": 2048,
        "vocab_size": V,
        "pad_token_id": 0,
        "bos_token_id": 1,
        "eos_token_id": 2,
        "tie_word_embeddings": False,
    } | more
    if kind == "eagle3":
        config |= {"draft_vocab_size": draft_vocab or V}
    heads = int(config["num_attention_heads"])
    block = Spec(D, 2 * D, heads, 2, D // heads)
    spec = EagleSpec(
        kind,
        block,
        D,
        V,
        draft_vocab or V,
        bias=config.get("bias", True),
        qkv_bias=config.get("qkv_bias", False),
        own_embedding="target_hidden_size" in config,
    )
    weights = fill(eagle_names(spec), seed)
    if "embed_tokens.weight" in weights and kind == "eagle2":
        weights["embed_tokens.weight"] = target.decoder.embed(torch.arange(V)).clone()
    if "d2t" in weights:
        ids = torch.randperm(V, generator=torch.Generator().manual_seed(seed))[:draft_vocab].sort().values
        weights["d2t"] = ids - torch.arange(draft_vocab)
        weights["t2d"] = torch.zeros(V, dtype=torch.bool).index_fill_(0, ids, True)
    return save(folder, config, weights, file)


def medusa(
    folder: Path,
    target: Model,
    heads: int = 4,
    seed: int = 0,
    file: str = "model.safetensors",
    layers: int = 1,
    shared: bool = False,
    bottleneck: int = 0,
    std: float = 0.3,
) -> Path:
    """Medusa heads; `shared` ones have no output matrices, a `bottleneck` narrows their blocks."""
    names = medusa_names(heads, layers, target.width, 0 if shared else target.vocab, bottleneck)
    config: dict[str, Any] = {"medusa_num_heads": 2, "medusa_num_layers": layers}
    config |= {"shared_output": True} if shared else {}
    config |= {"bottleneck": bottleneck} if bottleneck else {}
    return save(folder, config, fill(names, seed, std), file)


def hydra(folder: Path, target: Model, heads: int = 4, seed: int = 0) -> Path:
    """Hydra heads whose layer has sizes of its own."""
    D = target.width
    spec = Spec(D, 2 * D, 4, 2, max(D // 4, 4))
    config = {
        "hydra_num_heads": heads,
        "hydra_num_layers": 1,
        "hydra_head_arch": "prefix-mlp",
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": spec.channels,
        "intermediate_size": 2 * D,
    }
    return save(folder, config, fill(hydra_names(spec, heads, 1, target.vocab), seed))


SIZE, TAPPED = 6, [0, 2]  # of a DFlash drafter: rows of a block, layers of the target whose outputs it reads


def dflash(folder: Path, target: Model, heads: tuple[int, int] = (4, 2), **changed: Any) -> Path:
    """A random drafter for a target in the published layout."""
    D, (H, K), C, layers = target.width, heads, 12, 2
    config = {
        "architectures": ["DFlashDraftModel"],
        "model_type": "qwen3",
        "hidden_size": D,
        "intermediate_size": 40,
        "num_hidden_layers": layers,
        "num_target_layers": target.layers,
        "num_attention_heads": H,
        "num_key_value_heads": K,
        "head_dim": C,
        "rms_norm_eps": 1e-5,
        "rope_theta": 5000.0,
        "max_position_embeddings": 512,
        "vocab_size": target.vocab,
        "block_size": SIZE,
        "dflash_config": {"mask_token_id": 0, "target_layer_ids": TAPPED},
    } | changed
    own = DflashSpec(Spec(D, 40, H, K, C), layers, (0,) * len(TAPPED), D, SIZE, 0, target.vocab)
    return save(folder, config, fill(dflash_names(own), seed=5))
