"""Llama 4 scales queries of its layers without rotation by how far on they are, and counts slots of the cache for that
where it should count positions. The nodes of a draft tree, whose positions are not their slots, are put right here."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor


class Tempered:
    """The layers of one model that scale their queries by slot; most models have none."""

    def __init__(self, hf: Any) -> None:
        self.layers = [
            layer
            for layer in hf.modules()
            if getattr(layer, "attn_temperature_tuning", False) and not getattr(layer, "use_rope", True)
        ]
        self._rows: tuple[Tensor, Tensor] | None = None  # position and slot of each row of the pass that runs
        for layer in self.layers:
            layer.q_proj.register_forward_hook(lambda _linear, _given, rows, layer=layer: self._put_right(layer, rows))

    @contextmanager
    def at(self, pos_T: Tensor, start: int) -> Iterator[None]:
        """Passes within are over rows at these positions, in slots from `start` on."""
        self._rows = (pos_T, torch.arange(start, start + len(pos_T), device=pos_T.device)) if self.layers else None
        try:
            yield
        finally:
            self._rows = None

    def _put_right(self, layer: Any, queries_1TE: Tensor) -> Tensor | None:
        """Queries that, scaled by their slots, are scaled by their positions."""
        if self._rows is None:
            return None
        by_pos, by_slot = (scale_at(layer, places_T) for places_T in self._rows)
        return queries_1TE * (by_pos / by_slot).to(queries_1TE)[None, :, None]


def scale_at(layer: Any, places_T: Tensor) -> Tensor:
    """1 + scale x log(1 + floor((place + 1) / floor)), as transformers has it."""
    steps_T = torch.floor((places_T.float() + 1.0) / float(layer.floor_scale))
    return torch.log1p(steps_T) * float(layer.attn_scale) + 1.0
