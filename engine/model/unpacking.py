"""Weights packed into few bits by GPTQ, AWQ or compressed-tensors, unpacked while a checkpoint is read.

What runs are the plain matrices that they stand for: no package of theirs is needed, the model is as any other of its
type afterwards, and takes the memory of one. transformers does the reading; what is here is one step of its own for
each weight (`Unpack`), and what that step has to know (`Packing`).

All three hold a matrix as whole numbers q below 2^bits, several in one int32, with a scale s and a zero point z for
each output and group of inputs: w = (q - z) s. They differ in how numbers lie:

- GPTQ (AutoGPTQ, GPTQModel): `qweight` [I / n, O], the n numbers of an int32 going down the inputs; `qzeros`
  [G, O / n], going along the outputs, and one less than they mean in the first version of the format; `scales` [G, O];
  `g_idx` [I], the group of each input, which with `desc_act` is in no order.
- AWQ (AutoAWQ's "gemm"): `qweight` [I, O / 8] and `qzeros` [G, O / 8], both along the outputs, the eight of an int32
  in the order 0, 2, 4, 6, 1, 3, 5, 7; `scales` [G, O].
- compressed-tensors (`pack-quantized`): `weight_packed` [O, I / n] along the inputs, `weight_scale` [O, G],
  `weight_zero_point` [O / n, G] or, symmetric, none; `weight_shape` without padding, and perhaps `weight_g_idx`.

Dimension key: I inputs, O outputs, G groups of inputs, n numbers of an int32.
"""

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from transformers.core_model_loading import ConversionOps
from transformers.quantizers import HfQuantizer, register_quantization_config, register_quantizer
from transformers.utils.quantization_config import QuantizationConfigMixin

from engine.errors import ModelMismatch
from engine.model.hub import unpackable
from engine.model.network import packed

METHOD = "unpacked"  # what transformers knows our way of reading by
BITS = (2, 4, 8)  # sizes that fill an int32
AWQ_ORDER = (0, 4, 1, 5, 2, 6, 3, 7)  # where in its int32 each output of eight lies
NAMES = {
    "gptq": ("qweight", "qzeros", "scales", "g_idx"),
    "awq": ("qweight", "qzeros", "scales"),
    "compressed-tensors": (
        "weight_packed",
        "weight_scale",
        "weight_zero_point",
        "weight_shape",
        "weight_g_idx",
    ),
}  # way of packing -> the tensors that stand for a weight
Parts = Mapping[str, Tensor]


