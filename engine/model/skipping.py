"""Leaving layers of a transformers model out of a pass: those let their input through, and keep no keys for it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch import nn


class Skipper:
    """The decoder layers of one model. Families differ in what a layer returns, so the first pass is watched."""

    def __init__(self, hf: Any, layers: int = 0) -> None:
        """`layers` of the decoder; 0 where the configuration says it."""
        number = layers or hf.config.get_text_config().num_hidden_layers
        bodies = [hf.get_decoder(), hf] if hasattr(hf, "get_decoder") else [hf]  # ModernBERT calls its head a decoder
        stacks = (m for body in bodies for m in body.modules() if isinstance(m, nn.ModuleList) and len(m) == number)
        self.layers: list[Any] = list(next(stacks, ()))
        self._more: int | None = None  # what a layer returns beside its rows; None where it returns them alone
        if self.layers:
            self._watch = self.layers[0].register_forward_hook(self._note)

    def _note(self, layer: Any, given: Any, output: Any) -> None:
        self._more = len(output) - 1 if isinstance(output, tuple | list) else None
        self._watch.remove()

    def _pass(self, hidden_states: Any, *args: Any, **more: Any) -> Any:
        return hidden_states if self._more is None else (hidden_states, *[None] * self._more)

    @contextmanager
    def without(self, skip: frozenset[int]) -> Iterator[None]:
        """Passes within leave these layers out."""
        before = {i: self.layers[i].__dict__.get("forward") for i in skip}  # accelerate's, of a model that is spread
        for i in skip:
            self.layers[i].forward = self._pass
        try:
            yield
        finally:
            for i, own in before.items():
                del self.layers[i].forward
                if own is not None:
                    self.layers[i].forward = own
