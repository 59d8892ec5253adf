"""A chain of fixed length drafts gamma tokens, unless fewer can still be used."""

import pytest

from engine.errors import ConfigError
from engine.lab import Lab


@pytest.mark.parametrize("gamma", [0, 1, 3, 128])
def test_gamma_tokens_a_round(toy: Lab, gamma: int) -> None:
    trace = toy.run("sd", "abc", gamma=gamma, max_new_tokens=20)
    for event in trace.rounds:
        assert event.drafted == min(gamma, 20 - event.start - 1) and event.fed == event.drafted + 1
    assert len(trace.tokens) == 20


def test_gamma_has_limits(toy: Lab) -> None:
    with pytest.raises(ConfigError, match=r"gamma must be an integer from 0 to 128 tokens, not 129"):
        toy.run("sd", "abc", gamma=129)
