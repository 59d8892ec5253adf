"""CM-ASD's three confidences of a drafted position, from the drafter's raw logits (section III.B). Register: C1, C3.

Dimension key: N positions, V vocabulary. All values lie in [0, 1].
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from engine.sampling import entropy, wide


def confidences(
    logits_NV: Tensor,
    weights: Sequence[float],
    *,
    scale: float = 1.0,
    entropy_conf: str = "one_minus",
    margin_norm: str = "sigmoid",
) -> list[float]:
    """C_t = w1 * entropy + w2 * logit margin + w3 * softmax margin, for each row [N].

    Entropy: 1 - H / log V ("one_minus"; "literal" is H / log V, as printed). Logit margin: sigmoid(scale (z1 - z2)), in
    [0.5, 1) ("sigmoid"), or 2 sigmoid - 1 ("rescaled"). Softmax margin: (P1 - P2) / P1. `weights` are normalised to
    sum one; all zero weighs the three alike.
    """
    x = wide(logits_NV)
    share = entropy(x) / math.log(x.shape[-1])
    first, second = x.topk(2, dim=-1).values.unbind(-1)
    margin = torch.sigmoid(scale * (first - second))
    soft = 1 - torch.exp(second - first)
    parts = (
        share if entropy_conf == "literal" else 1 - share,
        2 * margin - 1 if margin_norm == "rescaled" else margin,
        soft,
    )
    total = sum(weights)
    shares = [w / total for w in weights] if total > 0 else [1 / 3] * 3
    mixed = sum((w * part for w, part in zip(shares, parts, strict=True)), torch.zeros_like(soft))
    return mixed.clamp(0, 1).tolist()  # type: ignore[no-any-return]
