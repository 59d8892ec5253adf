"""The decoder of the non-autoregressive systems: it sees all places of a text at once, and the states of a source.

Layers are those of the embedded target (norms before each part, SiLU), without the causal mask. Encoder, embeddings
and output matrix belong to the target and are not trained.

Dimension key: B rows, T places of the text, Z places of the source, D width, V vocabulary, H heads.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn


@dataclass(frozen=True, slots=True)
class Shape:
    """Sizes of a decoder."""

    width: int = 192
    layers: int = 2
    heads: int = 3
    step: int = 384  # width of the step in a layer
    places: int = 512  # of a text, at most


@dataclass(frozen=True, eq=False, slots=True)
class Frozen:
    """What the target lends: `encode` takes ids [B, Z] and their mask [B, Z] and gives states [B, Z, D]; `matrix`
    [V, D] is embedding and output matrix, `stretch` what embeddings are multiplied by."""

    encode: Callable[[Tensor, Tensor], Tensor]
    matrix: Tensor
    stretch: float

    def embed(self, ids: Tensor) -> Tensor:
        """Embeddings [..., D] of ids [...]."""
        return F.embedding(ids, self.matrix) * self.stretch

    def logits(self, x: Tensor) -> Tensor:
        """Raw logits [..., V] of final states [..., D]."""
        return F.linear(x, self.matrix)


class Attention(nn.Module):
    """Of places to places, or of places to a source."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.heads = shape.heads
        self.q, self.k, self.v, self.out = (nn.Linear(shape.width, shape.width) for _ in range(4))

    def forward(self, x_BTD: Tensor, to_BZD: Tensor, seen_BZ: Tensor) -> Tensor:
        """The rows' new parts [B, T, D]; `seen_BZ` is true where there is something to look at."""
        q, k, v = (
            part(given).unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for part, given in ((self.q, x_BTD), (self.k, to_BZD), (self.v, to_BZD))
        )
        found = F.scaled_dot_product_attention(q, k, v, attn_mask=seen_BZ[:, None, None])
        given: Tensor = self.out(found.transpose(1, 2).flatten(2))
        return given


class Layer(nn.Module):
    """Attention to the text, attention to the source, a step for each place; each begins with a norm."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.own, self.cross = Attention(shape), Attention(shape)
        self.norms = nn.ModuleList(nn.LayerNorm(shape.width) for _ in range(3))
        self.up, self.down = nn.Linear(shape.width, shape.step), nn.Linear(shape.step, shape.width)

    def forward(self, x_BTD: Tensor, there_BT: Tensor, states_BZD: Tensor, seen_BZ: Tensor) -> Tensor:
        """The rows [B, T, D] after this layer; `there_BT` is true at places of the text, false at padding."""
        normed = self.norms[0](x_BTD)
        x = x_BTD + self.own(normed, normed, there_BT)
        x = x + self.cross(self.norms[1](x), states_BZD, seen_BZ)
        given: Tensor = x + self.down(F.silu(self.up(self.norms[2](x))))
        return given


class NatDecoder(nn.Module):
    """All layers and the last norm."""

    places_TD: Tensor

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        self.layers = nn.ModuleList(Layer(shape) for _ in range(shape.layers))
        self.norm = nn.LayerNorm(shape.width)
        self.register_buffer("places_TD", sinusoids(shape.places, shape.width), persistent=False)
        for name, p in self.named_parameters():
            if p.ndim == 2:
                nn.init.normal_(p, std=0.02)
            elif "norm" not in name:
                nn.init.zeros_(p)

    def forward(self, x_BTD: Tensor, there_BT: Tensor, states_BZD: Tensor, seen_BZ: Tensor) -> Tensor:
        """Final-normed states [B, T, D] of inputs [B, T, D], to which places are added here."""
        x = x_BTD + self.places_TD[: x_BTD.shape[1]]
        for layer in self.layers:
            x = layer(x, there_BT, states_BZD, seen_BZ)
        given: Tensor = self.norm(x)
        return given


def sinusoids(places: int, width: int) -> Tensor:
    """Fixed positions [places, width]: sines in the first half, cosines in the second (Vaswani et al. 2017)."""
    rates = 10000.0 ** (-torch.arange(width // 2, dtype=torch.float32) / (width // 2))
    angles = torch.arange(places)[:, None] * rates
    return torch.cat([angles.sin(), angles.cos()], -1)


def copied(states_BZD: Tensor, sizes_B: Tensor, places_B: Tensor) -> Tensor:
    """Rows [B, T, D] spread evenly over a source: place t of T_b copies place floor(t Z_b / T_b) of Z_b (uniform copy,
    Gu et al. 2018, 1711.02281); T is the longest of `places_B`."""
    at = torch.arange(int(places_B.max()), device=states_BZD.device)[None] * sizes_B[:, None] // places_B[:, None]
    at = at.minimum(sizes_B[:, None] - 1)
    return states_BZD.gather(1, at[..., None].expand(-1, -1, states_BZD.shape[-1]))
