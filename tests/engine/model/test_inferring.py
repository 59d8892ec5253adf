"""Inference mode around what runs at every step."""

import torch
from torch import Tensor

from engine.model.inferring import inferring


@inferring
def doubled(x: Tensor, *, times: int = 2) -> Tensor:
    """What is wrapped."""
    return times * x


def test_no_gradients_are_kept_whoever_calls() -> None:
    x = torch.ones(3, requires_grad=True)
    found = doubled(x, times=3)
    assert found.is_inference() and found.tolist() == [3.0] * 3 and not torch.is_inference_mode_enabled()
    with torch.inference_mode():
        assert doubled(x).is_inference() and torch.is_inference_mode_enabled()
    with torch.no_grad():
        assert doubled(x).is_inference()


def test_the_function_keeps_its_name_and_words() -> None:
    assert (doubled.__name__, doubled.__doc__) == ("doubled", "What is wrapped.")
