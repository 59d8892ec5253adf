"""What all non-autoregressive systems are: a module with its own weights over what the target lends.

A system is trained (`loss`) and run (`write`) by one class; `SYSTEMS` in `files` names them all.
"""

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from engine.errors import ConfigError
from engine.nat.canvas import Canvas
from engine.nat.network import Frozen, NatDecoder, Shape
from engine.sampling import sent

PAD, END = 0, 1  # of the embedded vocabulary: padding (also the decoder's first token), end of a text


class System(nn.Module):
    """Own weights: a decoder and an embedding for the mask. Subclasses add theirs, `loss` and `write`."""

    KIND: ClassVar[str] = ""
    done = 0.0  # share of the training that is over, set by the trainer

    def __init__(self, shape: Shape, frozen: Frozen, context: int = 512) -> None:
        """`context`: most places of a source."""
        super().__init__()
        self.decoder = NatDecoder(shape)
        self.hole = nn.Parameter(torch.randn(shape.width) * 0.02)  # embedding of the mask, before it is stretched
        self._lent = (frozen,)  # in a tuple, so that it is no submodule
        self.context, self.mask = context, PAD

    @property
    def kind(self) -> str:
        """The system's name."""
        return self.KIND

    @property
    def frozen(self) -> Frozen:
        """What the target lends."""
        return self._lent[0]

    def embed(self, ids_BT: Tensor) -> Tensor:
        """Inputs [B, T, D] of a canvas, masks included."""
        known = self.frozen.embed(ids_BT)
        return torch.where((ids_BT == self.mask)[..., None], self.hole * self.frozen.stretch, known)

    def encoded(self, source_BZ: Tensor) -> tuple[Tensor, Tensor]:
        """States [B, Z, D] of sources padded with `PAD`, and where there are any [B, Z]; nothing of it is trained."""
        seen = source_BZ != PAD
        with torch.no_grad():
            return self.frozen.encode(source_BZ, seen), seen

    def read(self, source: Sequence[int]) -> tuple[Tensor, Tensor]:
        """`encoded`, of one source.

        Raises:
            ConfigError: it is longer than the encoder reads, or nothing but padding.
        """
        if all(token == PAD for token in source):
            raise ConfigError("The source is nothing but padding: give some text.")
        if len(source) > self.context:
            raise ConfigError(
                f"The source has {len(source)} tokens, and the encoder reads at most {self.context}: shorten it."
            )
        return self.encoded(sent([list(source)], self.hole.device))

    def loss(self, source_BZ: Tensor, target_BT: Tensor) -> Tensor:
        """Sum over the target's tokens, in nats, to be made small; both padded with `PAD`, both with their ends.

        Draws from torch's generator.
        """
        raise NotImplementedError

    def write(self, source: Sequence[int], limit: int, *args: Any, **knobs: Any) -> Iterator[Canvas]:
        """See `canvas.NatModel`."""
        raise NotImplementedError


def at_least_one(**values: int) -> None:
    """Nothing, when all are integers from 1.

    Raises:
        ConfigError: one is not.
    """
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise ConfigError(f"{name} must be an integer >= 1, not {value!r}.")
