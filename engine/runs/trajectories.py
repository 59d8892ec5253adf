"""Trajectories: several answers to one prompt, one after another, by one method whose tables carry over (STAND, section
5.1)."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from engine.config import TRAJECTORY_TEMPERATURE, TRAJECTORY_TOKENS, Card, RunConfig, whole_number
from engine.errors import ConfigError, shown
from engine.loop import Method
from engine.runs.asking import ready
from engine.runs.pair import Pair
from engine.runs.running import living, stream
from engine.trace.events import Event, Round, RunEnded, RunStarted
from engine.trace.store import Trace

STRIDE = 10_000  # seeds of one prompt's trajectories lie this far apart, so that neighbouring seeds never meet
DEFAULTS: dict[str, Any] = {
    "max_new_tokens": TRAJECTORY_TOKENS,
    "temperature": TRAJECTORY_TEMPERATURE,
    "record": "light",
    "seed": 0,
}


def follow(
    pair: Pair,
    method: str | Card,
    prompt: str | Sequence[int],
    n: int,
    given: Mapping[str, Any],
    keep: Method | None = None,
) -> Iterator[Event]:
    """The events of n runs of one prompt, run after run. Trajectory i has the seed `seed + 10000 i`; closing stops
    within a round.

    `given` is that of `running.stream`, over `DEFAULTS`. `keep` is a method of `prepare` that outlives this call: with
    the knob scope=global its tables go on to the next prompt. The `extras` of each run name its trajectory, from 0, and
    n; recorded in full they hold the texts of the earlier ones too (`earlier`), for draft tokens that come from there.

    Raises:
        ConfigError: at once, as `running.stream`, and for n below 1.
    """
    if (times := whole_number(n)) is None or times < 1:
        raise ConfigError(f"n must be an integer >= 1, not {shown(n)}.")
    options = {**DEFAULTS, **given}
    card, _, config = ready(pair, method, prompt, options, keep)
    return _follow(pair, card, prompt, times, options, replace(config, seed=0), keep)


def _follow(
    pair: Pair,
    card: Card,
    prompt: str | Sequence[int],
    n: int,
    given: Mapping[str, Any],
    config: RunConfig,
    keep: Method | None,
) -> Iterator[Event]:
    method = keep or living(pair, card, config)
    earlier: list[list[str]] = []
    for i in range(n):
        marks = {**(given.get("extras") or {}), "trajectory": i, "trajectories": n}
        if given["record"] == "full":
            marks["earlier"] = list(earlier)
        pieces: list[str] = []
        options = {**given, "seed": given["seed"] + STRIDE * i, "extras": marks}
        for event in stream(pair, card, prompt, options, method):
            if isinstance(event, Round):
                pieces += [token.piece for token in event.tokens]
            yield event
        earlier.append(pieces)


def finished(events: Iterable[Event]) -> Iterator[Trace]:
    """The traces of runs that come one after another, each as soon as it is done."""
    trace = Trace()
    for event in events:
        if isinstance(event, RunStarted):
            trace = Trace()
        trace.append(event)
        if isinstance(event, RunEnded):
            yield trace
