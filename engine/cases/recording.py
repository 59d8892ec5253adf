"""Record the lanes of a case on a lab, and look for a prompt that bears out what the case claims."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from engine.cases.claims import failures
from engine.files.presets import Lane, Preset
from engine.lab import Lab
from engine.tasks import load_problems
from engine.trace.store import Trace


def record(lab: Lab, preset: Preset, warm: bool = True) -> list[Trace]:
    """The lanes of a case, one after the other on a free engine, after a warm-up of each: what a drafter makes of its
    weights at its first step would else be told as the time of a round."""
    lanes = lanes_of(lab, preset)
    for lane in lanes if warm else ():
        lab.run(lane.method, preset.prompt, max_new_tokens=8, **_options(preset, lane.knobs))
    extras = {"case": preset.name, "task": preset.task, "answer": preset.answer}
    options: Mapping[str, Any] = {"max_new_tokens": preset.max_new_tokens, "extras": extras}
    return [_lane(lab, preset, lane, options) for lane in lanes]


def with_times_of(new: Trace, old: Trace) -> Trace | None:
    """The rounds of `new` with head, end and times of `old`, where both wrote the same in the same rounds; None where
    they did not."""
    rounds = [replace(event) for event in new.rounds]
    told = [[(e.fed, e.drafted, [t.token for t in e.tokens]) for e in one.rounds] for one in (new, old)]
    if told[0] != told[1] or old.end is None:
        return None
    for event, before in zip(rounds, old.rounds, strict=True):
        event.draft_ms, event.verify_ms, event.other_ms = before.draft_ms, before.verify_ms, before.other_ms
        if "early_ms" in before.extras:
            event.extras["early_ms"] = before.extras["early_ms"]
        if "network_ms" in before.extras:
            event.extras["network_ms"] = before.extras["network_ms"]
    return Trace([old.head, *rounds, old.end])


def lanes_of(lab: Lab, preset: Preset) -> tuple[Lane, ...]:
    """The lanes of a case; of one with every method, those that the lab can run, in the catalogue's order."""
    if not preset.every:
        return preset.lanes
    own = {lane.method: lane for lane in preset.named}
    return tuple(own.get(card.name, Lane(card.name)) for card in lab.methods())


def _lane(lab: Lab, preset: Preset, lane: Lane, options: Mapping[str, Any]) -> Trace:
    given = {**options, **_options(preset, lane.knobs)}
    if not lane.trajectory:
        return lab.run(lane.method, preset.prompt, top_n=preset.top_n, looks=lab.looks, **given)
    *_, last = lab.trajectories(lane.method, preset.prompt, lane.trajectory, record="full", **given)
    return last


def _options(preset: Preset, knobs: Mapping[str, Any]) -> dict[str, Any]:
    return {**preset.sampling, "seed": preset.seed, "chat": preset.chat, **knobs}


def find(lab: Lab, preset: Preset, limit: int, first: int = 0) -> Iterator[tuple[Preset, list[str]]]:
    """Try the case on held-out problems of its family; yields each with the claims that fail (none: found)."""
    for number, problem in enumerate(load_problems(preset.task, "heldout", first + limit)[first:], first + 1):
        searched = f"number {number} of the held-out {preset.task}" if number > 1 else ""
        candidate = replace(preset, prompt=problem.prompt, answer=problem.answer, searched=searched)
        yield candidate, failures(candidate, record(lab, candidate, warm=False))
