"""The installed package `draftscope` (its `__init__`): a lab, traces, pictures of them, and the version.

import draftscope
lab = draftscope.Lab.load("tiny")
draftscope.show(*(lab.run(method, "1 + 2 =") for method in lab.methods()[:4]))
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from engine import __version__

if TYPE_CHECKING:
    from app.notebook import show
    from engine.lab import Lab
    from engine.trace.store import Trace

PLACES = {"Lab": "engine.lab", "Trace": "engine.trace.store", "show": "app.notebook"}

__all__ = ["Lab", "Trace", "__version__", "show"]


def __getattr__(name: str) -> Any:
    """Imported when it is asked for: torch takes seconds, and whoever interrupts a command meanwhile is told a word."""
    if name not in PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import_module("app.notebook").register()
    return getattr(import_module(PLACES[name]), name)


def __dir__() -> list[str]:
    return __all__
