"""From a network with its tokenizer to the lab's model: which decoder runs it, what of it is refused, and what a reader
is told."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from engine.errors import ConfigError, ModelMismatch
from engine.model import network
from engine.model.decoder import Decoder, chains_told
from engine.model.generation import untold
from engine.model.generic import GenericDecoder
from engine.model.graphs import graphed
from engine.model.lean import lean_from
from engine.model.model import Model
from engine.model.seq2seq import parts_of
from engine.model.tokens import Tokenizer, stops_of
from engine.model.trial import fault
from engine.model.ways import obstacle, ways

SPARSE = "Some layers read only the {most} positions that they score highest; of such that score alike, any."
UNCAPTURED = "Its passes are not captured"  # as notes begin that say why


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
    devices, waiting = network.devices_of(hf, device), network.offloaded(hf)
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
            *_notes(network.multimodal(config), decoder, packing, stored, context, text),
            *untold(hf.generation_config),
            *_spread(devices),
            *_waiting(waiting),
            *_captured(why),
        ),
        config=text.to_dict(),
        graphs=graphs,
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
        lean=not parts.decoder.why_chains,
        devices=network.devices_of(hf, device),
        notes=(*parts.notes, *_waiting(network.offloaded(hf))),
        seam=parts.seam,
        source_context=parts.context[0],
    )


def _generic(hf: Any, name: str, text: Any, context: int, trial: tuple[int, torch.device] | None) -> GenericDecoder:
    """The first decoder through transformers itself that stands its trial, with so many ids on a device.

    Raises:
        ModelMismatch: the network reads in both directions, or no way is exact in pieces.
    """
    if reason := obstacle(hf):
        raise ModelMismatch(f"{name} {reason}")
    for decoder in ways(hf, text, context):
        if not (wrong := fault(hf, decoder, *trial) if trial else ""):
            return decoder
        decoder.let_go()
    raise ModelMismatch(f"{name} {wrong}, so no draft could be checked.")


def _notes(multimodal: bool, decoder: Decoder, packing: str, stored: str, context: int, text: Any) -> list[str]:
    """What a reader should know of how this checkpoint is used; `stored`: how its files are packed."""
    most = int(getattr(text, "max_position_embeddings", 0) or context)
    kinds = getattr(text, "layer_types", None) or ()
    return [
        *(["Text only: the parts that see or hear are not used."] if multimodal else []),
        *chains_told(decoder.why_chains),
        *([decoder.slow] if isinstance(decoder, GenericDecoder) and decoder.slow else []),
        *([SPARSE.format(most=getattr(text, "index_topk", None) or "few")] if "indexed_attention" in kinds else []),
        *([network.packing_said(stored or packing, unpacked=not packing)] if stored or packing else []),
        *([f"Read up to {context} of {most} positions, where its rotation does not change."] if context < most else []),
    ]


def _spread(devices: Sequence[torch.device]) -> list[str]:
    return [f"Its layers are spread over {', '.join(map(str, devices))}."] if len(devices) > 1 else []


def _waiting(places: Mapping[str, float]) -> list[str]:
    """How much of the weights lies elsewhere than on a device, by place."""
    told = {"cpu": "in CPU memory", "disk": "on disk"}
    return [
        f"Offloaded: {100 * share:.0f} % of its weights lie {told.get(place, place)} and are read at every pass."
        for place, share in places.items()
    ]


def _captured(why_not: str) -> list[str]:
    return [f"{UNCAPTURED}: {why_not}."] if why_not else []


def _stop_ids(hf: Any, tokenizer: Any) -> list[int]:
    """Every id that ends a text: of the generation config, the model config and the tokenizer."""
    told = (hf.generation_config, network.text_config(hf.config), tokenizer)
    return stops_of(*(getattr(one, "eos_token_id", None) for one in told))
