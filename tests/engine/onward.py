"""A run of `sd` whose drafter goes on past the end of the text, as lookups may: the loop itself must cut there."""

from collections.abc import Sequence
from typing import Any

from engine.drafters.model import ModelDrafter
from engine.lab import Lab
from engine.runs.running import prepare
from engine.trace.store import Trace


def onward(lab: Lab, prompt: str | Sequence[int], max_new_tokens: int, gamma: int, **options: Any) -> Trace:
    """The trace of such a run."""
    living = prepare(lab, "sd", gamma=gamma)
    assert isinstance(living.drafter, ModelDrafter) and living.drafter.stops
    living.drafter.stops = frozenset()
    return Trace(lab.stream("sd", prompt, max_new_tokens=max_new_tokens, gamma=gamma, reuse=living, **options))
