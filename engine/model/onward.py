"""Decoders for networks whose past cannot be cut back: it is copied and set back whole, or read again."""

from collections.abc import Sequence
from copy import deepcopy
from typing import Any

import torch
from torch import Tensor

from engine.model.decoder import New
from engine.model.generic import GenericDecoder
from engine.model.layers import Layers
from engine.model.network import home_of

COPIES = 3  # of earlier places that are kept to go back to; some hold keys and values of all tokens


class Copied:
    """What a network made of a text, whatever it is, with copies of how it was at earlier places."""

    def __init__(self) -> None:
        self.now: Any = None  # None before the first pass: the network makes it
        self.length = 0
        self._copies: dict[int, Any] = {}

    def gather(self, start: int, slots: Sequence[int]) -> None:
        """Nothing: accepted tokens of a chain stand where they stood."""

    def crop(self, n: int) -> None:
        """Nothing: a pass begins where `back` has set it."""

    def back(self, n: int) -> int:
        """To go on from before the last pass's end it is set back to the last copy."""
        if n == self.length:
            return n
        self._copies = {place: copy for place, copy in self._copies.items() if place <= n}
        self.length = max(self._copies, default=0)
        self.now = deepcopy(self._copies.get(self.length))
        return self.length

    def mark(self) -> None:
        """Keep a copy of this place, and drop the oldest one."""
        if self.length and self.length not in self._copies:
            self._copies[self.length] = deepcopy(self.now)
            self._copies = dict(sorted(self._copies.items())[-COPIES:])


class CopyingDecoder(GenericDecoder):
    """Goes on from what the network itself keeps, under the `name` that its forward has for it."""

    @property
    def keeps_states(self) -> bool:
        return True

    def __init__(self, hf: Any, why_chains: str, name: str) -> None:
        super().__init__(hf, Layers(), why_chains, placed=False)
        self._name = name

    @property
    def layerwise(self) -> bool:
        """No: some layers hand their state on with what they give."""
        return False

    def cache(self, capacity: int) -> Any:
        return Copied()

    def _given(self, cache: Any, new: New, pos: Tensor) -> dict[str, Any]:
        past = {} if cache.now is None else {self._name: cache.now}
        return {"input_ids": new.ids[None], "use_cache": True, **past}

    def _took(self, cache: Any, out: Any) -> None:
        cache.now = out[self._name]


class Text:
    """What a network that keeps nothing has read."""

    length = 0  # which nothing hangs on

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
        return Text(home_of(self.hf))

    def _given(self, cache: Any, new: New, pos: Tensor) -> dict[str, Any]:
        cache.ids = torch.cat((cache.ids[: new.start], new.ids))
        return {"input_ids": cache.ids[None], "use_cache": False}
