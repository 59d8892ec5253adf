"""The installed package `draftscope` (its `__init__`): a lab, traces, and the version.

import draftscope
lab = draftscope.Lab.load("tiny")
trace = lab.run("sd", "Once upon a time")
"""

from importlib import import_module
from typing import Any

from engine import __version__

_HOMES = {"Lab": "engine.lab", "Trace": "engine.trace.store"}  # loaded when asked for: torch takes seconds

__all__ = ["Lab", "Trace", "__version__"]  # noqa: F822


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
