"""Trajectories: several answers to one prompt, one after another, by one method whose tables carry over (STAND, section 5.1)."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from engine.config import Card, RunConfig, Sampling
from engine.loop import Method
from engine.methods import get_card
from engine.methods.compose import build
from engine.trace.events import Event, Round, RunEnded, RunStarted
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
    config = RunConfig(
        card.name, (0,), max_new_tokens=lab.target.context, sampling=Sampling(), knobs=card.resolve(knobs)
    )
    return build(card, lab.kit(card, config), config.knobs)


def follow(
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
) -> Iterator[Event]:
    """The events of n runs of one prompt, run after run. Trajectory i has the seed `seed + 10000 i`; closing stops within a round.

    `keep` is a method of `prepare` that outlives this call: with the knob scope=global its tables go on to the next prompt.
    `options` are further ones of `Lab.stream`. The `extras` of each run name its trajectory, from 0, and n; recorded in full they
    hold the texts of the earlier ones too (`earlier`), for guesses that come from there.
    """
    card = method if isinstance(method, Card) else get_card(method)
    living = keep or prepare(lab, card, **knobs)
    earlier: list[list[str]] = []
    for i in range(n):
        marks = {**(extras or {}), "trajectory": i, "trajectories": n}
        if record == "full":
            marks["earlier"] = list(earlier)
        pieces: list[str] = []
        for event in lab.stream(
            card,
            prompt,
            seed=seed + STRIDE * i,
            temperature=temperature,
            record=record,
            extras=marks,
            reuse=living,
            **{**(options or {}), **knobs},
        ):
            if isinstance(event, Round):
                pieces += [token.piece for token in event.tokens]
            yield event
        earlier.append(pieces)


def draw(lab: "Lab", method: str | Card, prompt: str | Sequence[int], n: int, **given: Any) -> Iterator[Trace]:
    """The same as n traces, each as soon as it is done; `given` as for `follow`."""
    trace = Trace()
    for event in follow(lab, method, prompt, n, **given):
        if isinstance(event, RunStarted):
            trace = Trace()
        trace.append(event)
        if isinstance(event, RunEnded):
            yield trace
