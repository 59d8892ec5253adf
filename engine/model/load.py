"""Load a model that writes text and its tokenizer, from the hub or a folder, and refuse with the reason what cannot
work."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import torch
from transformers import AutoConfig, AutoTokenizer

from engine import progress
from engine.errors import AssetError, ConfigError, EngineFault, LabError, ModelMismatch, unknown
from engine.model import network
from engine.model.decoder import Decoder
from engine.model.devices import free, homes
from engine.model.generic import GenericDecoder, obstacle
from engine.model.graphs import SWITCH, graphed
from engine.model.hub import commit_of, missing, unpackable, zeros
from engine.model.layers import layers_of
from engine.model.lean import lean_from
from engine.model.seam import Seam
from engine.model.seq2seq import parts_of
from engine.model.session import Session
from engine.model.source import CrossDecoder, SourceSession
from engine.model.tokens import Tokenizer
from engine.model.trial import fault
from engine.model.unpacking import Packing, packing_of, unpacking
from engine.progress import size_of

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
    context: int  # positions; of an encoder-decoder those of its decoder
    parameters: int
    bytes: int
    dtype: str
    device: torch.device
    revision: str  # sha256 of the weights (local) or the hub commit
    lean: bool
    devices: tuple[torch.device, ...] = ()  # all that hold weights, `device` among them
    notes: tuple[str, ...] = ()  # what of the checkpoint is not used, or works otherwise here, in sentences
    seam: Seam | None = None  # of an encoder-decoder: where its source ends
    source_context: int = 0  # positions of the encoder

    @property
    def only_chains(self) -> bool:
        """Whether it can check no branching draft."""
        return self.decoder.only_chains

    @property
    def longest(self) -> int:
        """Most tokens of a sequence, a source included."""
        return self.context + self.source_context

    def source_of(self, tokens: Sequence[int]) -> int:
        """How many of the tokens are a source that an encoder reads."""
        return self.seam.find(tokens) if self.seam else 0

    def filler(self, n: int) -> list[int]:
        """Some text of n tokens, at least 2, to measure passes on; half of it is a source where there is one."""
        if self.seam is None:
            return [0] * n
        plain = next(i for i in range(self.vocab) if i not in (*self.seam.opening, *self.seam.ends))
        source = [plain] * (n // 2) + sorted(self.seam.ends)[:1]
        return [*source, *self.seam.opening, *[plain] * (n - n // 2)]

    def session(self, capacity: int, taps: Sequence[int] = (), slots: int = 0) -> Session:
        """A fresh sequence with room for `capacity` positions (at most the context), and perhaps more `slots`."""
        capacity = min(capacity, self.longest)
        if self.seam:
            decoder, context = cast(CrossDecoder, self.decoder), (self.source_context, self.context)
            return SourceSession(decoder, self.seam, context, self.vocab, self.device, capacity, taps, slots)
        return Session(self.decoder, self.vocab, self.device, capacity, taps, slots)

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
        about |= {"source_context": self.source_context} if self.seam else {}
        return about | ({"notes": list(self.notes)} if self.notes else {})


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
        ConfigError: unknown device, dtype or language.
        EngineFault: out of memory.
    """
    if graphs not in SWITCH:
        raise ConfigError(unknown("setting of graphs", graphs, SWITCH))
    where, *further = homes(device)
    wanted = dtype_on(where, dtype)
    path = str(ref)
    name = name or (Path(path).name if Path(path).is_absolute() else path)
    config: Any = None
    packing: Packing | None = None
    try:
        revision = hash_of(path)
        config = AutoConfig.from_pretrained(path, trust_remote_code=False)
        packing = packing_of(config, name)
        hf, info = _weights(path, name, config, packing, dtype=wanted, **_placement([where, *further]))
        tokenizer = AutoTokenizer.from_pretrained(path, trust_remote_code=False)
    except torch.OutOfMemoryError:
        raise EngineFault(
            f"{name} does not fit the memory of {where}. Use a smaller model, dtype='bfloat16', or the CPU."
        ) from None
    except (LabError, progress.Stopped):
        raise
    except Exception as error:  # transformers and safetensors raise whatever they like on damaged files
        if isinstance(error, MemoryError) or "allocate memory" in str(error):
            raise EngineFault(f"{name} does not fit the memory of {where}. Use a smaller model.") from None
        if config is not None and (how := network.packed(config)):
            reason = ValueError(packing.faults[0]) if packing and packing.faults else error
            raise ModelMismatch(unpackable(name, how, reason)) from error
        raise AssetError(missing(path, error)) from error
    _complete(info, name)
    if packing:
        _all_taken(info, hf, path, name)
    hf.eval().requires_grad_(False)
    found = revision or commit_of(path)
    return assembled(name, hf, tokenizer, config, found, languages=languages, graphs=graphs)


def _placement(places: Sequence[torch.device]) -> dict[str, Any]:
    """Where transformers puts the layers: all in one place, or spread over several GPUs."""
    if len(places) == 1:
        return {"device_map": {"": places[0]}}
    return {"device_map": "auto", "max_memory": {place.index or 0: free(place) for place in places}}


