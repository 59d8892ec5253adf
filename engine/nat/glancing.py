"""What GLAT+CTC and DAT share: more places than a text needs, and glancing training (Qian et al. 2021, 2008.07905).

In glancing training a first pass, without gradient, tells how far the system is from a text; a share of the text, the
smaller the nearer it is, is then shown among the inputs of the pass that is learned from.

Dimension key: B rows, T places, Z places of the source, D width.
"""

import torch
from torch import Tensor

from engine.nat.network import copied


def spread(states_BZD: Tensor, seen_BZ: Tensor, times: int, most: int) -> tuple[Tensor, Tensor]:
    """Inputs [B, T, D] copied evenly from the source, `times` as many as it has places but at most `most`, and where
    there are any [B, T]."""
    sizes = seen_BZ.sum(1)
    places = (sizes * times).clamp(max=most)
    x = copied(states_BZD, sizes, places)
    return x, torch.arange(x.shape[1], device=x.device) < places[:, None]


def glance(wrong_BT: Tensor, there_BT: Tensor, share: float) -> Tensor:
    """Places to show [B, T]: `share` of a row's number of wrong ones, drawn evenly from all that are there."""
    draws = torch.rand(there_BT.shape, device=there_BT.device).masked_fill(~there_BT, 2.0)
    rank = draws.argsort(1).argsort(1)
    return rank < (wrong_BT.sum(1) * share).round()[:, None]
