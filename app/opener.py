"""How models that a visitor names come into a server; `app.opening` is what the visitor asks. No gradio, no torch."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module

from app.rounds import NOBODY, Visitor
from app.turns import LabLike
from engine.runs.findings import Preflight


@dataclass(frozen=True)
class Pair:
    """Two references."""

    target: str
    draft: str
    visitor: Visitor = NOBODY
    languages: str = ""  # "SOURCE:TARGET" of models of several

    @property
    def models(self) -> dict[str, str]:
        """By role."""
        return {role: ref for role, ref in (("target", self.target), ("draft", self.draft)) if ref}

    @property
    def name(self) -> str:
        """What the page calls it."""
        return " + ".join(self.models.values()) + (f" ({self.languages})" if self.languages else "")


@dataclass(frozen=True)
class Opener:
    """How models come in: a look at them by role, what brings them here, and what loads them."""

    look: Callable[[Pair], Preflight]
    fetch: Callable[[Pair], None]
    load: Callable[[Pair], LabLike]


def opener(load: Callable[..., LabLike], **usual: str) -> Opener:
    """The engine's own ways; `load` is what loads a lab, and `usual` this server's devices, dtype and threads."""
    alike = {name: value for name, value in usual.items() if name != "threads"}  # of a look and of loading

    def look(pair: Pair) -> Preflight:
        module = import_module("engine.runs.preflight")  # seconds, as engine.lab
        found: Preflight = module.preflight(**pair.models, languages=pair.languages, **alike)
        return found

    return Opener(
        look=look,
        fetch=lambda pair: import_module("engine.runs.loading").fetch_models(pair.models),
        load=lambda pair: load(**pair.models, languages=pair.languages, **usual),
    )
