"""A transformers model as the lab needs to know it: its class, its text part, its size, where its inputs go."""

import inspect
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from transformers import (
    AutoModelForCausalLM,
    AutoModelForImageTextToText,
    AutoModelForMultimodalLM,
    AutoModelForSeq2SeqLM,
)
from transformers.modeling_outputs import BaseModelOutputWithPast
from transformers.utils import is_kernels_available

from engine import progress

LONG_ROPE = "longrope"  # its factors change for all positions once the text is longer than the original context
TEXT_NAMES = {  # of tensors in multimodal checkpoints, new and old -> in the text model alone
    r"^model\.language_model\.": "model.",
    r"^language_model\.(model|lm_head)\.": r"\1.",
    r"^language_model\.": "model.",
}
INNER_NAMES = {r"^text_model\.": ""}  # of tensors in checkpoints whose causal class is that of their text model (Emu3)
SCALES = ("logit_scale", "logits_scaling")  # of logits, which a text model applies and its multimodal form may not
CACHES = ("cache", "past_key_values", "cache_params")  # of a forward: since transformers 5.24; before; before, of Mamba
ASSISTANTS = {"gemma4_assistant": "gemma4", "gemma4_unified_assistant": "gemma4_unified"}  # type -> its targets' begins
SENSES = ("vision", "visual", "image", "audio", "video", "speech", "multi_modal", "connector", "resampler")


def auto_class(config: Any) -> Any:
    """The auto class that loads a configuration as a model that writes text; None when there is none."""
    if crossed(config):
        return AutoModelForSeq2SeqLM if type(config) in AutoModelForSeq2SeqLM._model_mapping else None
    autos = (AutoModelForCausalLM, AutoModelForImageTextToText, AutoModelForMultimodalLM, AutoModelForSeq2SeqLM)
    return next((auto for auto in autos if type(config) in auto._model_mapping), None)


def auto_classes(config: Any) -> list[tuple[Any, Any, dict[str, str]]]:
    """The ways to load what writes text, best first: auto class, configuration, and how tensors are renamed.

    Of a multimodal model first the text model alone, where transformers has one: what sees or hears is then never read.
    Of one that speaks as well (Qwen omni) what thinks: transformers takes "thinker." off its tensors' names itself.
    """
    if crossed(config):
        return [(AutoModelForSeq2SeqLM, config, {})] if auto_class(config) else []
    config = getattr(config, "thinker_config", None) or config
    text, whole = text_config(config), auto_class(config)
    scaled = any(getattr(text, name, None) not in (None, 1) for name in SCALES)
    alone = text is not config and not scaled and type(text) in AutoModelForCausalLM._model_mapping
    ways: list[tuple[Any, Any, dict[str, str]]] = [(AutoModelForCausalLM, text, TEXT_NAMES)] if alone else []
    names = INNER_NAMES if text is not config and whole is AutoModelForCausalLM else {}
    return ways + ([(whole, config, names)] if whole is not None else [])


def crossed(config: Any) -> bool:
    """Whether a configuration is an encoder-decoder's."""
    return bool(getattr(config, "is_encoder_decoder", False))


def rows_of(hf: Any) -> int:
    """Ids that a model gives logits for."""
    return int(hf.get_output_embeddings().weight.shape[0])


def width_of(config: Any) -> int:
    """Channels of the states that the output head reads."""
    return int(getattr(config, "decoder", config).hidden_size)


def text_config(config: Any) -> Any:
    """The part of a configuration that describes the layers that write text; of a text model, all of it."""
    return config if crossed(config) and not hasattr(config, "decoder") else config.get_text_config(decoder=True)


def dtype_of(config: Any) -> "torch.dtype | None":
    """The dtype of the weights as a configuration says; a multimodal one may say it of all its parts at once (Gemma 3).
    None where it says nothing."""
    return next((kind for part in (text_config(config), config) if (kind := getattr(part, "dtype", None))), None)


def multimodal(config: Any) -> bool:
    """Whether a configuration has parts that see or hear, beside its text part or, in some, within."""
    parts = getattr(type(config), "sub_configs", None) or {}
    senses = [name for name in parts if any(sense in name for sense in (*SENSES, "vq"))]
    return text_config(config) is not config or any(getattr(config, name, None) is not None for name in senses)


