"""A checkpoint as large as wanted that writes what a small one writes: for speeds at the size of real models where none
can be had.

The small model lives in the first channels, heads and layers of the large one. What is added computes as much as any
weights would, and adds nothing: residual channels beyond the first stay zero, further heads, neurons and layers read
the text through random weights and write through zeros. A norm over W' channels of which W are in use is that over W,
its epsilon scaled by W / W' and its weight by the root of that (which no rounding touches where W' is 4 or 16 times W).
So acceptance is the small pair's, and the cost of a pass that of the large network: what a random model of that size
cannot show. The vocabulary stays small, and with it the output head. (A function-preserving expansion, as Net2Net's,
1511.05641, but of one that adds nothing and is never trained.)

The same holds for a draft, and for heads of EAGLE, MTP, DFlash, Medusa and Hydra, whose tensors have the same names.

Dimension key: W width, W' enlarged width.
"""

import json
import math
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor

from engine.errors import AssetError, ConfigError
from engine.files.documents import read_object
from engine.heads.eagle import tapped
from engine.heads.eagle_load import TAPS
from engine.heads.files import read_weights
from engine.model.hub import INDEX

SPREAD = 0.02  # of random weights
POOL = 1 << 22  # random numbers, used over and over
KINDS = ("llama", "qwen3", "medusa", "hydra")  # whose tensors are named so
BESIDE = ("tokenizer.json", "tokenizer_config.json", "chat_template.jinja", "generation_config.json")
HEADS = ("eagle2", "eagle3", "mtp", "dflash", "medusa", "hydra")
WRITING = ("o_proj", "down_proj")  # to the residual channels
FROM_ALL = ("fc", "eh_proj", "linear", "res_connection")  # matrices from residual channels to residual channels


@dataclass(frozen=True, slots=True)
class Size:
    """Of a network: residual channels, layers, neurons of an MLP."""

    width: int
    layers: int
    inner: int

    @classmethod
    def parse(cls, text: str) -> "Size":
        """From "4096,32,14336".

        Raises:
            ValueError: it is not three positive whole numbers.
        """
        width, layers, inner = (int(part) for part in text.split(","))
        if min(width, layers, inner) < 1:
            raise ValueError(text)
        return cls(width, layers, inner)


BIG, MIDDLE = Size(4096, 32, 14336), Size(768, 24, 4096)  # as Llama 3 8B has them; a draft of a third of a billion


