"""A chain of fixed length drafts gamma tokens, unless fewer can still be used."""

from types import SimpleNamespace
from typing import Any, cast

import pytest
import torch

from engine.config import Sampling
from engine.costs import Costs, Curve
from engine.errors import ConfigError
from engine.lab import Lab
from engine.shapes.chain import Chain

COSTS = Costs(Curve(((1, 2.0), (64, 90.0))), start=0.1, step=0.3)


@pytest.mark.parametrize("gamma", [0, 1, 3, 128])
def test_gamma_tokens_a_round(toy: Lab, gamma: int) -> None:
    trace = toy.run("sd", "abc", gamma=gamma, max_new_tokens=20)
    for event in trace.rounds:
        assert event.drafted == min(gamma, 20 - event.start - 1) and event.fed == event.drafted + 1
    assert len(trace.tokens) == 20


def test_gamma_has_limits(toy: Lab) -> None:
    with pytest.raises(ConfigError, match=r"gamma must be an integer from 0 to 128 tokens, not 129"):
        toy.run("sd", "abc", gamma=129)


def test_a_chain_that_is_told_the_likeliest_token_chooses_as_one_that_looks_for_it() -> None:
    kit = cast("Any", SimpleNamespace(known_costs=lambda: COSTS, forecast=None, sampling=Sampling()))
    told, asked, went = Chain(kit, {"gamma": "auto"}), Chain(kit, {"gamma": "auto"}), list[bool]()
    for row_1V in torch.randn(60, 1, 9, generator=torch.Generator().manual_seed(5)) * 9:
        for shape in (told, asked):
            shape.stepwise()
            assert shape.more(0, row_1V[0])
        went.append(told.joins(1, row_1V, int(row_1V.argmax())))
        assert went[-1] == asked.more(1, row_1V[0])
        assert told.choice is not None and asked.choice is not None
        assert told.choice.told(2) == asked.choice.told(2)
    assert {*went} == {True, False}