@dataclass(frozen=True)
class Packing:
    """How the weights of one checkpoint are packed."""

    how: str
    bits: int
    group: int  # inputs of a group; -1 for all
    plus: int = 0  # what zero points are less than they mean
    faults: list[str] = field(default_factory=list)  # found while weights were read; transformers only logs them

    def __deepcopy__(self, memo: object) -> "Packing":
        """Itself: transformers copies configurations, and faults are to be found where they are looked for."""
        return self

    def matrix(self, parts: Parts) -> Tensor:
        """The matrix that some tensors stand for [O, I], in fp32.

        Raises:
            ValueError: they do not fit together.
        """
        if self.how == "compressed-tensors":
            return self._compressed(parts)
        awq = self.how == "awq"
        order = AWQ_ORDER if awq else range(32 // self.bits)
        q_IO = _numbers(_part(parts, "qweight"), self.bits, int(awq), order)
        zeros_GO = _numbers(_part(parts, "qzeros"), self.bits, 1, order)
        zeros_GO = (zeros_GO + self.plus) & (2**self.bits - 1)
        return self._restored(q_IO, zeros_GO, _part(parts, "scales"), parts.get("g_idx")).t()

    def _compressed(self, parts: Parts) -> Tensor:
        rows, columns = _part(parts, "weight_shape").tolist()
        order, scales = range(32 // self.bits), _part(parts, "weight_scale").t()
        q = _numbers(_part(parts, "weight_packed"), self.bits, 1, order)[:rows, :columns]
        if tuple(q.shape) != (rows, columns):
            raise ValueError(f"weight_packed holds {tuple(q.shape)} numbers, where weight_shape says {rows, columns}")
        zeros = parts.get("weight_zero_point")
        if zeros is None:
            found = torch.full_like(scales, 2 ** (self.bits - 1), dtype=torch.uint8)
        elif zeros.dtype == torch.int32:
            found = _numbers(zeros, self.bits, 0, order)[:rows].t()
        else:
            found = (zeros.t().to(torch.int16) + 2 ** (self.bits - 1)).to(torch.uint8)
        return self._restored(q.t(), found, scales, parts.get("weight_g_idx")).t()

    def _restored(self, q_IO: Tensor, zeros_GO: Tensor, scales_GO: Tensor, group_I: Tensor | None) -> Tensor:
        """(q - z) s [I, O], in fp32."""
        inputs, outputs = q_IO.shape
        if group_I is None:
            size = inputs if self.group < 1 else self.group
            group_I = torch.arange(inputs, device=q_IO.device) // size
        groups = int(group_I.max()) + 1
        if scales_GO.shape != zeros_GO.shape or scales_GO.shape[1] != outputs or len(group_I) != inputs:
            raise ValueError(
                f"{inputs} inputs and {outputs} outputs do not fit scales {tuple(scales_GO.shape)}, zero points "
                f"{tuple(zeros_GO.shape)} and groups {tuple(group_I.shape)}"
            )
        if int(group_I.min()) < 0 or groups > len(scales_GO):
            raise ValueError(f"inputs belong to {groups} groups, and there are scales for {len(scales_GO)}")
        group_I = group_I.long()
        return q_IO.float().sub_(zeros_GO[group_I]).mul_(scales_GO[group_I])


def packing_of(config: Any, name: str) -> Packing | None:
    """How a checkpoint is packed, where its weights are unpacked here; None for all others.

    Raises:
        ModelMismatch: a variety that is not understood, with the reason.
    """
    how, about = packed(config), getattr(config, "quantization_config", None)
    if how not in NAMES or not isinstance(about, dict):
        return None
    try:
        return _compressed(about) if how == "compressed-tensors" else _grouped(how, about)
    except (ValueError, TypeError, AttributeError) as error:  # whatever may stand in a damaged configuration
        raise ModelMismatch(unpackable(name, how, error)) from error


def unpacking(config: Any, part: Any, packing: Packing | None) -> Any:
    """The configuration of a model or of its text part, by which transformers unpacks the weights as it reads them.
    What a multimodal model's says of packed weights holds for its part, too."""
    about = getattr(config, "quantization_config", None)
    if about is None:
        return part
    made = copy(part)
    made.quantization_config = {"quant_method": METHOD, "packing": packing} if packing else about
    return made


def _grouped(how: str, about: Mapping[str, Any]) -> Packing | None:
    """Of GPTQ and AWQ.

    Raises:
        ValueError: what is not understood.
    """
    bits = int(about.get("bits") or about.get("w_bit") or 4)
    group = about.get("group_size") or about.get("q_group_size")
    known = BITS if how == "gptq" else (4,)
    if bits not in known:
        raise ValueError(f"{bits} bits, where {_either(known)} are understood")
    if how == "awq":
        kind = str(about.get("version") or about.get("format") or "gemm").lower()
        if kind != "gemm":
            raise ValueError(f"it is laid out for {kind}, where gemm is understood")
        return Packing(how, bits, int(group or 128))
    kind = str(about.get("checkpoint_format") or about.get("format") or "gptq").lower()
    if kind not in ("gptq", "gptq_v2") or about.get("is_marlin_format"):
        kind = "marlin" if about.get("is_marlin_format") else kind
        raise ValueError(f"it is laid out for {kind}, where gptq and gptq_v2 are understood")
    return Packing(how, bits, int(group or -1), plus=int(kind == "gptq"))


def _compressed(about: Mapping[str, Any]) -> Packing | None:
    """Of compressed-tensors; None of the formats that are left to its own package.

    Raises:
        ValueError: what is not understood.
    """
    groups = list((about.get("config_groups") or {}).values())
    kinds = {str(one.get("format") or about.get("format")) for one in groups}
    if kinds != {"pack-quantized"}:
        return None
    weights = [one.get("weights") or {} for one in groups]
    sizes = {(int(one.get("num_bits") or 0), int(one.get("group_size") or -1)) for one in weights}
    bits, group = sizes.pop()
    if sizes:
        raise ValueError("its layers are packed in several ways")
    if bits not in BITS or any(one.get("type", "int") != "int" for one in weights):
        raise ValueError(f"{bits} bits of {weights[0].get('type', 'int')}, where {_either(BITS)} of int are understood")
    if wrong := next((one["strategy"] for one in weights if one.get("strategy") not in (None, "group", "channel")), ""):
        raise ValueError(f"its scales go by {wrong}, where group and channel are understood")
    if any(one.get("input_activations") or one.get("output_activations") for one in groups):
        raise ValueError("what goes into its layers would have to be rounded, too")
    if about.get("kv_cache_scheme"):
        raise ValueError("its keys and values would have to be rounded, too")
    if about.get("transform_config") or (about.get("sparsity_config") or {}).get("format", "dense") != "dense":
        raise ValueError("its weights are sparse or turned, too")
    return Packing("compressed-tensors", bits, group)


def _either(numbers: Sequence[int]) -> str:
    return " or ".join(map(str, numbers))


def _part(parts: Parts, name: str) -> Tensor:
    if name not in parts:
        raise ValueError(f"{name} is missing")
    return parts[name]


def _numbers(x: Tensor, bits: int, dim: int, order: Sequence[int]) -> Tensor:
    """The whole numbers that the int32 of a matrix hold, spread along a dimension, as uint8; `order` tells the place of
    each in its int32, counted from the lowest bits.

    Raises:
        ValueError: no matrix of int32.
    """
    if x.dtype != torch.int32 or x.dim() != 2:
        raise ValueError(f"packed numbers are {x.dtype} {tuple(x.shape)}, where a matrix of int32 is understood")
    mask = 2**bits - 1
    return torch.stack([((x >> bits * place) & mask).to(torch.uint8) for place in order], dim + 1).flatten(dim, dim + 1)


class Unpack(ConversionOps):  # type: ignore[misc]
    """The step of transformers' reading that makes plain weights of packed ones."""

    supports_many_to_many = True

    def __init__(self, hf_quantizer: Any) -> None:
        self.hf_quantizer = hf_quantizer

    def convert(
        self,
        input_dict: Mapping[str, Any],
        source_patterns: Sequence[str] = (),
        full_layer_name: str = "",
        model: Any = None,
        **_: Any,
    ) -> dict[str, Any]:
        """The plain weights of what was collected for one weight of the model, by their pattern: of a mixture, a list
        with one for each expert."""
        packing: Packing = self.hf_quantizer.quantization_config.packing
        at, leaf = full_layer_name.rpartition(".")[::2]
        module = model.get_submodule(at)
        like = getattr(module, leaf)
        made = dict[str, Any]()
        try:
            for start, tensors in _by_weight(input_dict, source_patterns, NAMES[packing.how]):
                plain = [x.to(like.dtype) for x in _plain(packing, tensors)]
                if start:
                    made[f"{start}weight"] = plain
                    continue
                found = plain[0].t() if type(module).__name__ == "Conv1D" and "weight" not in tensors else plain[0]
                if found.shape != like.shape:
                    raise ValueError(f"it stands for {tuple(found.shape)} numbers, not for {tuple(like.shape)}")
                made[full_layer_name] = found.contiguous()
        except (ValueError, IndexError) as error:
            packing.faults.append(f"{at}: {error}")
            raise
        return made


def _plain(packing: Packing, tensors: Mapping[str, list[Tensor]]) -> Iterator[Tensor]:
    """Each of the weights that some tensors stand for, `tensors` with one of each kind for each weight.

    Raises:
        ValueError: they do not fit together.
    """
    if "weight" in tensors:
        if len(tensors) > 1:
            raise ValueError(f"weight stands beside {', '.join(sorted({*tensors} - {'weight'}))}")
        yield from tensors["weight"]
        return
    numbers = {len(found) for found in tensors.values()}
    if len(numbers) > 1:
        raise ValueError("some experts lack what others have")
    for i in range(numbers.pop()):
        yield packing.matrix({name: found[i] for name, found in tensors.items()})


def _by_weight(
    given: Mapping[str, Any], patterns: Sequence[str], names: Sequence[str]
) -> Iterator[tuple[str, dict[str, list[Tensor]]]]:
    """What was collected, by how its patterns begin, in the order of the patterns; then by the name they end in."""
    found = dict[str, dict[str, list[Tensor]]]()
    for pattern in patterns:
        name = next(one for one in (*sorted(names, key=len, reverse=True), "weight") if pattern.endswith(one))
        if pattern in given:
            tensors = given[pattern]
            kept = found.setdefault(pattern.removesuffix(name), {})
            kept[name] = tensors if isinstance(tensors, list) else [tensors]
    yield from found.items()


@register_quantization_config(METHOD)
class UnpackedConfig(QuantizationConfigMixin):  # type: ignore[misc]
    """A configuration of packed weights that are plain ones afterwards."""

    dequantize = True

    def __init__(self, packing: Packing, quant_method: str = METHOD) -> None:
        self.packing, self.quant_method = packing, quant_method


@register_quantizer(METHOD)
class Unpacker(HfQuantizer):  # type: ignore[misc]
    """What transformers asks about packed weights that are plain ones afterwards."""

    def __init__(self, quantization_config: UnpackedConfig, **options: Any) -> None:
        super().__init__(quantization_config, **options)
        self.serialized_names = {"weight": ["weight", *NAMES[quantization_config.packing.how]]}

    def get_load_operations(self) -> dict[str, Any]:
        """See `HfQuantizer`."""
        return {"dequantize": Unpack}

    def is_serializable(self) -> bool:
        """See `HfQuantizer`."""
        return False

    @property
    def is_trainable(self) -> bool:
        """See `HfQuantizer`."""
        return False
