"""A mixture of experts as gpt-oss has it, for the few rows of a step on a CPU.

The host reads which experts were picked, and makes one product for all rows of an expert over its weights where they
lie: nothing is copied, and experts that no row goes through cost nothing.

Dimension key as in decoder.py; E experts, F their inner width, k experts a row.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor


class Experts:
    """The experts of one block with their router."""

    def __init__(self, mlp: Any, norm_D: Tensor | None) -> None:
        """Takes the weights out of transformers' module; `norm_D` is multiplied into what reads the rows."""
        router, experts = mlp.router, mlp.experts
        scale = 1.0 if norm_D is None else norm_D.unsqueeze(1)
        self.router = (router.weight.data.t() * scale).contiguous()
        self.router_bias = router.bias.data
        self.gate_up = torch.cat((experts.gate_up_proj[..., ::2], experts.gate_up_proj[..., 1::2]), -1) * scale  # EDF
        self.gate_up_bias = torch.cat((experts.gate_up_proj_bias[..., ::2], experts.gate_up_proj_bias[..., 1::2]), -1)
        self.down, self.down_bias = experts.down_proj.data, experts.down_proj_bias.data
        self.top, self.alpha, self.limit = router.top_k, experts.alpha, experts.limit
        experts.gate_up_proj.data = experts.gate_up_proj.data.new_empty(0)

    @property
    def bytes(self) -> int:
        """Of all experts' matrices."""
        size: int = self.gate_up.nbytes + self.down.nbytes
        return size

    def __call__(self, x_TD: Tensor, normed_TD: Tensor) -> Tensor:
        """What the experts make of normed rows, added to x [T, D]."""
        best, which = torch.addmm(self.router_bias, normed_TD, self.router).topk(self.top, -1)
        chosen, order = which.flatten().sort()
        rows = order // self.top
        picked, counts = (found.tolist() for found in torch.unique_consecutive(chosen, return_counts=True))
        gate, up = _products(normed_TD[rows], picked, counts, self.gate_up, self.gate_up_bias).chunk(2, -1)
        gate, up = gate.clamp(max=self.limit), up.clamp(-self.limit, self.limit)
        inner = torch.sigmoid(gate * self.alpha).mul_(gate).mul_(up.add_(1))
        out = _products(inner, picked, counts, self.down, self.down_bias)
        return x_TD.index_add(0, rows, out.mul_(best.softmax(-1).flatten()[order].unsqueeze(1)))


def _products(
    rows: Tensor, picked: Sequence[int], counts: Sequence[int], weights_E: Tensor, biases_E: Tensor
) -> Tensor:
    """Rows, sorted by expert and `counts` of them for each, times the weights of theirs."""
    parts = zip(picked, torch.split(rows, list(counts)), strict=True)
    return torch.cat([torch.addmm(biases_E[e], part, weights_E[e]) for e, part in parts])
