"""Chains that one pass makes: how far they go, what they draw, and what stays in the stream."""

from collections.abc import Sequence
from typing import Any, cast

import pytest
import torch
from torch import Tensor

from engine.config import Sampling
from engine.costs import Costs, Curve
from engine.costs.chains import ChainChoice
from engine.draft import Draft
from engine.errors import EngineFault
from engine.parts import Context, write_block
from engine.parts.writing import choice
from engine.sampling import distribution, pick
from engine.streams import Streams

V, STOP = 7, 5


class Shape:
    """So many of the places."""

    looks = True

    def __init__(self, taken: int) -> None:
        self.taken, self.asked = taken, list[int]()

    def more(self, drafted: int, logits_V: Tensor) -> bool:
        self.asked.append(drafted)
        return drafted < self.taken

    def keep(self, draft: Draft) -> Draft:
        return draft


def context(temperature: float, room: int = 9, full: bool = True) -> Context:
    return Context([1, 2], 2, room, 9, Sampling(temperature), Streams(4), cast("Any", None), None, full=full)


def written(at: Context, rows: Tensor, taken: int = 9) -> Draft:
    return write_block(at, cast("Any", Shape(taken)), rows, (STOP,), lambda: {"kind": "head"})


def rows_of(tokens: Sequence[int]) -> Tensor:
    return torch.nn.functional.one_hot(torch.tensor(tokens), V) * 4.0


def test_greedy_places_take_their_first_choices_up_to_a_stop() -> None:
    assert written(context(0), rows_of([3, 1, STOP, 2])).tokens == (3, 1, STOP)
    assert written(context(0, room=2), rows_of([3, 1, STOP, 2])).tokens == (3, 1)
    assert written(context(0), rows_of([3, 1, 2]), taken=1).tokens == (3,)
    assert not len(written(context(0), rows_of([3, 1, 2]), taken=0))
    whole = written(context(0), rows_of([3, 1, 2]))
    assert whole.logits is not None and whole.logits.shape == (3, V) and len(whole.sources or ()) == 3
    assert not written(context(0, full=False), rows_of([3, 1])).sources


class Told(Shape):
    """So many, told which token is the likeliest."""

    def __init__(self, taken: int) -> None:
        super().__init__(taken)
        self.told = list[tuple[int, tuple[int, ...], int]]()

    def joins(self, drafted: int, logits_1V: Tensor, largest: int) -> bool:
        self.told.append((drafted, tuple(logits_1V.shape), largest))
        return drafted < self.taken


def test_a_shape_is_told_the_likeliest_token_or_asked_or_neither() -> None:
    row, asked, told, blind = rows_of([3]), Shape(2), Told(2), Shape(0)
    blind.looks = False
    assert [[choice(cast("Any", shape), n, row) for n in (1, 2)] for shape in (asked, told, blind)] == [
        [3, None],
        [3, None],
        [3, 3],
    ]
    assert asked.asked == [1, 2] and told.told == [(1, (1, V), 3), (2, (1, V), 3)] and told.asked == blind.asked == []


def test_each_place_draws_with_the_next_uniform_and_those_behind_a_stop_stay_in_the_stream() -> None:
    rows = torch.randn(6, V, generator=torch.Generator().manual_seed(2)) * 2
    rows[:3, STOP] = -torch.inf
    rows[3] = rows_of([STOP])[0] * 9
    us = Streams(4).uniforms("draft", 6)
    want = [pick(distribution(row[None], Sampling(0.8))[0], u) for row, u in zip(rows, us, strict=True)]
    at = context(0.8)
    found = written(at, rows)
    assert want[3] == STOP and STOP not in want[:3] and list(found.tokens) == want[:4]
    assert at.streams.uniform("draft") == us[4]
    assert torch.equal(cast("Tensor", found.distributions), distribution(rows[:4], Sampling(0.8)))


def test_no_logit_may_be_nan() -> None:
    rows = rows_of([3, 1, 2])
    rows[1, 0] = torch.nan
    with pytest.raises(EngineFault, match="NaN"):
        written(context(0), rows)


def test_what_a_block_cost_counts_all_its_places() -> None:
    """The pace is that of rounds as they were, not as if only the tokens that were kept had been made."""
    costs = Costs(Curve(((1, 1.0), (16, 6.0))), start=0.2, step=0.3)
    choice = ChainChoice(costs)
    choice.limit(stepwise=True)
    before = choice.pace.ms
    taken = choice.among([0.99, 0.9, 0.05, 0.9, 0.9, 0.9])
    assert taken == 2
    choice.observe(taken, 2)
    assert choice.pace.ms == pytest.approx(choice.pace.memory * before + costs.round(6, 3))
