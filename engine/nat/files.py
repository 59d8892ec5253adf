"""Non-autoregressive systems on disk: `config.json` names the kind and its shape, the weights are safetensors."""

import json
from dataclasses import asdict, fields
from pathlib import Path

import torch
from safetensors.torch import save as packed
from torch import Tensor

from engine.errors import AssetError, ModelMismatch, unknown
from engine.files.written import write
from engine.heads.files import check, count, fits, folder_of, read_config, read_weights
from engine.model import Model
from engine.model.crossed import CrossDecoder
from engine.nat.cmlm import Cmlm
from engine.nat.dat import Dat
from engine.nat.glat_ctc import GlatCtc
from engine.nat.network import Frozen, Shape
from engine.nat.rewrite import RewriteNat
from engine.nat.system import END, PAD, System

SYSTEMS: dict[str, type[System]] = {system.KIND: system for system in (Cmlm, RewriteNat, GlatCtc, Dat)}

MOST = {"width": 8192, "layers": 64, "heads": 256, "step": 65536, "places": 8192}  # of each size in a configuration


def lent(target: Model) -> Frozen:
    """Encoder and embeddings of a target.

    Raises:
        ModelMismatch: it has no encoder, or one that runs through transformers; or it pads or ends texts with other
            ids.
    """
    decoder = target.decoder
    if not isinstance(decoder, CrossDecoder):
        raise ModelMismatch(
            f"{target.name} lends no encoder: non-autoregressive systems need an encoder-decoder target whose decoder "
            "is our own, and that pads and ends texts as the embedded one does (T5, Pegasus)."
        )
    pad, ends = target.tokenizer.hf.pad_token_id, target.tokenizer.stop_ids
    if pad != PAD or END not in ends:
        raise ModelMismatch(
            f"{target.name} pads with {pad} and ends a text with {' or '.join(map(str, sorted(ends)))}, not with {PAD} "
            f"and {END} as non-autoregressive systems here do."
        )

    def encode(ids: Tensor, seen: Tensor) -> Tensor:
        states: Tensor = decoder.encoder(input_ids=ids, attention_mask=seen.long()).last_hidden_state
        return states

    return Frozen(encode, decoder.embedding, decoder.stretch)


def built(kind: str, target: Model, shape: Shape | None = None, seed: int = 0) -> System:
    """A freshly initialised system in fp32 over a target; the seed decides every weight.

    Raises:
        AssetError: no system of that kind. ModelMismatch: the target lends no encoder.
    """
    if kind not in SYSTEMS:
        raise AssetError(unknown("non-autoregressive system", kind, SYSTEMS))
    torch.manual_seed(seed)
    return SYSTEMS[kind](shape or Shape(width=target.width), lent(target), target.source_context).float()


def save_nat(system: System, folder: Path) -> None:
    """Write the system's own weights in bf16, and its config."""
    folder.mkdir(parents=True, exist_ok=True)
    weights = {name: value.detach().to(torch.bfloat16).contiguous() for name, value in system.state_dict().items()}
    write(folder / "model.safetensors", packed(weights, {"format": "pt"}))
    config = {"model_type": "nat", "kind": system.kind} | asdict(system.decoder.shape)
    write(folder / "config.json", (json.dumps(config, indent=1) + "\n").encode())


def load_nat(path: Path, target: Model) -> System:
    """A system by folder or hub id, over the target that it was trained with.

    Raises:
        AssetError: files, names or shapes are wrong. ModelMismatch: made for another target.
    """
    folder = folder_of(path)
    fits(folder, target)
    config = read_config(folder)
    shape = Shape(**{field.name: count(config, field.name, most=MOST[field.name]) for field in fields(Shape)})
    if shape.width % shape.heads:
        raise AssetError(f"The system's width {shape.width} is no multiple of its {shape.heads} attention heads.")
    if shape.width != target.width:
        raise ModelMismatch(
            f"The system in {folder.name} is {shape.width} wide, but {target.name} has states {target.width} wide."
        )
    with torch.random.fork_rng(devices=()), torch.device("cpu"):  # the caller's draws and device are as they were
        system = built(str(config.get("kind")), target, shape)
    wanted = {name: tuple(value.shape) for name, value in system.state_dict().items()}
    system.load_state_dict(check(read_weights(folder), wanted))
    like = system.frozen.matrix
    return system.to(device=like.device, dtype=like.dtype).eval().requires_grad_(False)


def begin_as(system: System, folder: Path) -> None:
    """Take over the weights of another system of the same shape, of any kind, as far as this one has such.

    Raises:
        AssetError: the files are wrong, or its decoder is of another shape.
    """
    own = {name: value for name, value in read_weights(folder).items() if name in system.state_dict()}
    wanted = {name: tuple(value.shape) for name, value in system.state_dict().items()}
    needed = {name: shape for name, shape in wanted.items() if name in own or name.startswith("decoder.")}
    system.load_state_dict(check(own, needed), strict=False)
