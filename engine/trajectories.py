"""Trajectories: several answers to one prompt, one after another, by one method whose tables carry over (STAND, section 5.1)."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from engine.config import Card, RunConfig, Sampling
from engine.loop import Method
from engine.methods import get_card
from engine.methods.compose import build
from engine.trace.store import Trace

if TYPE_CHECKING:
    from engine.lab import Lab

STRIDE = 10_000  # seeds of one prompt's trajectories lie this far apart, so that neighbouring seeds never meet


def prepare(lab: "Lab", method: str | Card, **knobs: Any) -> Method:
    """A method that lives through several runs: give it to `Lab.stream(reuse=...)` or to `draw`.

    Raises:
        ConfigError: an unknown method or knob, or a model that is missing.
    """
    card = method if isinstance(method, Card) else get_card(method)
    config = RunConfig(card.name, (0,), max_new_tokens=lab.target.context, sampling=Sampling(), knobs=card.resolve(knobs))
    return build(card, lab.kit(card, config), config.knobs)


def draw(
    lab: "Lab",
    method: str | Card,
    prompt: str | Sequence[int],
    n: int,
    *,
    seed: int = 0,
    temperature: float = 0.6,
    record: Any = "light",
    extras: Mapping[str, Any] | None = None,
    keep: Method | None = None,
    options: Mapping[str, Any] | None = None,
    **knobs: Any,
) -> Iterator[Trace]:
    """Draw n traces of one prompt, each as soon as it is done. Trajectory i has the seed `seed + 10000 i`.

    `keep` is a method of `prepare` that outlives this call: with the knob scope=global its tables go on to the next prompt.
    `options` are further ones of `Lab.stream`. Each trace's `extras` name its trajectory, from 0, and n.
    """
    card = method if isinstance(method, Card) else get_card(method)
    living = keep or prepare(lab, card, **knobs)
    for i in range(n):
        marks = {**(extras or {}), "trajectory": i, "trajectories": n}
        yield lab.run(
            card, prompt, seed=seed + STRIDE * i, temperature=temperature, record=record, extras=marks, reuse=living,
            **{**(options or {}), **knobs},
        )  # fmt: skip
