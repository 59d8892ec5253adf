"""What runs that are shown together are called: their titles and, where these are equal, what tells them apart."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from engine.trace.store import Trace

MOST = 2  # knobs in a name


def labels(traces: Sequence[Trace]) -> list[str]:
    """One name a run, all different: the title, with the trajectory and the knobs in which runs of one title differ."""
    told = [f"{title} ({words})" if words else title for title, words in map(_parts(traces), traces)]
    again = Counter(told)
    seen: Counter[str] = Counter()
    out = []
    for name in told:
        seen[name] += 1
        out.append(f"{name}, {seen[name]}" if again[name] > 1 else name)
    return out


def _parts(traces: Sequence[Trace]) -> Any:
    def parts(trace: Trace) -> tuple[str, str]:
        same = [one for one in traces if one.head.title == trace.head.title]
        if len(same) < 2:
            return trace.head.title, ""
        words = []
        if len({one.head.extras.get("trajectory") for one in same}) > 1 and "trajectory" in trace.head.extras:
            words.append(f"trajectory {int(trace.head.extras['trajectory']) + 1}")
        knobs = trace.head.knobs
        telling = [name for name in knobs if any(one.head.knobs.get(name) != knobs[name] for one in same)]
        words += [f"{name} {word(knobs[name])}" for name in telling[:MOST]]
        return trace.head.title, ", ".join(words)

    return parts


def word(value: Any) -> str:
    """A knob's value as it is written: on or off, short numbers, else the text."""
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:g}" if isinstance(value, float) else str(value)
