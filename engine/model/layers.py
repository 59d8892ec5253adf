"""What the layers of a transformers model see of the text and keep of it, read off its configuration.

Every attention layer keeps the keys and values of the whole sequence here, whatever it attends to: a window or a chunk
is only a mask. So a draft tree fits, and a rejected branch can be forgotten.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from transformers.cache_utils import (
    DummyLayer,
    DynamicCache,
    DynamicIndexedLayer,
    DynamicLayer,
    DynamicSlidingWindowLayer,
    LinearAttentionAndFullAttentionLayer,
    LinearAttentionAndSlidingWindowAttentionLayer,
    LinearAttentionLayer,
)

KEPT = {  # transformers' layer of a cache -> the one used here
    DynamicLayer: DynamicLayer,
    DynamicIndexedLayer: DynamicIndexedLayer,
    DynamicSlidingWindowLayer: DynamicLayer,
    DummyLayer: DummyLayer,
    LinearAttentionLayer: LinearAttentionLayer,
    LinearAttentionAndFullAttentionLayer: LinearAttentionAndFullAttentionLayer,
    LinearAttentionAndSlidingWindowAttentionLayer: LinearAttentionAndFullAttentionLayer,
}
STATES = (LinearAttentionLayer, LinearAttentionAndFullAttentionLayer)
WINDOWED = {"sliding_attention": "sliding_attention", "hybrid_sliding": "sliding_attention"}  # kind -> name of its mask


@dataclass(frozen=True, slots=True)
class Sight:
    """How far back a layer sees: the last `window` positions, itself included, or its own chunk; 0 is no bound."""

    window: int = 0
    chunk: int = 0

    def of(self, pos_T: Tensor, kpos_S: Tensor) -> Tensor | None:
        """Which slots are near enough for which rows [T, S]; None when all are."""
        if self.window:
            return kpos_S > pos_T.unsqueeze(1) - self.window
        if self.chunk:
            return kpos_S // self.chunk == pos_T.unsqueeze(1) // self.chunk
        return None


EVERYTHING = Sight()


@dataclass(frozen=True)
class Layers:
    """The sights of a model's attention layers by the name of their mask, and the layers that its cache is made of."""

    sights: Mapping[str, Sight] = field(default_factory=lambda: {"full_attention": EVERYTHING})
    kinds: tuple[type[Any], ...] = ()
    numbers: tuple[int, ...] = ()  # states that each layer keeps, where it keeps some
    by_slot: bool = False  # whether some look at the slots of tokens, not at their positions

    @property
    def keeps_states(self) -> bool:
        """Whether some layers keep one running state in place of keys and values."""
        return any(kind in STATES for kind in self.kinds)

    @property
    def alike(self) -> Sight | None:
        """The one sight that all attention layers have; None when they differ."""
        found = set(self.sights.values())
        return found.pop() if len(found) == 1 else None

    def cache(self) -> DynamicCache:
        """An empty cache of the whole sequence."""
        kv = DynamicCache()
        kv.layers = [
            kind(number_of_states=n) if kind in STATES else kind()
            for kind, n in zip(self.kinds, self.numbers, strict=True)
        ]
        return kv


def layers_of(config: Any, context: int) -> Layers:
    """What a text model's layers see and keep. A window or chunk of the whole `context` is none.

    Raises:
        ValueError: a layer keeps what cannot be cut back to the accepted tokens; the message names it.
    """
    kept = DynamicCache(config=config).layers
    odd = sorted({type(layer).__name__ for layer in kept if type(layer) not in KEPT})
    if odd:
        raise ValueError(f"has layers that keep a {', '.join(odd)}, which cannot be cut back to the accepted tokens")
    return Layers(
        sights(config, context),
        tuple(KEPT[type(layer)] for layer in kept),
        tuple(getattr(layer, "number_of_states", 0) for layer in kept),
        "local" in (getattr(config, "attention_layers", None) or ()),
    )


def sights(config: Any, context: int) -> dict[str, Sight]:
    """How far the attention layers of a configuration see, by the name of their mask.

    Raises:
        ValueError: a window that is no single number.
    """
    window, chunk = _bound(config, "sliding_window", context), _bound(config, "attention_chunk_size", context)
    if not getattr(config, "use_sliding_window", True):
        window = 0
    kinds = getattr(config, "layer_types", None)
    if kinds is None:
        return {"full_attention": Sight(window, 0 if window else chunk)}
    found = {"full_attention": EVERYTHING} if set(kinds) - {*WINDOWED, "chunked_attention"} else {}
    found |= {WINDOWED[kind]: Sight(window=window) for kind in kinds if kind in WINDOWED}
    return found | {kind: Sight(chunk=chunk) for kind in kinds if kind == "chunked_attention"}


def sights_by_layer(config: Any, context: int) -> list[Sight]:
    """How far each attention layer of a configuration sees.

    Raises:
        ValueError: as `sights`.
    """
    found, kinds = sights(config, context), getattr(config, "layer_types", None) or ()
    names = {"chunked_attention": "chunked_attention", **WINDOWED}
    return [
        found[names.get(kinds[i], "full_attention") if kinds else "full_attention"]
        for i in range(config.num_hidden_layers)
    ]


def ropes_by_layer(config: Any) -> list[str]:
    """The kind of each layer where its rotation depends on it (Gemma 3); empty where all layers have one."""
    rope, kinds = getattr(config, "rope_parameters", None) or {}, getattr(config, "layer_types", None) or ()
    return [kind if kind in rope else "" for kind in kinds or [""] * config.num_hidden_layers]


def _bound(config: Any, name: str, context: int) -> int:
    value = getattr(config, name, None) or 0
    if not isinstance(value, int):
        raise ValueError(f"has a {name} of {value!r} where one number is understood")
    return value if value < context else 0


def mask_of(see_TS: Tensor, near_TS: Tensor | None, dtype: torch.dtype) -> Tensor:
    """Additive mask [1, 1, T, S]: zero where a row sees a slot, else the lowest number."""
    seen = see_TS if near_TS is None else see_TS & near_TS
    mask = torch.zeros(seen.shape, dtype=dtype, device=seen.device)
    return mask.masked_fill_(~seen, torch.finfo(dtype).min)[None, None]
