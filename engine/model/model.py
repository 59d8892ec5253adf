"""A loaded model: what the lab knows about it, and sequences that run through it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import torch

from engine.errors import ConfigError
from engine.model.decoder import Decoder
from engine.model.seam import Seam
from engine.model.session import Session
from engine.model.source import CrossDecoder, SourceSession
from engine.model.tokens import Tokenizer


@dataclass(eq=False)
class Model:
    """Weights ready to run, with what the lab wants to know about them."""

    name: str
    decoder: Decoder
    tokenizer: Tokenizer
    layers: int
    width: int
    vocab: int  # ids in common use: rows of the head, cut to the pair's common ids by Lab
    context: int  # positions; of an encoder-decoder those of its decoder
    parameters: int
    bytes: int
    dtype: str
    device: torch.device
    revision: str  # sha256 of the weights (local) or the hub commit
    lean: bool
    devices: tuple[torch.device, ...] = ()  # all that hold weights, `device` among them
    notes: tuple[str, ...] = ()  # what of the checkpoint is not used, or works otherwise here, in sentences
    seam: Seam | None = None  # of an encoder-decoder: where its source ends
    source_context: int = 0  # positions of the encoder
    config: Mapping[str, Any] = field(default_factory=dict)  # what the checkpoint says of its layers
    graphs: str = "auto"  # the switch of captured passes that it was loaded with, which those that go with it follow

    @property
    def only_chains(self) -> bool:
        """Whether it can check no branching draft."""
        return bool(self.decoder.why_chains)

    @property
    def one_past(self) -> str:
        """Why it can check no branching draft, as a sentence; empty where it can."""
        why = self.decoder.why_chains
        return f"{self.name} can check chains only: {why}." if why else ""

    @property
    def layerwise(self) -> bool:
        """Whether single layers can be left out of a pass."""
        return bool(getattr(self.decoder, "layerwise", True))

    @property
    def longest(self) -> int:
        """Most tokens of a sequence, a source included."""
        return self.context + self.source_context

    def source_of(self, tokens: Sequence[int]) -> int:
        """How many of the tokens are a source that an encoder reads."""
        return self.seam.find(tokens) if self.seam else 0

    def filler(self, n: int) -> list[int]:
        """Some text of n tokens, at least 2, to measure passes on; half of it is a source where there is one."""
        if self.seam is None:
            return [0] * n
        plain = next(i for i in range(self.vocab) if i not in (*self.seam.opening, *self.seam.ends))
        source = [plain] * (n // 2) + sorted(self.seam.ends)[:1]
        return [*source, *self.seam.opening, *[plain] * (n - n // 2)]

    def session(self, capacity: int, taps: Sequence[int] = (), slots: int = 0) -> Session:
        """A fresh sequence with room for `capacity` positions (at most the context), and perhaps more `slots`.

        Raises:
            ConfigError: the caller is within `torch.autocast`, under which passes would be of another dtype.
        """
        if kind := next((kind for kind in ("cpu", self.device.type) if torch.is_autocast_enabled(kind)), None):
            raise ConfigError(
                f"torch.autocast is on for {kind}: a model here computes in the dtype that it was loaded with "
                f"({self.dtype}). Leave autocast, or load it with another dtype."
            )
        capacity = min(capacity, self.longest)
        if self.seam:
            decoder, context = cast(CrossDecoder, self.decoder), (self.source_context, self.context)
            return SourceSession(decoder, self.seam, context, self.vocab, self.device, capacity, taps, slots)
        return Session(self.decoder, self.vocab, self.device, capacity, taps, slots)

    def describe(self) -> dict[str, Any]:
        """The model as a trace names it."""
        about = {
            "id": self.name,
            "revision": self.revision,
            "parameters": self.parameters,
            "layers": self.layers,
            "width": self.width,
            "vocab": self.vocab,
            "context": self.context,
            "lean": self.lean,
        }
        about |= {"source_context": self.source_context} if self.seam else {}
        return about | ({"notes": list(self.notes)} if self.notes else {})
