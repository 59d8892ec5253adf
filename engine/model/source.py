"""Sessions over an encoder-decoder: the source is encoded once, and the rest of the tokens is a sequence as any other.

`forward` is still a function of its arguments (docs/design/0002): another source is read anew, the same one never
twice.
"""

from collections.abc import Sequence
from typing import Any, Protocol

import torch
from torch import Tensor

from engine.draft import EMPTY, Draft
from engine.errors import ConfigError
from engine.model.decoder import Decoder
from engine.model.seam import Seam
from engine.model.session import Forward, Session
from engine.sampling import sent


class CrossDecoder(Decoder, Protocol):
    """A decoder whose layers also look at a source."""

    def read(self, cache: Any, source_S: Tensor) -> None:
        """Encode the source, keep its keys and values, and forget all that the cache held."""


class SourceSession(Session):
    """A sequence on an encoder-decoder. Its tokens begin with the source; only the decoder's part takes up slots."""

    decoder: CrossDecoder

    def __init__(
        self,
        decoder: CrossDecoder,
        seam: Seam,
        context: tuple[int, int],
        vocab: int,
        device: torch.device,
        capacity: int,
        taps: Sequence[int] = (),
        slots: int = 0,
    ) -> None:
        """`context`: positions of the encoder and of the decoder. `capacity` and `slots` count the source too."""
        super().__init__(decoder, vocab, device, capacity, taps, slots)
        self.seam, self.context = seam, context
        self._asked = self.capacity, slots
        self._source: list[int] = []

    def forward(self, tokens: Sequence[int], draft: Draft = EMPTY, *, checked: bool = False) -> Forward:
        """As of any session; of a source alone, which is then encoded, there is no row.

        Raises:
            ConfigError: also where the source is longer than the encoder reads.
        """
        tokens = list(tokens)
        at = self._read(tokens)
        if at < len(tokens):
            return super().forward(tokens[at:], draft, checked=checked)
        if len(draft):
            raise ConfigError("A draft follows the decoder's first token, and these tokens are a source alone.")
        return self.unread()

    def skim(self, tokens: Sequence[int], skip: frozenset[int], *, checked: bool = False) -> Tensor:
        """As of any session."""
        tokens = list(tokens)
        return super().skim(tokens[self._read(tokens) :], skip, checked=checked)

    def watch(self) -> None:
        """From now on passes tell where their rows looked in the source (`Forward.looks`).

        Raises:
            ConfigError: the decoder runs through transformers, which keeps that to itself.
        """
        if not hasattr(self._cache, "watched"):
            raise ConfigError("looks must be 0: the decoder of this model does not tell where it looks in the source.")
        self._cache.watched = True

    def left(self, tokens: Sequence[int]) -> int:
        """How many tokens can follow these; of a source that cannot be read, none."""
        at = self.seam.find(tokens)
        return min(self._asked[0], at + self.context[1]) - len(tokens) if at <= self.context[0] else -len(tokens)

    def _read(self, tokens: list[int]) -> int:
        """Encode the source of these tokens unless it is the one at hand; its length.

        Raises:
            ConfigError: one longer than the encoder reads.
        """
        known = len(self._source)
        if known and len(tokens) > known and tokens[known] == self.seam.opening[0] and tokens[:known] == self._source:
            return known
        at = self.seam.find(tokens)
        source = tokens[:at]
        if source == self._source and at:
            return at
        check_source(source, self.context[0], "this model")
        self._tokens, self._draft, self._skimmed, self._source = [], EMPTY, [], []
        with torch.inference_mode():
            self.decoder.read(self._cache, sent(source, self.device))
        self._source = source
        capacity, slots = self._asked
        self.capacity = min(capacity, at + self.context[1])
        self.slots = max(self.capacity, slots)
        return at


def check_source(source: Sequence[int], most: int, name: str) -> None:
    """See that an encoder can read a source.

    Raises:
        ConfigError: it is too long.
    """
    if len(source) > most:
        raise ConfigError(
            f"The source has {len(source)} tokens, and the encoder of {name} reads at most {most}: shorten it."
        )
