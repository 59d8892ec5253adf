"""Hugging Face ZeroGPU: the engine runs in a forked process that is lent a GPU. Elsewhere this file does nothing.

A decorated generator gets and yields pickled values only, so it takes the models' name, not the models, and yields
events. Models, heads and tables must be loaded before the server starts; see `app.__main__`. The embedded pair stays on
the CPU, where it needs no loan and costs a visitor nothing.
"""

import os
from collections.abc import Callable, Mapping
from importlib import import_module

from app.request import Request
from app.turns import LabLike, Turns, in_turns

LABS: dict[str, LabLike] = {}  # filled before the fork
SECONDS_PER_TOKEN = 0.06
DEVICES = ("device", "target_device", "draft_device")


def here() -> bool:
    """Whether this is a ZeroGPU Space."""
    return os.environ.get("SPACES_ZERO_GPU", "").lower() in ("1", "true", "t")


def placed(models: Mapping[str, str], usual: Mapping[str, str]) -> dict[str, str]:
    """What a preset's models are loaded with: the usual, but on a ZeroGPU Space those of this repository (`assets/...`)
    stay on the CPU."""
    embedded = bool(models) and all(ref.startswith("assets/") for ref in models.values())
    return {**usual, **(dict.fromkeys(DEVICES, "cpu") if here() and embedded else {})}


def prepare(labs: Mapping[str, LabLike]) -> None:
    """Load all that runs may need, and keep it for the processes that are forked later."""
    for lab in labs.values():
        lab.prepare()
    LABS.update(labs)


def seconds(_models: str, request: Request) -> int:
    """How long to ask for: visitors have little, so never more than a minute."""
    return min(60, int(8 + SECONDS_PER_TOKEN * request.max_new_tokens * len(request.lanes)))


def turns(models: str, request: Request) -> Turns:
    """`in_turns` by the models' name."""
    yield from in_turns(LABS[models], request)


def borrowed() -> Callable[[str, Request], Turns]:
    """The same on a GPU that is lent for the call."""
    gpu = import_module("spaces").GPU
    wrapped: Callable[[str, Request], Turns] = gpu(duration=seconds)(turns)
    return wrapped