class Enlarging:
    """How the tensors of one network are enlarged, from what its configuration says to a size."""

    def __init__(self, config: Mapping[str, Any], size: Size, layers: int = 0) -> None:
        """`layers` of the target, of a head's configuration that tells it.

        Raises:
            ConfigError: the size is not a multiple of the small one, or smaller than it.
        """
        self.config, self.size = config, size
        self.width, self.inner = int(config["hidden_size"]), int(config.get("intermediate_size", 0))
        self.heads = int(config.get("num_attention_heads", 1))
        self.channels = int(config.get("head_dim") or self.width // self.heads)
        self.group = self.heads // int(config.get("num_key_value_heads", self.heads))
        self.layers = layers
        own = {"width": (self.width, size.width), "neurons": (self.inner, size.inner)}
        if not layers:
            own["layers"] = (int(config["num_hidden_layers"]), size.layers)
        for name, (small, large) in own.items():
            if large < small:
                raise ConfigError(f"{large} {name} are asked for, and the checkpoint has {small} already.")
        if size.width % self.width or size.width % (self.channels * self.group):
            needed = math.lcm(self.width, self.channels * self.group)
            raise ConfigError(f"A width of {size.width} is asked for; this checkpoint can have multiples of {needed}.")

    @property
    def share(self) -> float:
        """W / W'."""
        return self.width / self.size.width

    def configured(self) -> dict[str, Any]:
        """The enlarged network's configuration."""
        heads = self.size.width // self.channels
        sizes = {
            "hidden_size": self.size.width,
            "intermediate_size": self.size.inner,
            "num_attention_heads": heads,
            "num_key_value_heads": heads // self.group,
            "head_dim": self.channels,
        }
        made = dict(self.config) | {name: size for name, size in sizes.items() if name in self.config}
        if "rms_norm_eps" in made:
            made["rms_norm_eps"] = made["rms_norm_eps"] * self.share
        if not self.layers:
            return made | {"num_hidden_layers": self.size.layers}
        if "num_nextn_predict_layers" in made:  # an MTP head: numbered behind the target's layers
            return made | {"num_hidden_layers": self.layers}
        return made | ({"num_target_layers": self.layers} if "num_target_layers" in made else {})

    def tensor(self, name: str, small: Tensor) -> Tensor:
        """One tensor, enlarged.

        Raises:
            AssetError: its name is not among those that are known.
        """
        part = name.rsplit(".", 2)[-2] if "." in name else name
        W, D = self.width, self.size.width
        if small.dim() == 1:
            if part.endswith("norm") and len(small) == W:
                return self._padded(small * self.share**0.5, (D,))
            return self._padded(small, (D,)) if len(small) == W and name.endswith("bias") else small
        rows, columns = small.shape
        heads = D // self.channels
        if part == "q_proj":
            return self._reading(small, heads * self.channels)
        if part in ("k_proj", "v_proj"):
            return self._reading(small, heads // self.group * self.channels)
        if part in ("gate_proj", "up_proj"):
            return self._reading(small, self.size.inner)
        if part in WRITING:
            return self._padded(small, (D, D if part == "o_proj" else self.size.inner))
        if rows == W and columns % W == 0 and part in FROM_ALL:
            return self._padded(self._reading(small, W), (D, columns // W * D))
        if columns == W and (part in ("embed_tokens", "lm_head") or part.isdigit()):
            return self._padded(small, (rows, D))
        raise AssetError(f"{name} of shape {tuple(small.shape)} is none of the tensors that can be enlarged.")

    def layer(self, like: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """A further layer, from the tensors of an enlarged one: it reads the text, and adds nothing to it."""
        made = dict[str, Tensor]()
        for name, tensor in like.items():
            if tensor.dim() == 1:
                made[name] = tensor
            elif name.rsplit(".", 2)[-2] in WRITING:
                made[name] = torch.zeros_like(tensor)
            else:
                made[name] = self._random(tensor.shape, tensor.dtype)
        return made

    def _reading(self, small: Tensor, rows: int) -> Tensor:
        """A matrix that reads the residual channels, one or several side by side: what it did, and random weights for
        further rows and for channels that are zero."""
        W, D = self.width, self.size.width
        made = self._random((rows, small.shape[1] // W * D), small.dtype)
        for at in range(small.shape[1] // W):
            made[: len(small), at * D : at * D + W] = small[:, at * W : (at + 1) * W]
        return made

    def _padded(self, small: Tensor, shape: tuple[int, ...]) -> Tensor:
        made = small.new_zeros(shape)
        made[tuple(slice(0, n) for n in small.shape)] = small
        return made

    def _random(self, shape: tuple[int, ...], dtype: torch.dtype) -> Tensor:
        n = math.prod(shape)
        return self._pool.to(dtype).repeat(n // POOL + 1)[:n].reshape(shape)

    @cached_property
    def _pool(self) -> Tensor:
        return torch.randn(POOL, generator=torch.Generator().manual_seed(0)) * SPREAD


def bytes_of(small: Path, size: Size) -> int:
    """Bytes that a model's folder takes at a size, about: those of its layers in two bytes a weight.

    Raises:
        AssetError: files are missing, or it is of a kind that is not known. ConfigError: the size does not fit.
    """
    enlarging, D = Enlarging(_config(small), size), size.width
    return 2 * size.layers * (2 * D * D + 2 * D * D // enlarging.group + 3 * D * size.inner)


def enlarge(small: Path, large: Path, size: Size) -> None:
    """Write an enlarged copy of a model's folder: weights layer by layer, configuration, tokenizer.

    Raises:
        AssetError: files are missing, or it is of a kind that is not known. ConfigError: the size does not fit.
    """
    config = _config(small)
    enlarging, layers = Enlarging(config, size), int(config["num_hidden_layers"])
    large.mkdir(parents=True, exist_ok=True)
    with _open(small) as file:
        names = list(file.keys())
        mine = [[name for name in names if f".layers.{i}." in name] for i in range(layers)]
        rest = [name for name in names if ".layers." not in name]

        def pieces() -> Iterator[dict[str, Tensor]]:
            yield {name: enlarging.tensor(name, file.get_tensor(name)) for name in rest}
            last = dict[str, Tensor]()
            for i in range(size.layers):
                if i < layers:
                    last = {name: enlarging.tensor(name, file.get_tensor(name)) for name in mine[i]}
                    yield last
                    continue
                if i == layers:
                    last = enlarging.layer(last)
                yield {name.replace(f".layers.{layers - 1}.", f".layers.{i}."): x for name, x in last.items()}

        _write(large, pieces(), size.layers + 1)
    _json(large / "config.json", enlarging.configured())
    for name in BESIDE:
        if (small / name).is_file():
            shutil.copyfile(small / name, large / name)


def enlarge_head(small: Path, large: Path, target: Path, size: Size) -> None:
    """Write an enlarged copy of a draft head's folder, for a target that grew from the one in `target` to that size.

    Raises:
        AssetError: files are missing, or it is of a kind that is not known. ConfigError: the size does not fit.
    """
    config, before = _config(small), int(_config(target)["num_hidden_layers"])
    enlarging = Enlarging(config, size, size.layers)
    large.mkdir(parents=True, exist_ok=True)
    enlarged = {name: enlarging.tensor(name, tensor) for name, tensor in read_weights(small).items()}
    behind = (f"model.layers.{before}.", f"model.layers.{size.layers}.")  # where an MTP head stands
    enlarged = {name.replace(*behind): tensor for name, tensor in enlarged.items()}
    save_file({name: tensor.contiguous() for name, tensor in enlarged.items()}, large / "model.safetensors")
    made = enlarging.configured()
    if "fc.weight" in enlarged and "midlayer.hidden_norm.weight" in enlarged:  # EAGLE-3: the layers that it taps stay
        made.setdefault(TAPS, list(tapped(before)))
    _json(large / "config.json", made)


def _config(folder: Path) -> dict[str, Any]:
    config = read_object(folder / "config.json")
    kind = config.get("model_type")
    if kind not in KINDS:
        raise AssetError(f"{folder} is of type {kind!r}; {', '.join(KINDS)} can be enlarged.")
    return config


def _open(folder: Path) -> Any:
    file = folder / "model.safetensors"
    if not file.is_file():
        raise AssetError(f"There is no {file}: what is enlarged has its weights in one file.")
    return safe_open(file, "pt")


def _write(folder: Path, pieces: Iterator[dict[str, Tensor]], count: int) -> None:
    where, total = dict[str, str](), 0
    for i, piece in enumerate(pieces, 1):
        name = f"model-{i:05d}-of-{count:05d}.safetensors"
        save_file({key: tensor.contiguous() for key, tensor in piece.items()}, folder / name, {"format": "pt"})
        where |= dict.fromkeys(piece, name)
        total += sum(tensor.nbytes for tensor in piece.values())
    _json(folder / INDEX, {"metadata": {"total_size": total}, "weight_map": where})


def _json(path: Path, what: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(what, indent=1) + "\n", encoding="utf-8")
