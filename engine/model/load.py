"""Load a causal model and its tokenizer, from the hub or a folder, and refuse with the reason what cannot work."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

from engine.errors import AssetError, ConfigError, EngineFault, LabError, ModelMismatch, unknown
from engine.model.decoder import Decoder
from engine.model.generic import GenericDecoder, obstacle
from engine.model.lean import lean_from
from engine.model.session import Session
from engine.model.tokens import Tokenizer

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

    def session(self, capacity: int, taps: Sequence[int] = (), slots: int = 0) -> Session:
        """A fresh sequence with room for `capacity` positions (at most the context), and perhaps more `slots`."""
        return Session(self.decoder, self.vocab, self.device, min(capacity, self.context), taps, slots)

    def describe(self) -> dict[str, Any]:
        """The model as a trace names it."""
        return {
            "id": self.name,
            "revision": self.revision,
            "parameters": self.parameters,
            "layers": self.layers,
            "width": self.width,
            "vocab": self.vocab,
            "context": self.context,
            "lean": self.lean,
        }


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

    `dtype` "auto" is fp32 on a CPU and the checkpoint's own on CUDA. On several GPUs transformers spreads the layers.
    `name` is how traces and messages call the model; a folder's own name if not given.

    Raises:
        AssetError: no such model, or files are missing.
        ModelMismatch: an architecture the lab cannot run, with the reason.
        ConfigError: unknown device or dtype.
        EngineFault: out of memory.
    """
    where = pick_device(device)
    wanted = _dtype(dtype, where)
    path = str(ref)
    name = name or (Path(path).name if Path(path).is_absolute() else path)
    try:
        config = AutoConfig.from_pretrained(path, trust_remote_code=False)
        _refuse(config, name)
        spread = device == "auto" and torch.cuda.device_count() > 1
        hf, info = AutoModelForCausalLM.from_pretrained(
            path,
            config=config,
            dtype=wanted,
            use_safetensors=True,
            trust_remote_code=False,
            device_map="auto" if spread else {"": where},
            output_loading_info=True,
        )
        tokenizer = AutoTokenizer.from_pretrained(path, trust_remote_code=False)
    except torch.cuda.OutOfMemoryError:
        raise EngineFault(
            f"{name} does not fit the memory of {where}. Use a smaller model, dtype='bfloat16', or the CPU."
        ) from None
    except LabError:
        raise
    except Exception as error:  # transformers and safetensors raise whatever they like on damaged files
        raise AssetError(_missing(path, error)) from error
    _complete(info, name)
    hf.eval().requires_grad_(False)
    return _model(name, path, hf, tokenizer, config)


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


def _dtype(dtype: str, device: torch.device) -> "torch.dtype | str":
    if dtype == "auto":
        return torch.float32 if device.type == "cpu" else "auto"
    if dtype not in DTYPES:
        raise ConfigError(unknown("dtype", dtype, ("auto", *DTYPES)))
    return DTYPES[dtype]


def _missing(path: str, error: Exception) -> str:
    if Path(path).is_dir():
        return f"The folder {path} is not a complete model: {_first_line(error)}"
    kind = "Neither a folder here nor a model that the hub gives"
    return f"{kind}: {path!r}. Check the spelling, the network, or give a local folder. ({_first_line(error)})"


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:300]


def _refuse(config: Any, name: str) -> None:
    """Refuse what the tree cache cannot do.

    Raises:
        ModelMismatch: encoder-decoder models, sliding windows, layers without a plain key-value cache.
    """
    if getattr(config, "is_encoder_decoder", False):
        raise ModelMismatch(f"{name} is an encoder-decoder model; the lab runs decoder-only causal models.")
    window = getattr(config, "sliding_window", None)
    if window and getattr(config, "use_sliding_window", True):
        raise ModelMismatch(
            f"{name} attends through a sliding window of {window} positions, whose cache cannot hold a draft tree."
        )
    kinds = {*(getattr(config, "layer_types", None) or ()), *(getattr(config, "attention_layers", None) or ())}
    odd = sorted(kinds - {"full_attention", "global"})
    if odd:
        raise ModelMismatch(f"{name} has layers of kind {', '.join(odd)}, whose cache cannot hold a draft tree.")


def _model(name: str, path: str, hf: Any, tokenizer: Any, config: Any) -> Model:
    stop = _stop_ids(hf, tokenizer)
    weights = {p.data_ptr(): p for p in hf.parameters()}.values()
    parameters, size = sum(p.numel() for p in weights), sum(p.numel() * p.element_size() for p in weights)
    rows, dtype = hf.get_output_embeddings().weight.shape[0], str(hf.dtype).removeprefix("torch.")
    lean = lean_from(hf)  # takes the weights out of hf when it fits
    if lean is None and (reason := obstacle(hf)):
        raise ModelMismatch(f"{name} {reason}")
    return Model(
        name=name,
        decoder=lean or GenericDecoder(hf),
        tokenizer=Tokenizer(tokenizer, stop),
        layers=config.num_hidden_layers,
        width=config.hidden_size,
        vocab=rows,
        context=int(getattr(config, "max_position_embeddings", 0) or 2048),
        parameters=parameters,
        bytes=size,
        dtype=dtype,
        device=hf.get_input_embeddings().weight.device,
        revision=_revision(path, config),
        lean=lean is not None,
    )


def _stop_ids(hf: Any, tokenizer: Any) -> list[int]:
    """Every id that ends a text: of the generation config, the model config and the tokenizer."""
    found: set[int] = set()
    for value in (getattr(hf.generation_config, "eos_token_id", None), hf.config.eos_token_id, tokenizer.eos_token_id):
        found |= {value} if isinstance(value, int) else set(value or ())
    return sorted(found)


def _revision(path: str, config: Any) -> str:
    folder = Path(path)
    if not folder.is_dir():
        return str(getattr(config, "_commit_hash", "") or "")
    digest = hashlib.sha256()
    for file in sorted(folder.glob("*.safetensors")):
        with file.open("rb") as handle:
            while block := handle.read(1 << 20):
                digest.update(block)
    return "sha256:" + digest.hexdigest()[:16]
