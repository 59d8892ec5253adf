"""Load an MTP head for a target, under the names that models publish theirs: in the target's own files, or apart.

- DeepSeek-V3, GLM-4-MoE: `model.layers.L.` behind the last layer, with `enorm`, `hnorm`, `eh_proj` (token, state) and
  `shared_head.norm`;
- Qwen3-Next: `mtp.` with `pre_fc_norm_embedding`, `pre_fc_norm_hidden`, `fc` (token, state), `norm`, `layers.0`; norms
  store their weights less one;
- MiMo: `model.mtp_layers.0.` with `token_layernorm`, `hidden_layernorm`, `input_proj` (state, token) and
  `final_layernorm`.

The names are those of the published checkpoints as vLLM reads them (deepseek_mtp.py, glm4_moe_mtp.py,
qwen3_next_mtp.py, mimo_mtp.py). A layer that is Llama-like runs through `engine.heads.mtp`, any other as a layer of the
target's own kind through transformers. Of several heads the first is used, again and again. The assistants of Gemma 4,
which are models apart, are `engine.heads.assistant`.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from engine.errors import AssetError, ModelMismatch
from engine.files.documents import read_object
from engine.heads.assistant import is_assistant, load_assistant
from engine.heads.files import (
    block_of,
    check,
    fits,
    folder_of,
    names_in,
    place,
    read_config,
    read_named,
)
from engine.heads.mtp import Head, LlamaLayer, MtpHead, joints
from engine.heads.mtp_wrapped import WrappedHead
from engine.model import Model
from engine.model.generic import GenericDecoder


class Layout(NamedTuple):
    """How one family calls the tensors of its first head: `at` is a pattern of what comes before the layer's own."""

    at: str
    outer: str  # pattern of what comes before the tensors around the layer
    joints: tuple[str, str, str, str]  # names of `engine.heads.mtp.JOINTS` there
    state_first: bool = False
    unnormed: bool = False  # it reads states before the target's last norm, which vLLM's target of that kind gives
    wrapped: bool = False  # its layer is of a kind of its own


def layouts(layers: int) -> dict[str, Layout]:
    """By family; `layers` is how many the target has."""
    own = rf"model\.layers\.{layers}\."
    return {
        "deepseek": Layout(own, own, ("enorm", "hnorm", "eh_proj", "shared_head.norm")),
        "qwen3_next": Layout(
            r"mtp\.layers\.0\.",
            r"mtp\.",
            ("pre_fc_norm_embedding", "pre_fc_norm_hidden", "fc", "norm"),
            wrapped=True,
        ),
        "mimo": Layout(
            r"model\.mtp_layers\.0\.",
            r"model\.mtp_layers\.0\.",
            ("token_layernorm", "hidden_layernorm", "input_proj", "final_layernorm"),
            state_first=True,
            unnormed=True,
        ),
    }


SHARED = ("shared_head.head.weight", "embed_tokens.weight", "rotary_emb.inv_freq")  # the target's own, or follows


def found_in(names: Mapping[str, Any] | set[str], layers: int) -> tuple[str, Layout] | None:
    """The layout whose mixture is among the names of tensors; None where there is no head."""
    for kind, layout in layouts(layers).items():
        if any(re.fullmatch(layout.outer + re.escape(f"{layout.joints[2]}.weight"), name) for name in names):
            return kind, layout
    return None


def brings(folder: Path) -> bool:
    """Whether a model's folder holds an MTP head beside the model."""
    try:
        config = read_object(folder / "config.json")
        own = config.get("text_config")  # of a model with towers for other media
        layers = (own if isinstance(own, dict) else config).get("num_hidden_layers")
        return isinstance(layers, int) and found_in(names_in(folder), layers) is not None
    except AssetError:
        return False


def canonical(found: Mapping[str, Tensor], layout: Layout) -> dict[str, Tensor]:
    """The head's tensors under the names of `engine.heads.mtp`: joints as they are, the layer's under "block."."""
    named: dict[str, Tensor] = {}
    around = {f"{theirs}.weight": ours for theirs, ours in zip(layout.joints, joints(1), strict=True)}
    for name, tensor in found.items():
        outer, inner = re.match(layout.outer, name), re.match(layout.at, name)
        if outer and name[outer.end() :] in around:
            named[around[name[outer.end() :]]] = tensor
        elif inner and not name.endswith(SHARED):
            named[f"block.{name[inner.end() :]}"] = tensor
    return named


def load_mtp(path: Path, target: Model) -> Head:
    """The first MTP head of a folder or hub id.

    Raises:
        AssetError: files, names or shapes are wrong. ModelMismatch: made for another target.
    """
    folder = folder_of(path)
    if is_assistant(folder):
        return load_assistant(folder, target)
    fits(folder, target)
    config = read_config(folder)
    names = names_in(folder)
    known = found_in(names, target.layers)
    if known is None:
        raise AssetError(
            f"{folder.name} holds no MTP head for a target of {target.layers} layers: neither "
            f"model.layers.{target.layers}.eh_proj.weight, mtp.fc.weight nor model.mtp_layers.0.input_proj.weight."
        )
    kind, layout = known
    card = {"folder": folder.name, "layout": kind}
    if isinstance(target.decoder, GenericDecoder):
        return WrappedHead(target.decoder.hf, folder, layout.outer, card)
    if layout.wrapped:
        raise ModelMismatch(f"The head in {folder.name} is one of {kind}, and {target.name} is not.")
    weights = canonical(read_named(folder, {name for name in names if re.match(layout.outer, name)}), layout)
    mixture = weights["eh_proj.weight"]
    if tuple(mixture.shape) != (target.width, 2 * target.width):
        raise ModelMismatch(
            f"The head mixes states of shape {list(mixture.shape)}, but {target.name} is {target.width} wide: it was "
            "made for another target."
        )
    spec = block_of(config, target.width)
    biased = "block.self_attn.q_proj.bias" in weights
    kept = check(weights, joints(target.width) | LlamaLayer.wanted(spec, biased=biased))
    placed = place(kept, target.decoder.embed(torch.zeros(1, dtype=torch.long, device=target.device)))
    return MtpHead(
        placed,
        LlamaLayer(placed, spec),
        target.decoder,
        spec.eps,
        state_first=layout.state_first,
        unnormed=layout.unnormed,
        card=card,
        vocab=target.vocab,
    )
