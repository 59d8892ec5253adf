"""Muon in fp32: torch's updates but for the rounding of bf16."""

from typing import Any

import pytest
import torch
from torch import Tensor

from engine.training.muon import Muon, orthogonal

SHAPES = [(24, 40), (40, 24), (16, 16)]


def stepped(kind: type[torch.optim.Muon], shape: tuple[int, int], steps: int, **settings: Any) -> Tensor:
    rng = torch.Generator().manual_seed(3)
    weight = torch.nn.Parameter(torch.randn(*shape, generator=rng))
    optimiser = kind([weight], lr=0.05, **settings)
    for _ in range(steps):
        weight.grad = torch.randn(*shape, generator=rng)
        optimiser.step()
    return weight.detach()


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("settings", [{"weight_decay": 0.0}, {"weight_decay": 0.1, "nesterov": False}])
def test_updates_are_torchs_but_for_rounding(shape: tuple[int, int], settings: dict[str, Any]) -> None:
    mine, theirs = (stepped(kind, shape, 5, **settings) for kind in (Muon, torch.optim.Muon))
    begun = stepped(Muon, shape, 0, **settings)
    assert (mine - theirs).norm() < 0.02 * (mine - begun).norm()


@pytest.mark.parametrize("shape", SHAPES)
def test_an_update_turns_no_direction_and_evens_their_sizes(shape: tuple[int, int]) -> None:
    matrix = torch.randn(*shape, generator=torch.Generator().manual_seed(1))
    u, _, v = torch.linalg.svd(matrix, full_matrices=False)
    made = orthogonal(matrix, (3.4445, -4.775, 2.0315), 5, 1e-7)
    inside = u.T @ made @ v.T
    assert (inside - inside.diagonal().diag()).abs().max() < 1e-4
    assert 0.5 < float(inside.diagonal().min()) <= float(inside.diagonal().max()) < 1.5


def test_a_run_goes_on_from_torchs_state() -> None:
    weight = torch.nn.Parameter(torch.ones(4, 6))
    theirs = torch.optim.Muon([weight], lr=0.1)
    weight.grad = torch.randn(4, 6, generator=torch.Generator().manual_seed(2))
    theirs.step()
    mine = Muon([weight], lr=0.1)
    mine.load_state_dict(theirs.state_dict())
    before = mine.state[weight]["momentum_buffer"].clone()
    mine.step()
    assert torch.allclose(mine.state[weight]["momentum_buffer"], 0.95 * before + 0.05 * weight.grad)
