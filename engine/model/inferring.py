"""Inference mode for what runs at every step."""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

import torch

P = ParamSpec("P")
R = TypeVar("R")


def inferring(work: Callable[P, R]) -> Callable[P, R]:
    """`torch.inference_mode()` around a function; where that is on already, without turning it on and off, which takes
    several microseconds a call."""
    within = torch.inference_mode()(work)

    @wraps(work)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        return (work if torch.is_inference_mode_enabled() else within)(*args, **kwargs)

    return run