def weight_bytes(ref: str, dtype: str = "auto") -> int:
    """Bytes that the weights of a checkpoint take, before they are loaded.

    Raises:
        AssetError: there is no such model. ModelMismatch: its weights are packed in a way that is not understood.
    """
    stored = size_of(ref)
    try:
        config = AutoConfig.from_pretrained(ref, trust_remote_code=False)
    except (OSError, ValueError) as error:
        raise AssetError(missing(ref, error)) from error
    if stored and dtype == "auto" and packing_of(config, ref) is None:
        return stored
    kept = DTYPES.get(dtype) or getattr(network.text_config(config), "dtype", None) or torch.float32
    return network.count(config) * int(kept.itemsize)


def ways_to_load(config: Any, name: str) -> list[tuple[Any, Any, dict[str, str]]]:
    """See `network.auto_classes`.

    Raises:
        ModelMismatch: what writes no text.
    """
    ways = network.auto_classes(config)
    if not ways:
        raise ModelMismatch(f"{name} is of type {config.model_type}, which is no model that writes text.")
    return ways


def _weights(path: str, name: str, config: Any, packing: Packing | None, **where: Any) -> tuple[Any, Any]:
    """The network with its weights, and what transformers says of its tensors.

    Raises:
        ModelMismatch: see `ways_to_load`.
    """
    for auto, part, names in ways_to_load(config, name):
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


def _all_taken(info: Any, hf: Any, path: str, name: str) -> None:
    """Refuse packed weights with tensors beside them that the plain modules have no place for, such as AWQ's scales of
    activations; biases of nothing but zeros, as AutoGPTQ gives every layer, are none.

    Raises:
        ModelMismatch: with the name of one.
    """
    modules = {at for at, _ in hf.named_modules()}
    besides = {str(key) for key in info.get("unexpected_keys") or () if str(key).rpartition(".")[0] in modules}
    if besides and (odd := sorted(besides - zeros(path, besides))):
        raise ModelMismatch(
            f"{name} cannot be unpacked: {odd[0]} stands beside its packed weights, and its type has no place for it."
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


def assembled(
    name: str,
    hf: Any,
    tokenizer: Any,
    config: Any,
    revision: str,
    trial: bool = True,
    languages: str = "",
    graphs: str = "auto",
) -> Model:
    """A network with its tokenizer as the lab's model. Without a `trial` it need not have its weights.

    Raises:
        ModelMismatch: an architecture the lab cannot run, with the reason.
        ConfigError: languages that it does not know, or needs.
    """
    if network.crossed(config):
        return _crossed(name, hf, tokenizer, config, revision, trial, languages)
    if languages:
        raise ConfigError(f"{name} is no encoder-decoder model, so languages={languages!r} has no meaning for it.")
    stop = _stop_ids(hf, tokenizer)
    network.drop_senses(hf)
    parameters, size = network.size_of(hf)
    device, dtype, packing = network.home_of(hf), str(hf.dtype).removeprefix("torch."), network.quantised(hf)
    rows = network.rows_of(hf)
    stored = network.packed(config) if trial else ""
    text = network.text_config(config)
    context = network.context_of(text)
    devices = network.devices_of(hf, device)
    lean = lean_from(hf)  # takes the weights out of hf when it fits
    fast, why = graphed(lean, device, graphs)
    decoder: Decoder = fast or _generic(hf, name, text, context, (rows, device) if trial else None)
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
        devices=devices,
        notes=(
            *_notes(text is not config, decoder, packing, stored, context, text),
            *_spread(devices),
            *_captured(why),
        ),
    )


def _crossed(name: str, hf: Any, tokenizer: Any, config: Any, revision: str, trial: bool, languages: str) -> Model:
    stop = _stop_ids(hf, tokenizer)
    parameters, size = network.size_of(hf)
    device, dtype, rows = network.home_of(hf), str(hf.dtype).removeprefix("torch."), network.rows_of(hf)
    parts = parts_of(hf, tokenizer, name, languages, stop, (rows, device) if trial else None)
    return Model(
        name=name,
        decoder=parts.decoder,
        tokenizer=Tokenizer(tokenizer, stop, parts.seam),
        layers=parts.layers,
        width=network.width_of(config),
        vocab=rows,
        context=parts.context[1],
        parameters=parameters,
        bytes=size,
        dtype=dtype,
        device=device,
        revision=revision,
        lean=not parts.decoder.only_chains,
        devices=network.devices_of(hf, device),
        notes=parts.notes,
        seam=parts.seam,
        source_context=parts.context[0],
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


def _notes(multimodal: bool, decoder: Decoder, packing: str, stored: str, context: int, text: Any) -> list[str]:
    """What a reader should know of how this checkpoint is used; `stored`: how its files are packed."""
    most = int(getattr(text, "max_position_embeddings", 0) or context)
    return [
        *(["Text only: the parts that see or hear are not used."] if multimodal else []),
        *(["Some layers keep one running state: drafts are chains, never trees."] if decoder.only_chains else []),
        *([network.packing_said(stored or packing, unpacked=not packing)] if stored or packing else []),
        *([f"Read up to {context} of {most} positions, where its rotation does not change."] if context < most else []),
    ]


def _spread(devices: Sequence[torch.device]) -> list[str]:
    return [f"Its layers are spread over {', '.join(map(str, devices))}."] if len(devices) > 1 else []


def _captured(why_not: str) -> list[str]:
    return [f"Its passes are not captured: {why_not}."] if why_not else []


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
