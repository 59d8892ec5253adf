"""Muon for weight matrices: momentum, then the nearest orthogonal matrix as the step.

After Keller Jordan et al., "Muon: an optimizer for hidden layers in neural networks" (2024),
https://kellerjordan.github.io/posts/muon/. Matrices of one shape are handled as one batch.
"""

from __future__ import annotations

import builtins
from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import partial

import torch
from torch import Tensor, nn

CHUNK = 4  # matrices handled as one batch
_COEFFICIENTS = (3.4445, -4.7750, 2.0315)


def orthogonalise(batch: Tensor, steps: int = 4) -> Tensor:
    """Newton-Schulz iteration: every singular value of each matrix (B, m, n) moves near 1."""
    a, b, c = _COEFFICIENTS
    tall = batch.size(-2) > batch.size(-1)
    x = batch.mT if tall else batch
    x = x / (x.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    for _ in range(steps):
        gram = x @ x.mT
        x = a * x + (b * gram + c * gram @ gram) @ x
    result: Tensor = x.mT if tall else x
    return result


class Muon(torch.optim.Optimizer):
    """Nesterov momentum and orthogonal steps for 2-D parameters; `lr` is the step's RMS-scaled size."""

    def __init__(
        self,
        params: Iterable[nn.Parameter],
        lr: float = 0.02,
        momentum: float = 0.95,
        weight_decay: float = 0.0,
        map: Callable[..., Iterable[None]] = builtins.map,
    ) -> None:
        """`map` runs the independent updates of one step, perhaps on several threads."""
        self.map = map
        super().__init__(params, {"lr": lr, "momentum": momentum, "weight_decay": weight_decay})

    def step(self, _closure: None = None) -> None:  # type: ignore[override]
        """One update from the gradients at hand."""
        jobs: list[Callable[[], None]] = []
        for group in self.param_groups:
            shapes: dict[torch.Size, list[nn.Parameter]] = defaultdict(list)
            for p in group["params"]:
                if p.grad is not None:
                    shapes[p.shape].append(p)
            for same in shapes.values():
                for at in range(0, len(same), CHUNK):
                    args = (same[at : at + CHUNK], group["lr"], group["momentum"], group["weight_decay"])
                    jobs.append(partial(self._step_batch, *args))
        for _ in self.map(lambda job: job(), jobs):
            pass

    @torch.no_grad()
    def _step_batch(self, params: list[nn.Parameter], lr: float, momentum: float, decay: float) -> None:
        updates = []
        for p in params:
            assert p.grad is not None
            buffer = self.state[p].setdefault("momentum", torch.zeros_like(p))
            buffer.lerp_(p.grad, 1 - momentum)
            updates.append(p.grad.lerp(buffer, momentum))
        scale = max(1.0, params[0].size(0) / params[0].size(1)) ** 0.5
        for p, update in zip(params, orthogonalise(torch.stack(updates)), strict=True):
            p.mul_(1 - lr * decay).add_(update, alpha=-lr * scale)
