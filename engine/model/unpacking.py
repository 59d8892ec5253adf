"""Weights packed into few bits, unpacked while a checkpoint is read.

What runs are the plain matrices that they stand for (`engine/model/fewbits.py`): no package of theirs is needed, the
model is as any other of its type afterwards, and takes the memory of one. transformers does the reading; what is here
is what configurations say of the packing (`packing_of`), and one step of its own for each weight (`Unpack`).
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from typing import Any

from torch import Tensor, nn
from transformers.core_model_loading import ConversionOps
from transformers.pytorch_utils import Conv1D
from transformers.quantizers import HfQuantizer, register_quantization_config, register_quantizer
from transformers.quantizers.auto import AUTO_QUANTIZER_MAPPING
from transformers.utils.quantization_config import QuantizationConfigMixin

from engine.errors import ModelMismatch
from engine.model.fewbits import NAMES, Packing, either
from engine.model.hub import unpackable
from engine.model.network import packed, packing_config

METHOD = "unpacked"  # what transformers knows our way of reading by
BITS = {"gptq": (2, 3, 4, 8), "gptq_v2": (2, 3, 4, 8), "gptq_p": (2, 3, 4, 5, 6, 7, 8), "gemm": (4,)}  # by layout
LAYOUTS = {  # of AutoRound, by what its packing formats begin with
    **dict.fromkeys(("auto", "gptq", "auto_gptq"), "gptq"),
    **dict.fromkeys(("", "exllamav2", "triton", "tritonv2", "gptqmodel"), "gptq_v2"),
    **dict.fromkeys(("awq", "auto_awq"), "gemm"),
}
TURNED = ("rotation", "rotation_config", "spinquant_config", "transform_config")  # of what goes into layers, too


def packing_of(config: Any, name: str) -> Packing | None:
    """How a checkpoint is packed, where its weights are unpacked here; None for all others.

    Raises:
        ModelMismatch: a way or a variety that is not understood, with the reason.
    """
    how, about = packed(config), packing_config(config)
    if not about or not isinstance(about, dict):
        return None
    try:
        if how in READERS:
            return READERS[how](about)
        if not how:
            raise ValueError("its quantization_config names no quant_method, as those of MLX do not")
        if (how not in AUTO_QUANTIZER_MAPPING and how != "bitsandbytes") or how == METHOD:
            raise ValueError("neither this lab nor transformers knows it")
    except (ValueError, TypeError, AttributeError) as error:  # whatever may stand in a damaged configuration
        raise ModelMismatch(unpackable(name, how, error)) from None
    return None


def unpacking(config: Any, part: Any, packing: Packing | None) -> Any:
    """The configuration of a model or of its text part, by which transformers unpacks the weights as it reads them.
    What a multimodal model's says of packed weights holds for its part, too, and the other way round."""
    about = packing_config(config)
    if about is None:
        return part
    made = copy(part)
    made.quantization_config = {"quant_method": METHOD, "packing": packing} if packing else about
    return made


def _gptq(about: Mapping[str, Any]) -> Packing:
    """Of GPTQ and GPTQModel.

    Raises:
        ValueError: what is not understood.
    """
    if about.get("is_marlin_format"):
        raise ValueError("it is laid out for marlin, where gptq, gptq_v2 and gptq_p are understood")
    known = ("gptq", "gptq_v2", "gptq_p")
    return _packing(about, about.get("dynamic"), lambda one: _layouts(one, ("checkpoint_format", "format"), known))


def _awq(about: Mapping[str, Any]) -> Packing:
    """Of AWQ.

    Raises:
        ValueError: what is not understood.
    """
    keys = ("version", "format", "checkpoint_format")
    return _packing({"q_group_size": 128, **about}, about.get("dynamic"), lambda one: _layouts(one, keys, ("gemm",)))


def _auto_round(about: Mapping[str, Any]) -> Packing:
    """Of AutoRound; earlier ones called the format `backend`.

    Raises:
        ValueError: what is not understood.
    """
    said = str(about.get("packing_format") or about.get("backend") or "auto").lower()
    layout = LAYOUTS.get(re.sub(r"^auto[_-]?round:?", "", said).partition(":")[0])
    if layout is None:
        raise ValueError(
            f"it is laid out for {said}, where auto_round, auto_round:auto_gptq, auto_round:gptqmodel and "
            "auto_round:auto_awq are understood"
        )
    for one in (about, *(about.get("extra_config") or {}).values()):
        kind = str(one.get("data_type") or "int")
        if _size(one) <= 8 and kind not in ("int", "int_sym", "int_asym"):
            raise ValueError(f"its numbers are {kind}, where int is understood")
        if int(one.get("act_bits") or 16) < 16:
            raise ValueError("what goes into its layers would have to be rounded, too")
    return _packing({"bits": 4, "group_size": 128, **about}, about.get("extra_config"), lambda one: (layout,))


