"""Checkpoints in formats that are not read at load, written once as folders that are: GGUF files, which llama.cpp runs,
and pickled weights, which could run code (read as tensors alone here).

Of a GGUF file every weight is a plain number again. transformers reads it, weight by weight and slowly, so that each
load would take minutes; the package `gguf` tells how blocks are packed. llama.cpp multiplies blocks with rounded
inputs, which is left to it: numbers here are those of the stored weights.
"""

import shutil
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import is_zipfile

import torch
import transformers

from engine import progress
from engine.errors import AssetError, ConfigError, ModelMismatch, first_line, unknown
from engine.files.documents import read_object
from engine.files.places import no_file
from engine.files.written import ready_folder
from engine.model import network
from engine.model.devices import DTYPES
from engine.model.hub import PICKLES, pull
from engine.model.tokens import read_tokenizer

MAGIC = b"GGUF"
SAMPLE = "A sample:\n  it's 12 + 3.5 = 15.5, naïve 東京"
WHOLE = {"F32", "float32", "float64"}  # stored types of weights that no half type holds
BRAINS = {"BF16", "bfloat16"}  # stored types that bfloat16 holds as they are; other halves and blocks go into float16


@dataclass(frozen=True)
class Contents:
    """What a checkpoint holds: its architecture, and how many weights are stored in which type ("Q4_K", "F32")."""

    architecture: str
    weights: Mapping[str, int]

    @property
    def dtype(self) -> str:
        """In which its weights are written if nobody says otherwise."""
        if set(self.weights) <= WHOLE:
            return "float32"
        return "bfloat16" if set(self.weights) & BRAINS else "float16"

    @property
    def size(self) -> int:
        """How many weights there are."""
        return sum(self.weights.values())

    def told(self) -> str:
        """The types with their shares, the largest first."""
        ordered = sorted(self.weights.items(), key=lambda one: -one[1])
        shares = [(kind, 100 * count / self.size) for kind, count in ordered]
        return ", ".join(f"{kind} {share:.0f} %" if share >= 1 else f"{kind} < 1 %" for kind, share in shares)


def contents_of(file: Path) -> Contents:
    """What a file holds, by its table of tensors.

    Raises:
        AssetError: there is no such file, or it is damaged. ConfigError: it is no GGUF file, or one part of several; or
        the package that reads it is missing.
    """
    if not file.is_file():
        raise AssetError(no_file(file))
    with file.open("rb") as start:
        if start.read(len(MAGIC)) != MAGIC:
            raise ConfigError(f"{file} is no GGUF file: it does not begin with {MAGIC.decode()}.")
    try:
        from gguf import GGUFReader  # noqa: PLC0415  (only for these files)
    except ImportError:
        raise ConfigError("GGUF files are read with the package gguf: pip install gguf.") from None
    try:
        reader = GGUFReader(file)
        fields = {name: field.contents() for name, field in reader.fields.items() if not name.startswith("tokenizer.")}
        weights = Counter[str]()
        for tensor in reader.tensors:
            weights[tensor.tensor_type.name] += int(tensor.n_elements)
    except Exception as error:  # the reader indexes and unpacks whatever is there
        raise AssetError(f"{file} is damaged: {first_line(error)}") from None
    if (parts := int(fields.get("split.count", 1))) > 1:
        raise ConfigError(f"{file} is one of {parts} parts: join them first (llama-gguf-split --merge).")
    return Contents(str(fields.get("general.architecture", "")), weights)


def source_of(ref: str) -> Path:
    """The file or folder that a reference names: here, or of the hub, from which it is fetched ("owner/name" with
    pickled weights, "owner/name/file.gguf").

    Raises:
        AssetError: it is neither here nor on the hub.
    """
    here, (*owner, file) = Path(ref), ref.split("/")
    if here.exists() or here.is_absolute():
        return here
    if file.endswith(".gguf"):
        return pull("/".join(owner), (file,)) / file if owner else here
    return pull(ref, (PICKLES,))


