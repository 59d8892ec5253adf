"""Tokens per second and latency by the number of prompts decoded together, and where speculation stops paying."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from engine.bench.contest import Spread
from engine.lab import Lab
from engine.trace.outcome import calls
from engine.trace.store import Trace, sound

METHODS = ("ar", "sd", "specdec", "cm_asd", "pld")
SIZES = (1, 2, 4, 8, 16)


@dataclass(frozen=True, slots=True)
class Lap:
    """The same prompts once, in batches of one size: tokens, seconds of all batches, rounds, and the latency of each
    response in seconds, its prompt and its waiting for others included."""

    tokens: int
    seconds: float
    rounds: int
    latencies: tuple[float, ...]


@dataclass(frozen=True)
class Speed:
    """A method at a batch size: tokens per second, seconds a response, and tokens per second over the baseline's at the
    same size, repetition by repetition."""

    method: str
    batch: int
    tokens_per_s: Spread
    latency_s: Spread
    over_ar: Spread
    tokens: int
    rounds: int


def batch_speeds(
    lab: Lab,
    methods: Mapping[str, tuple[str, Mapping[str, Any]]],
    prompts: Sequence[Sequence[int]],
    sizes: Sequence[int],
    new_tokens: int,
    repetitions: int,
    wrap: Callable[[Iterable[int]], Iterable[int]] = iter,
) -> list[Speed]:
    """Every method at every size, in turns, on the same prompts: as many as the largest batch holds, begun again where
    there are fewer. The first of `methods` (label -> name and knobs) is the baseline."""
    longest = [list(prompts[i % len(prompts)]) for i in range(max(sizes))]
    for name, knobs in methods.values():  # warms up
        lab.run_batch(name, longest[: sizes[0]], max_new_tokens=min(new_tokens, 8), record="light", **knobs)
    laps: dict[tuple[str, int], list[Lap]] = {}
    for _ in wrap(range(repetitions)):
        for size in sizes:
            for label, (name, knobs) in methods.items():
                laps.setdefault((label, size), []).append(_lap(lab, name, knobs, longest, size, new_tokens))
    return list(_speeds(laps, next(iter(methods))))


def _lap(
    lab: Lab, name: str, knobs: Mapping[str, Any], prompts: Sequence[Sequence[int]], size: int, new_tokens: int
) -> Lap:
    traces, seconds = list[Trace](), 0.0
    for at in range(0, len(prompts), size):
        began = perf_counter()
        traces += lab.run_batch(name, prompts[at : at + size], max_new_tokens=new_tokens, record="light", **knobs)
        seconds += perf_counter() - began
    ends = [end for trace in traces if (end := sound(trace, name).end)]
    return Lap(
        sum(len(trace.tokens) for trace in traces),
        seconds,
        sum(calls(trace.rounds) for trace in traces),
        tuple(((end.prefill_ms or 0.0) + (end.total_ms or 0.0)) / 1e3 for end in ends),
    )


def _speeds(laps: Mapping[tuple[str, int], Sequence[Lap]], base: str) -> Iterator[Speed]:
    for (label, size), own in laps.items():
        rates = [lap.tokens / lap.seconds for lap in own]
        plain = [lap.tokens / lap.seconds for lap in laps[base, size]]
        yield Speed(
            label,
            size,
            Spread.of(rates),
            Spread.of([sum(lap.latencies) / len(lap.latencies) for lap in own]),
            Spread.of([a / b for a, b in zip(rates, plain, strict=True)]),
            own[-1].tokens,
            own[-1].rounds,
        )


def stops_paying(speeds: Sequence[Speed]) -> dict[str, int | None]:
    """Per method but `ar` the smallest measured batch from which on it is never faster than that; None where it
    is at the largest."""
    found: dict[str, int | None] = {}
    for speed in sorted((one for one in speeds if one.method != "ar"), key=lambda one: one.batch):
        if speed.over_ar.median > 1:
            found[speed.method] = None
        elif found.get(speed.method) is None:
            found[speed.method] = speed.batch
    return found