def _packing(
    about: Mapping[str, Any],
    overrides: Mapping[str, Any] | None,
    layouts_of: Callable[[Mapping[str, Any]], Iterable[str]],
) -> Packing:
    """Of GPTQ, AWQ and AutoRound: what most layers have, and what some have instead. A name that begins with "-:" is of
    layers that are not packed, and so is one with more than 8 bits.

    Raises:
        ValueError: what is not understood.
    """
    if turned := next((name for name in TURNED if about.get(name)), ""):
        raise ValueError(f"what goes into its layers would have to be turned, too ({turned})")
    others = [one or {} for name, one in (overrides or {}).items() if not name.startswith("-:")]
    some = [{**about, **{key: value for key, value in one.items() if value is not None}} for one in others]
    ways = [about, *(one for one in some if _size(one) <= 8)]
    layouts = sorted({layout for one in ways for layout in layouts_of(one)})
    if len(layouts) > 1:
        raise ValueError(f"its layers are laid out in several ways: {', '.join(layouts)}")
    bits, known = tuple(sorted({_size(one) for one in ways})), BITS[layouts[0]]
    if odd := [size for size in bits if size not in known]:
        raise ValueError(f"{odd[0]} bits, where {either(known)} are understood")
    groups = tuple(sorted({int(one.get("group_size") or one.get("q_group_size") or -1) for one in ways}))
    return Packing(layouts[0], bits, groups, shuffled=any(one.get("desc_act") for one in ways))


def _layouts(about: Mapping[str, Any], keys: Sequence[str], known: Sequence[str]) -> set[str]:
    """The layouts that some keys name, or the first of those known.

    Raises:
        ValueError: one of them is none of these.
    """
    layouts = {str(about[key]).lower() for key in keys if about.get(key)} or {known[0]}
    if odd := sorted(layouts - {*known}):
        raise ValueError(f"it is laid out for {odd[0]}, where {_listed(known)} understood")
    return layouts


def _size(about: Mapping[str, Any]) -> int:
    """Bits of a number."""
    return int(about.get("bits") or about.get("w_bit") or 4)


def _compressed(about: Mapping[str, Any]) -> Packing | None:
    """Of compressed-tensors; None of the formats that are left to its own package.

    Raises:
        ValueError: what is not understood.
    """
    ways = list((about.get("config_groups") or {}).values())
    if {str(one.get("format") or about.get("format")) for one in ways} != {"pack-quantized"}:
        return None
    weights = [one.get("weights") or {} for one in ways]
    for one in weights:
        bits, kind, scales = int(one.get("num_bits") or 0), one.get("type", "int"), one.get("strategy") or "group"
        if not 2 <= bits <= 8 or kind != "int":
            raise ValueError(f"{bits} bits of {kind}, where 2 to 8 of int are understood")
        if scales not in ("group", "channel"):
            raise ValueError(f"its scales go by {scales}, where group and channel are understood")
    if any(one.get("input_activations") or one.get("output_activations") for one in ways):
        raise ValueError("what goes into its layers would have to be rounded, too")
    if about.get("kv_cache_scheme"):
        raise ValueError("its keys and values would have to be rounded, too")
    if about.get("transform_config") or (about.get("sparsity_config") or {}).get("format", "dense") != "dense":
        raise ValueError("its weights are sparse or turned, too")
    return Packing(
        "pack-quantized",
        tuple(sorted({int(one["num_bits"]) for one in weights})),
        tuple(sorted({int(one.get("group_size") or -1) for one in weights})),
        shuffled=any(one.get("actorder") in ("group", "dynamic") for one in weights),
    )


READERS: Mapping[str, Callable[[Mapping[str, Any]], Packing | None]] = {
    "gptq": _gptq,
    "awq": _awq,
    "auto-round": _auto_round,
    "intel/auto-round": _auto_round,  # as AutoRound called itself until 0.5
    "compressed-tensors": _compressed,
}  # way of packing -> what reads its configuration


def _listed(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]} are" if names[1:] else f"{names[0]} is"


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
            for start, tensors in _by_weight(input_dict, source_patterns, NAMES[packing.layout]):
                plain = [x.to(like.dtype) for x in _plain(packing, tensors)]
                if start:
                    made[f"{start}weight"] = plain
                    continue
                turned = isinstance(module, (Conv1D, nn.Embedding)) and "weight" not in tensors
                found = plain[0].t() if turned else plain[0]
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
        self.serialized_names = {"weight": ["weight", *NAMES[quantization_config.packing.layout]]}

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