def unpack(source: Path, out: Path, dtype: str = "auto") -> tuple[Contents, str]:
    """Write a GGUF file, or a folder whose weights are pickled, as a folder with configuration, tokenizer and
    safetensors; what it held, and the dtype that the weights have now ("auto": that of the weights, float16 of blocks).

    Raises:
        AssetError, ConfigError: as `contents_of`; there are no such weights; the folder is not empty or has no room; an
        unknown dtype, or one that cannot hold a weight. ModelMismatch: transformers does not read the architecture.
    """
    if dtype not in ("auto", *DTYPES):
        raise ConfigError(unknown("dtype", dtype, ("auto", *DTYPES)))
    if ready_folder(out).exists() and any(out.iterdir()):
        raise ConfigError(f"{out} is not empty: name a new folder.")
    if source.is_dir():
        found = pickled_in(source)
        how: dict[str, Any] = {"pretrained_model_name_or_path": str(source)}
        reading: dict[str, Any] = {"use_safetensors": False, "weights_only": True}
    else:
        found = contents_of(source)
        how = {"pretrained_model_name_or_path": str(source.parent), "gguf_file": source.name}
        reading = _plainly()
    kept = found.dtype if dtype == "auto" else dtype
    out.mkdir(parents=True, exist_ok=True)
    needed, free = found.size * DTYPES[kept].itemsize, shutil.disk_usage(out).free
    if free < needed:
        raise ConfigError(f"About {needed / 1e9:.1f} GB are needed in {out}, and {free / 1e9:.1f} GB are free.")
    how["trust_remote_code"] = False
    try:
        config = transformers.AutoConfig.from_pretrained(**how)
        tokenizer = transformers.AutoTokenizer.from_pretrained(**how)
        with progress.alone():
            hf, info = network.auto_class(config).from_pretrained(
                **how, **reading, dtype=DTYPES[kept], output_loading_info=True
            )
    except Exception as error:  # as in `load_model`
        raise ModelMismatch(
            f"{source.name} is of the architecture {found.architecture!r}, and transformers "
            f"{transformers.__version__} does not read it: {first_line(error)}"
        ) from None
    if lost := sorted(info.get("missing_keys") or ()):
        raise ModelMismatch(f"{source.name} lacks {len(lost)} of the tensors of its architecture, such as {lost[0]}.")
    for name, weight in hf.named_parameters():
        if not torch.isfinite(weight).all():
            raise ConfigError(f"{kept} cannot hold all weights of {name}. Use --dtype bfloat16 or float32.")
    hf.save_pretrained(out)
    tokenizer.save_pretrained(out)
    if read_tokenizer(out)(SAMPLE)["input_ids"] != tokenizer(SAMPLE)["input_ids"]:
        raise ModelMismatch(f"The tokenizer of {source.name} reads a text otherwise once it is written to {out}.")
    return found, kept


def pickled_in(folder: Path) -> Contents:
    """What the pickled weights of a folder hold. They are read as tensors alone: no code of theirs runs.

    Raises:
        AssetError: it has none, or they are damaged or more than tensors; or no configuration.
    """
    files = sorted(folder.glob(PICKLES))
    if not files:
        raise AssetError(f"{folder} has no {PICKLES} to write anew.")
    weights = Counter[str]()
    try:
        kind = str(read_object(folder / "config.json").get("model_type", ""))
        for file in files:
            mapped = is_zipfile(file)  # as torch writes them since 1.6
            for tensor in torch.load(file, map_location="cpu", weights_only=True, mmap=mapped).values():
                if tensor.is_floating_point():  # old files also hold masks and positions
                    weights[str(tensor.dtype).removeprefix("torch.")] += tensor.numel()
    except Exception as error:  # torch raises whatever it likes of what is no file of tensors
        raise AssetError(f"{folder} cannot be read: {first_line(error)}") from None
    return Contents(kind, weights)


def _plainly() -> dict[str, Any]:
    """What tells transformers to unpack all blocks, which releases before 5.24 always do."""
    made = getattr(transformers, "GgufConfig", None)
    return {} if made is None else {"quantization_config": made(dequantize=True)}
