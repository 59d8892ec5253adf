"""Load a causal model and its tokenizer, from the hub or a folder, and refuse with the reason what cannot work."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig, AutoTokenizer

from engine import progress
from engine.errors import AssetError, ConfigError, EngineFault, LabError, ModelMismatch, unknown
from engine.model import network
from engine.model.decoder import Decoder
from engine.model.generic import GenericDecoder, obstacle
from engine.model.hub import first_line, missing
from engine.model.layers import layers_of
from engine.model.lean import lean_from
from engine.model.session import Session
from engine.model.tokens import Tokenizer
from engine.model.trial import fault

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16, "float64": torch.float64}


@dataclass(eq=False)
class Model:
    """Weights ready to run, with what the lab wants to know about them."""

    name: str
    decoder: Decoder
    tokenizer: Tokenizer
    layers: int
    width: int
    vocab: int  # ids in common use: rows of the head, cut to the pair's common ids by Lab
    context: int  # positions
    parameters: int
    bytes: int
    dtype: str
    device: torch.device
    revision: str  # sha256 of the weights (local) or the hub commit
    lean: bool
    notes: tuple[str, ...] = ()  # what of the checkpoint is not used, or works otherwise here, in sentences

    @property
    def only_chains(self) -> bool:
        """Whether it can check no branching draft."""
        return self.decoder.only_chains

    def session(self, capacity: int, taps: Sequence[int] = (), slots: int = 0) -> Session:
        """A fresh sequence with room for `capacity` positions (at most the context), and perhaps more `slots`."""
        return Session(self.decoder, self.vocab, self.device, min(capacity, self.context), taps, slots)

    def describe(self) -> dict[str, Any]:
        """The model as a trace names it."""
        about = {
            "id": self.name,
            "revision": self.revision,
            "parameters": self.parameters,
            "layers": self.layers,
            "width": self.width,
            "vocab": self.vocab,
            "context": self.context,
            "lean": self.lean,
        }
        return about | ({"notes": list(self.notes)} if self.notes else {})


def pick_device(device: str) -> torch.device:
    """ "auto" is CUDA when there is one, else the CPU.

    Raises:
        ConfigError: a device that torch does not know or have.
    """
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        chosen = torch.device(device)
    except RuntimeError:
        raise ConfigError(unknown("device", device, ("auto", "cpu", "cuda", "cuda:0"))) from None
    if chosen.type == "cuda" and not torch.cuda.is_available():
        raise ConfigError("device='cuda' was asked for, but torch sees no CUDA device here; use 'cpu' or 'auto'.")
    return chosen


def load_model(ref: str | Path, device: str = "auto", dtype: str = "auto", name: str = "") -> Model:
    """A causal model by hub id or local folder; safetensors only, no remote code.

    Of a multimodal model the part that writes text. `dtype` "auto" is fp32 on a CPU and the checkpoint's own on CUDA.
    On several GPUs transformers spreads the layers. `name` is how traces and messages call the model; a folder's own
    name if not given.

    Raises:
        AssetError: no such model, or files are missing.
        ModelMismatch: an architecture the lab cannot run, with the reason.
        ConfigError: unknown device or dtype.
        EngineFault: out of memory.
    """
    where = pick_device(device)
    wanted = dtype_on(where, dtype)
    path = str(ref)
    name = name or (Path(path).name if Path(path).is_absolute() else path)
    config: Any = None
    try:
        revision = hash_of(path)
        config = AutoConfig.from_pretrained(path, trust_remote_code=False)
        hf, info = _weights(path, name, config, dtype=wanted, device_map=_placement(device, where))
        tokenizer = AutoTokenizer.from_pretrained(path, trust_remote_code=False)
    except torch.OutOfMemoryError:
        raise EngineFault(
            f"{name} does not fit the memory of {where}. Use a smaller model, dtype='bfloat16', or the CPU."
        ) from None
    except (LabError, progress.Stopped):
        raise
    except Exception as error:  # transformers and safetensors raise whatever they like on damaged files
        if config is not None and (how := network.packed(config)):
            raise ModelMismatch(
                f"{name} is packed by {how}, which cannot be loaded here: {first_line(error)}"
            ) from error
        raise AssetError(missing(path, error)) from error
    _complete(info, name)
    hf.eval().requires_grad_(False)
    return assembled(name, hf, tokenizer, config, revision or revision_of(path, config))


def _placement(device: str, where: torch.device) -> "str | dict[str, torch.device]":
    """Where transformers puts the layers: all in one place, or spread over several GPUs."""
    return "auto" if device == "auto" and torch.cuda.device_count() > 1 else {"": where}


def ways_to_load(config: Any, name: str) -> list[tuple[Any, Any, dict[str, str]]]:
    """See `network.auto_classes`.

    Raises:
        ModelMismatch: encoder-decoder models, and what writes no text.
    """
    if getattr(config, "is_encoder_decoder", False):
        raise ModelMismatch(f"{name} is an encoder-decoder model; the lab runs decoder-only causal models.")
    ways = network.auto_classes(config)
    if not ways:
        raise ModelMismatch(f"{name} is of type {config.model_type}, which is no model that writes text.")
    return ways


def _weights(path: str, name: str, config: Any, **where: Any) -> tuple[Any, Any]:
    """The network with its weights, and what transformers says of its tensors.

    Raises:
        ModelMismatch: see `ways_to_load`.
    """
    for auto, part, names in ways_to_load(config, name):
        hf, info = auto.from_pretrained(
            path,
            config=part,
            key_mapping=names or None,
            use_safetensors=True,
            trust_remote_code=False,
            output_loading_info=True,
            **where,
        )
        if not info.get("missing_keys"):
            break
    return hf, info


def _complete(info: Any, name: str) -> None:
    """Refuse weights that transformers would have filled in at random.

    Raises:
        AssetError: tensors are missing, or of another shape than the configuration says.
    """
    lost = sorted(str(key) for kind in ("missing_keys", "mismatched_keys") for key in info.get(kind) or ())
    if lost:
        raise AssetError(
            f"The weights of {name} are not complete: {len(lost)} tensors are missing or misshapen, such as {lost[0]}."
        )


def dtype_on(device: torch.device, dtype: str) -> "torch.dtype | str":
    """What "auto" means on a device, or the dtype of that name.

    Raises:
        ConfigError: unknown dtype.
    """
    if dtype == "auto":
        return torch.float32 if device.type == "cpu" else "auto"
    if dtype not in DTYPES:
        raise ConfigError(unknown("dtype", dtype, ("auto", *DTYPES)))
    return DTYPES[dtype]


def assembled(name: str, hf: Any, tokenizer: Any, config: Any, revision: str, trial: bool = True) -> Model:
    """A network with its tokenizer as the lab's model. Without a `trial` it need not have its weights.

    Raises:
        ModelMismatch: an architecture the lab cannot run, with the reason.
    """
    stop = _stop_ids(hf, tokenizer)
    network.drop_senses(hf)
    parameters, size = network.size_of(hf)
    device, dtype, packing = network.home_of(hf), str(hf.dtype).removeprefix("torch."), network.quantised(hf)
    rows = hf.get_output_embeddings().weight.shape[0]
    text = network.text_config(config)
    context = network.context_of(text)
    lean = lean_from(hf)  # takes the weights out of hf when it fits
    decoder = lean or _generic(hf, name, text, context, (rows, device) if trial else None)
    return Model(
        name=name,
        decoder=decoder,
        tokenizer=Tokenizer(tokenizer, stop),
        layers=text.num_hidden_layers,
        width=text.hidden_size,
        vocab=rows,
        context=context,
        parameters=parameters,
        bytes=size,
        dtype=dtype,
        device=device,
        revision=revision,
        lean=lean is not None,
        notes=tuple(_notes(text is not config, decoder, packing, context, text)),
    )


def _generic(hf: Any, name: str, text: Any, context: int, trial: tuple[int, torch.device] | None) -> GenericDecoder:
    """A decoder through transformers itself, after its trial with so many ids on a device.

    Raises:
        ModelMismatch: the network takes no positions or masks, keeps what cannot be cut back, or is not exact in
        pieces.
    """
    if reason := obstacle(hf):
        raise ModelMismatch(f"{name} {reason}")
    try:
        layers = layers_of(text, context)
    except ValueError as error:
        raise ModelMismatch(f"{name} {error}.") from None
    decoder = GenericDecoder(hf, layers)
    if trial and (wrong := fault(hf, decoder, *trial)):
        raise ModelMismatch(f"{name} {wrong}, so no draft could be checked.")
    return decoder


def _notes(multimodal: bool, decoder: Decoder, packing: str, context: int, text: Any) -> list[str]:
    """What a reader should know of how this checkpoint is used."""
    most = int(getattr(text, "max_position_embeddings", 0) or context)
    return [
        *(["Text only: the parts that see or hear are not used."] if multimodal else []),
        *(["Some layers keep one running state: drafts are chains, never trees."] if decoder.only_chains else []),
        *([f"The weights are packed by {packing}."] if packing else []),
        *([f"Read up to {context} of {most} positions, where its rotation does not change."] if context < most else []),
    ]


def _stop_ids(hf: Any, tokenizer: Any) -> list[int]:
    """Every id that ends a text: of the generation config, the model config and the tokenizer."""
    found: set[int] = set()
    for value in (
        getattr(hf.generation_config, "eos_token_id", None),
        getattr(network.text_config(hf.config), "eos_token_id", None),
        tokenizer.eos_token_id,
    ):
        found |= {value} if isinstance(value, int) else set(value or ())
    return sorted(found)


def revision_of(path: str | Path, config: Any = None) -> str:
    """sha256 of the weights in a folder, or the commit of a hub checkpoint."""
    return hash_of(path) or str(getattr(config, "_commit_hash", "") or "")


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
