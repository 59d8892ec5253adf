"""Hugging Face ZeroGPU: the engine runs in a forked process that is lent a GPU. Elsewhere this file does nothing.

A decorated generator gets and yields pickled values only, so it takes the models' name, not the models, and yields
events. Models, heads and tables must be loaded before the server starts; see `app.starting`. The embedded pair stays on
the CPU, where it needs no loan and costs a visitor nothing.
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from importlib import import_module

from app.request import Request
from app.turns import LabLike, Turns, in_turns
from engine.errors import ConfigError, LabError
from engine.trace.events import Event, RunEnded

LABS: dict[str, LabLike] = {}  # filled before the fork
SECONDS_PER_TOKEN = 0.06
TAG = re.compile(r"<[^<>]*>")
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


def turns(models: str, request: Request) -> Iterator[tuple[str, Event] | str]:
    """`in_turns` by the models' name. Why nothing can start is an item, since an exception would lose its words."""
    try:
        yield from in_turns(LABS[models], request)
    except LabError as error:
        yield str(error)


def borrowed() -> Callable[[str, Request], Turns]:
    """The same on a GPU that is lent for the call.

    A loan that is refused, or ends early, is told in the words of who lends: as a ConfigError, or in every open lane.
    """
    refusal: type[Exception] = import_module("gradio").Error  # what `spaces` raises
    wrapped = import_module("spaces").GPU(duration=seconds)(turns)

    def lent(models: str, request: Request) -> Turns:
        going, begun = [lane.key for lane in request.lanes], False
        try:
            with closing(wrapped(models, request)) as items:
                for item in items:
                    if isinstance(item, str):
                        raise ConfigError(item)
                    begun = True
                    if isinstance(item[1], RunEnded):
                        going.remove(item[0])
                    yield item
        except refusal as error:
            if not begun:
                raise ConfigError(said(error)) from None
            for key in going:
                yield key, RunEnded("error", message=said(error))

    return lent


def said(error: Exception) -> str:
    """What a notice of Gradio says, as plain text."""
    words = TAG.sub(" ", f"{getattr(error, 'title', 'ZeroGPU')}: {getattr(error, 'message', error)!s}")
    return " ".join(words.split()).replace(" .", ".")
