"""Muon where bf16 is slow.

torch's Muon (Jordan et al. 2024) makes its updates in bf16, which CPUs without such products emulate: of a head's
training step on one of them 93 % went there (docs/LOG.md). The same updates in fp32 take a twentieth of that.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor


class Muon(torch.optim.Muon):
    """torch's, with its state and settings; on a CPU the Newton-Schulz iteration is in fp32."""

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """One update of all matrices that have a gradient."""
        matrices = [(group, p) for group in self.param_groups for p in group["params"] if p.grad is not None]
        if any(p.device.type != "cpu" for _, p in matrices):
            return super().step(closure)  # type: ignore[no-untyped-call]
        loss = None if closure is None else torch.enable_grad()(closure)()
        for group, p in matrices:
            momentum = self.state[p].setdefault("momentum_buffer", torch.zeros_like(p))
            momentum.lerp_(p.grad, 1 - group["momentum"])
            wanted = p.grad.lerp(momentum, group["momentum"]) if group["nesterov"] else momentum
            rate = group["lr"] * max(1.0, p.shape[0] / p.shape[1]) ** 0.5
            p.mul_(1 - group["lr"] * group["weight_decay"])
            p.sub_(orthogonal(wanted, group["ns_coefficients"], group["ns_steps"], group["eps"]), alpha=rate)
        return loss


def orthogonal(matrix_AB: Tensor, coefficients: tuple[float, float, float], steps: int, eps: float) -> Tensor:
    """A matrix [A, B] with the same singular vectors and singular values near 1, by Newton-Schulz steps."""
    a, b, c = coefficients
    tall = matrix_AB.shape[0] > matrix_AB.shape[1]
    x = matrix_AB.T if tall else matrix_AB
    x = x / x.norm().clamp(min=eps)
    for _ in range(steps):
        gram = x @ x.T
        x = torch.addmm(x, torch.addmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.T if tall else x