def drop_senses(hf: Any) -> list[str]:
    """Take the towers that see or hear out of a multimodal model; the names of those that went."""
    if text_config(hf.config) is hf.config:
        return []
    body = getattr(hf, "model", hf)
    names = [name for name, _ in body.named_children() if any(sense in name for sense in SENSES)]
    gone = [name for name in names if not name.startswith("embed")]  # tables that the text's ids go through too
    for name in gone:
        setattr(body, name, None)
    return gone


def context_of(config: Any) -> int:
    """Positions that a text model reads; with LongRoPE those in which its rotation is one and the same."""
    most = int(getattr(config, "max_position_embeddings", 0) or 2048)
    rope = getattr(config, "rope_parameters", None) or {}
    if rope.get("rope_type") == LONG_ROPE:
        original = rope.get("original_max_position_embeddings") or getattr(
            config, "original_max_position_embeddings", None
        )
        return min(most, int(original or most))
    return most


def quantised(hf: Any) -> str:
    """How the weights are packed, such as "gptq" or "torchao"; empty for plain ones."""
    method = getattr(getattr(hf, "hf_quantizer", None), "quantization_config", None)
    kind = getattr(method, "quant_method", "") if method is not None else ""
    return str(getattr(kind, "value", kind))


def packing_config(config: Any) -> Any:
    """What a configuration, or its text part's, says of packed weights; None for plain ones. Those in FP8 are to be
    unpacked where the package is missing without which transformers ends at the first pass on a GPU."""
    parts = (config, text_config(config))
    about = next((found for part in parts if (found := getattr(part, "quantization_config", None))), None)
    if isinstance(about, dict) and about.get("quant_method") == "fp8" and not is_kernels_available():
        return about | {"dequantize": True}
    return about


def packed(config: Any) -> str:
    """How a checkpoint's weights are packed, by its configuration; empty for plain ones."""
    about = packing_config(config) or {}
    if isinstance(about, dict):
        early = "bitsandbytes" if about.get("load_in_4bit") or about.get("load_in_8bit") else ""
        kind = about.get("quant_method") or early
    else:
        kind = getattr(about, "quant_method", "")
    return str(getattr(kind, "value", kind))


def packing_said(how: str, *, unpacked: bool) -> str:
    """A sentence about packed weights: they stay so, or are unpacked (FP8 where nothing computes in it)."""
    return (
        f"The weights are stored packed by {how} and unpacked at load."
        if unpacked
        else f"The weights are packed by {how}."
    )


def cache_name(forward: Callable[..., Any]) -> str:
    """What a forward calls the cache that it is given; empty when it takes none."""
    known = inspect.signature(forward).parameters
    return next((name for name in CACHES if name in known), "")


class Given(BaseModelOutputWithPast):  # type: ignore[misc]
    """What the layers of a network would give: these rows, and None for whatever else is asked of it."""

    def __getattr__(self, name: str) -> None:
        if name.startswith("__"):
            raise AttributeError(name)


def bodies_of(hf: Any) -> list[Any]:
    """The modules whose output the head of a network reads: its layers with what is before them. There may be several,
    one inside the other, since some networks call the inner one past the outer."""
    head = hf.get_output_embeddings()
    found = [one for one in (hf.base_model, getattr(hf, "model", None), hf.get_decoder()) if one is not None]
    parts = list[Any]()
    for one in found:
        if one is not hf and one is not head:  # ModernBERT calls its head a decoder
            parts += bodies_of(one) if any(module is head for module in one.modules()) else [one]
    return list(dict.fromkeys(parts))


def logits_of(hf: Any, last_TD: Tensor, **inputs: Any) -> Tensor:
    """Logits [T, V] of final-normed rows, with all that a network does to them after its layers: scalings, soft caps,
    biases. Its own forward makes them of these `inputs`, the rows standing in for what its layers give."""
    before = {body: body.__dict__.get("forward") for body in bodies_of(hf)}  # accelerate's, of a model that is spread
    given = Given(last_hidden_state=last_TD[None])
    try:
        for body in before:
            body.forward = lambda *_, **__: given
        logits: Tensor = hf(**inputs, use_cache=False).logits[0]
    finally:
        for body, own in before.items():
            body.__dict__.pop("forward", None)
            if own is not None:
                body.forward = own
    return logits


