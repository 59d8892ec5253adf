"""What small runs must not do at every step, since it takes longer there than it looks."""

from collections import Counter
from typing import Any

import pytest
import torch

from engine.costs import Costs, Curve
from engine.lab import Lab
from engine.runs import costs as measuring
from engine.trace.events import Round
from tests.engine.devices.pretend import PROMPTS, embedded

METHODS: dict[str, dict[str, Any]] = {
    "sd": {},
    "sd auto": {"gamma": "auto"},
    "mtp": {"gamma": "auto"},
    "dflash": {"gamma": "auto"},
    "eagle2": {},
    "eagle3": {},
    "eagle3 auto": {"total_token": "auto", "depth": "auto"},
    "medusa": {},
    "hydra": {},
    "easd": {},
}


COSTS = Costs(Curve(((1, 2.0), (64, 9.0))), start=0.3, step=0.2, row=0.02)


@pytest.fixture(scope="module")
def lab() -> Lab:
    return embedded("tiny", "cpu", "cpu")


@pytest.mark.parametrize("named", METHODS)
def test_no_round_asks_torch_for_the_length_of_a_tensor(lab: Lab, named: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """`len` of a tensor is a function of Python that asks whether a graph is traced: five times `shape[0]`, and more
    where caches are cold. A step of a head had six."""
    method, length, asked = named.split()[0], torch.Tensor.__len__, Counter[int]()

    def counted(tensor: torch.Tensor) -> int:
        asked[rounds] += 1
        return length(tensor)

    monkeypatch.setattr(measuring, "_measured", lambda *_: COSTS)
    rounds = 0
    monkeypatch.setattr(torch.Tensor, "__len__", counted)
    for event in lab.stream(method, PROMPTS["tiny"], max_new_tokens=24, record="light", **METHODS[named]):
        rounds += isinstance(event, Round)
    later = {at: n for at, n in asked.items() if at}  # in the first round is made what all need
    assert rounds > 1 and not later
