"""The installed package `draftscope` (its `__init__`): a lab, traces, pictures of them, and the version.

import draftscope
lab = draftscope.Lab.load("tiny")
draftscope.show(*(lab.run(method, "1 + 2 =") for method in lab.methods()[:4]))
"""

from importlib import import_module
from typing import Any

from app.notebook import register, show
from engine import __version__
from engine.trace.store import Trace

__all__ = ["Lab", "Trace", "__version__", "show"]  # noqa: F822

register()


def __getattr__(name: str) -> Any:
    if name != "Lab":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module("engine.lab").Lab  # when it is asked for: torch takes seconds


def __dir__() -> list[str]:
    return __all__
