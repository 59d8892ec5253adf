"""What runs that are shown together are called: their titles and, where these are equal, what tells them apart."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from engine.trace.store import Trace

MOST = 2  # knobs in a name
TRAJECTORY = ""  # as the name of a knob


def labels(traces: Sequence[Trace]) -> list[str]:
    """One name a run, all different: the title, with the trajectory and the knobs in which runs of one title differ."""
    same = dict[str, list[Trace]]()
    for trace in traces:
        same.setdefault(trace.head.title, []).append(trace)
    telling = {title: _differing(several) for title, several in same.items()}
    told = [_named(trace, telling[trace.head.title]) for trace in traces]
    again = Counter(told)
    seen: Counter[str] = Counter()
    out = []
    for name in told:
        seen[name] += 1
        out.append(f"{name}, {seen[name]}" if again[name] > 1 else name)
    return out


def _differing(traces: Sequence[Trace]) -> set[str]:
    """The knobs in which traces of one title differ, and the trajectory where they differ in that."""
    first, *others = [{**trace.head.knobs, TRAJECTORY: trace.head.extras.get("trajectory")} for trace in traces]
    return {name for one in others for name in first | one if one.get(name) != first.get(name)}


def _named(trace: Trace, telling: set[str]) -> str:
    head, words = trace.head, list[str]()
    if TRAJECTORY in telling and "trajectory" in head.extras:
        words.append(f"trajectory {int(head.extras['trajectory']) + 1}")
    words += [f"{name} {word(value)}" for name, value in head.knobs.items() if name in telling][:MOST]
    return f"{head.title} ({', '.join(words)})" if words else head.title


def word(value: Any) -> str:
    """A knob's value as it is written: on or off, short numbers, else the text."""
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:g}" if isinstance(value, float) else str(value)
