"""The ways in which a network may be run through transformers, best first.

Most take positions and masks from outside, and check trees. Others go on with one text alone and check chains: some of
them keep running states, or place tokens by the slots they stand in; of some that keep things of their own these are
copied, to go back to. Of the rest whatever they keep is left unused.
"""

import inspect
from collections.abc import Iterator
from typing import Any

from engine.model.generic import GenericDecoder
from engine.model.layers import Layers, layers_of
from engine.model.network import cache_name, text_config
from engine.model.onward import CopyingDecoder, RereadingDecoder

STATES = "some layers keep one running state"
PLACES = "it takes no positions from outside"
SLOTS = "its local attention counts slots, not positions"
CACHELESS = "it keeps no key-value cache"
UNKEPT = "what it keeps cannot be cut back to the accepted tokens"
OWN = ("state",)  # names of what a forward is given of its past where that is no cache (RWKV)
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
    known, name = inspect.signature(hf.forward).parameters, cache_name(hf.forward)
    try:
        layers, why_not = layers_of(text, context), ""
    except ValueError as error:
        layers, why_not = Layers(), f"it {error}"
    if name and not why_not:
        placed = "position_ids" in known and not getattr(hf.config, "alibi", False)
        why = STATES if layers.keeps_states else SLOTS if layers.by_slot else "" if placed else PLACES
        placed = placed and not layers.by_slot
        if text.model_type not in STEPWISE:
            yield GenericDecoder(hf, layers, why, placed=placed)
        if layers.keeps_states:
            yield GenericDecoder(hf, layers, why, placed=placed, stepwise=True)
    if own := name or next((one for one in OWN if one in known), ""):
        yield CopyingDecoder(hf, why_not or UNKEPT, own)
    yield RereadingDecoder(hf, why_not or (UNKEPT if own else CACHELESS))
