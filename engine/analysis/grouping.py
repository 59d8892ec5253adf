"""Which runs belong together: by task, by method with its knobs, and as pairs on one prompt. Plain data, no torch."""

import operator
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from engine.analysis.labels import word
from engine.errors import ConfigError
from engine.trace.store import Trace

Knobs = Mapping[str, Any]
T = TypeVar("T")


def task_of(trace: Trace) -> str:
    """The task a run belongs to, as its recording said."""
    return str(trace.head.extras.get("task") or "own prompts")


def by_target(runs: Iterable[Trace]) -> dict[str, list[Trace]]:
    """Runs by the id of their target, those of most runs first."""
    found = defaultdict[str, list[Trace]](list)
    for trace in runs:
        found[str(trace.head.models.get("target", {}).get("id", "?"))].append(trace)
    return dict(sorted(found.items(), key=lambda item: -len(item[1])))


def one_target(runs: Mapping[str, int], choose: str = "pool those of one at a time") -> None:
    """See that runs are comparable; `runs` counts those of each target.

    Raises:
        ConfigError: they are of several targets: which, how many of each, and what to do.
    """
    if len(runs) > 1:
        counts = ", ".join(f"{n} of {target}" for target, n in runs.items())
        raise ConfigError(f"These runs are of different targets ({counts}): {choose}.")


def by_method(kept: Sequence[Trace], usual: Mapping[str, Knobs]) -> dict[str, list[Trace]]:
    """Runs by the label of their method, in the order of `usual`; a label tells the knobs that are not as usual."""
    found: dict[tuple[str, str], list[Trace]] = defaultdict(list)
    for trace in kept:
        found[trace.head.method, repr(sorted(_settings(trace).items()))].append(trace)
    order = list(usual)
    place = {name: order.index(name) if name in order else len(order) for name, _ in found}
    listed = sorted(
        found.values(), key=lambda runs: (place[runs[0].head.method], len(_unusual(runs[0], usual, found.values())))
    )
    named: dict[str, list[Trace]] = {}
    for runs in listed:
        words = [f"{name} {word(value)}" for name, value in _unusual(runs[0], usual, found.values()).items()]
        named.setdefault(", ".join([runs[0].head.title or runs[0].head.method, *words]), []).extend(runs)
    return named


def label_of(trace: Trace, usual: Mapping[str, Knobs]) -> str:
    """The label of one run for itself: its method with the knobs that are not as usual."""
    return next(iter(by_method([trace], usual)))


def undrafted(groups: Mapping[str, Sequence[Trace]]) -> list[Trace]:
    """The runs of plain decoding: the reference's, else those of methods that drafted in none of their runs and change
    nothing. A look-up that found nothing on one prompt is no plain decoding."""
    every = [trace for runs in groups.values() for trace in runs]
    reference = [trace for trace in every if trace.head.guarantee == "reference"]
    idle = [runs for runs in groups.values() if not any(event.drafted for trace in runs for event in trace.rounds)]
    return reference or [trace for runs in idle for trace in runs if trace.head.guarantee != "lossy"]


def _settings(trace: Trace) -> dict[str, Any]:
    return {**trace.head.knobs, "temperature": trace.head.sampling.get("temperature", 0.0)}


def _unusual(trace: Trace, usual: Mapping[str, Knobs], groups: Iterable[list[Trace]]) -> dict[str, Any]:
    """Knobs that differ from the usual ones, or, of a method that nobody knows, from those of its first run."""
    first = next(_settings(runs[0]) for runs in groups if runs[0].head.method == trace.head.method)
    known = {**usual.get(trace.head.method, first), "temperature": 0.0}
    return {name: value for name, value in _settings(trace).items() if value != known.get(name, first.get(name))}


def pair_names(runs: Iterable[Trace]) -> list[tuple[Any, ...]]:
    """What makes two runs a pair: task, prompt, temperature, limit, and how often that came before."""
    return counted(question(trace) for trace in runs)


def question(trace: Trace) -> tuple[Any, ...]:
    """What a run was asked: task, prompt, temperature, limit."""
    head = trace.head
    return (task_of(trace), head.prompt, head.sampling.get("temperature"), head.max_new_tokens)


def cluster(trace: Trace) -> tuple[Any, ...]:
    """What counts as one for an interval: all runs on a prompt, and on all turns of one conversation."""
    told = trace.head.extras.get("conversation")
    task, _, *decoding = asked = question(trace)
    return (task, "conversation", told, *decoding) if told else asked


def added(names: Iterable[Hashable], each: Iterable[T], add: Callable[[T, T], T] = operator.add) -> list[T]:
    """What has one name added up, in the order of the first of each."""
    found: dict[Hashable, T] = {}
    for name, one in zip(names, each, strict=True):
        found[name] = add(found[name], one) if name in found else one
    return list(found.values())


def summed(names: Iterable[Hashable], rows: Iterable[Sequence[float]]) -> list[tuple[float, ...]]:
    """Rows of numbers, those of one name added up column by column."""
    return added(names, map(tuple, rows), lambda a, b: tuple(map(sum, zip(a, b, strict=True))))


def by_cluster(runs: Sequence[Trace], rows: Sequence[tuple[float, ...]]) -> list[Any]:
    """Rows of numbers, a run each, added up over the runs of a cluster (`cluster`): a row each."""
    return summed(map(cluster, runs), rows)


def counted(names: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Each name with how often it came before."""
    seen: dict[tuple[Any, ...], int] = defaultdict(int)
    out = []
    for name in names:
        out.append((*name, seen[name]))
        seen[name] += 1
    return out