def size_of(hf: Any) -> tuple[int, int]:
    """Parameters, a packed weight counting as what it stands for, and bytes of the weights, wherever they are."""
    stored = dict((*hf.named_parameters(), *_kept_buffers(hf)))
    if quantised(hf) or any(x.is_meta for x in stored.values()):
        whole = _outline(hf)
        stored = {name: x for name, x in stored.items() if name in whole or not _shares(hf, name)}
        return sum(whole.values()), sum(map(_bytes, stored.values()))
    weights = {p.data_ptr(): p for p in hf.parameters()}.values()
    return sum(p.numel() for p in weights), sum(map(_bytes, weights))


def home_of(hf: Any) -> torch.device:
    """The device that token ids are sent to; of weights that are offloaded, the one they are run on."""
    table = hf.get_input_embeddings()
    device: torch.device = table.weight.device
    if device.type != "meta":
        return device
    return torch.device(getattr(getattr(table, "_hf_hook", None), "execution_device", None) or "cpu")


def devices_of(hf: Any, home: torch.device) -> tuple[torch.device, ...]:
    """The devices that hold weights, in order, and the home of the ids; offloaded weights are on none."""
    return tuple(dict.fromkeys((home, *(p.device for p in hf.parameters() if p.device.type != "meta"))))


def offloaded(hf: Any) -> dict[str, float]:
    """Places other than a device that weights wait in, "cpu" or "disk", each with its share of all parameters."""
    places = {str(module): str(place) for module, place in (getattr(hf, "hf_device_map", None) or {}).items()}
    weights = dict(hf.named_parameters())
    found = dict[str, float]()
    for name, weight in weights.items():
        inside = [module for module in places if not module or f"{name}.".startswith(f"{module}.")]
        if weight.is_meta and inside:
            place = places[max(inside, key=len)]
            found[place] = found.get(place, 0) + weight.numel()
    total = sum(weight.numel() for weight in weights.values())
    return {place: n / total for place, n in found.items()}


@progress.alone()
def count(config: Any) -> int:
    """Parameters of the model that a configuration describes, tied ones once, without reading any."""
    auto, part, _ = auto_classes(config)[0]
    with torch.device("meta"):
        outline = auto.from_config(part)
    drop_senses(outline)
    return sum(p.numel() for p in outline.parameters())


def plain(hf: Any) -> bool:
    """Whether all weights are ordinary tensors that lie where they are used."""
    return not quantised(hf) and all(
        type(p.data) is Tensor and p.device.type != "meta" for p in hf.parameters() if p is not None
    )


def _outline(hf: Any) -> dict[str, int]:
    """Numbers of each weight by its name, tied ones once, as the configuration says."""
    with torch.device("meta"):
        outline = type(hf)(hf.config)
    drop_senses(outline)
    return {name: p.numel() for name, p in outline.named_parameters()}


def _shares(hf: Any, name: str) -> bool:
    """Whether a weight is another's under a second name."""
    return name in (getattr(hf, "all_tied_weights_keys", None) or {})


def _kept_buffers(hf: Any) -> list[tuple[str, Tensor]]:
    """Buffers that checkpoints hold, such as the packed weights of GPTQ and AWQ."""
    if not quantised(hf):
        return []
    skipped = {
        f"{prefix}.{name}" if prefix else name
        for prefix, module in hf.named_modules()
        for name in module._non_persistent_buffers_set
    }
    return [(name, x) for name, x in hf.named_buffers() if name not in skipped]


def _bytes(x: Tensor) -> int:
    """Bytes of a tensor, or of the parts that a packed one is made of."""
    if type(x) in (Tensor, nn.Parameter) or not hasattr(x, "__tensor_flatten__"):
        return x.numel() * x.element_size()
    return sum(_bytes(getattr(x, name)) for name in x.__tensor_flatten__()[0])
