"""The ways in which a network may be run through transformers, best first.

Most take positions and masks from outside, and check trees. Others go on with one text alone and check chains: some of
them keep running states, or place tokens by the slots they stand in. Of the rest whatever they keep is left unused.
"""

import inspect
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from engine.model.decoder import New
from engine.model.generic import GenericDecoder
from engine.model.layers import Layers, layers_of
from engine.model.network import cache_name, text_config

STATES = "some layers keep one running state"
PLACES = "it takes no positions from outside"
SLOTS = "its local attention counts slots, not positions"
UNKEPT = "what it keeps cannot be cut back to the accepted tokens"
STEPWISE = ("falcon_mamba", "jamba", "mamba", "mamba2")  # types that read on from their states one token at a time only
AT_ODDS = (  # types of which `generate` places or sees tokens otherwise than a plain forward, from the start or later
    *("camembert", "data2vec-text", "hrm_text", "moshi"),
    *("roberta", "roberta-prelayernorm", "xlm-roberta", "xlm-roberta-xl"),
)


def obstacle(hf: Any) -> str:
    """Why this network can check no draft whatever; empty when nothing is known."""
    text = text_config(hf.config)
    if hf.config.model_type in AT_ODDS:
        return (
            "writes otherwise by transformers' own generate than by its forward, so none of its texts could be checked."
        )
    if getattr(text, "use_bidirectional_attention", None) is True:  # some say of which tokens
        return "reads its prompt in both directions, so that nothing it has read can be kept when tokens follow."
    if "lsh" in (getattr(text, "attn_layers", None) or ()):
        return "attends by hashes that are drawn at random, so that no two passes need be alike."
    return ""


def ways(hf: Any, text: Any, context: int) -> Iterator[GenericDecoder]:
    """Decoders for a network whose text part has the configuration `text`. The first is right as far as is known; the
    last knows least of it."""
    try:
        layers, unkept = layers_of(text, context), "" if cache_name(hf.forward) else "keeps no key-value cache"
    except ValueError as error:
        layers, unkept = Layers(), str(error)
    if not unkept:
        placed = "position_ids" in inspect.signature(hf.forward).parameters and not getattr(hf.config, "alibi", False)
        why = STATES if layers.keeps_states else SLOTS if layers.by_slot else "" if placed else PLACES
        placed = placed and not layers.by_slot
        if text.model_type not in STEPWISE:
            yield GenericDecoder(hf, layers, why, placed=placed)
        if layers.keeps_states:
            yield GenericDecoder(hf, layers, why, placed=placed, stepwise=True)
    yield RereadingDecoder(hf, f"it {unkept}" if unkept else UNKEPT)


class Text:
    """What a network that keeps nothing has read."""

    length = 0

    def __init__(self, device: torch.device) -> None:
        self.ids = torch.empty(0, dtype=torch.long, device=device)

    def gather(self, start: int, slots: Sequence[int]) -> None:
        """Nothing: accepted tokens of a chain stand where they stood."""

    def crop(self, n: int) -> None:
        self.ids = self.ids[:n]

    def back(self, n: int) -> int:
        """Any place can be gone on from."""
        return n

    def mark(self) -> None:
        """Nothing need be kept."""


class RereadingDecoder(GenericDecoder):
    """Reads the whole text at every pass: slow, and right for every causal network."""

    def __init__(self, hf: Any, why_chains: str) -> None:
        super().__init__(hf, Layers(), why_chains, placed=False)
        self.slow = "Every pass reads the whole text again."

    def cache(self, capacity: int) -> Any:
        return Text(self.hf.get_input_embeddings().weight.device)

    def _given(self, cache: Any, new: New, pos: Tensor) -> dict[str, Any]:
        cache.ids = torch.cat((cache.ids[: new.start], new.ids))
        return {"input_ids": cache.ids[None], "use_cache": False}
