"""Where two lanes part: the page finds it while they stream, the engine when they have ended."""

from typing import Any

from engine.analysis.divergence import divergence
from engine.files.places import PRESETS
from engine.trace.store import Trace

PAIRS = (
    ("near_tie-0-ar", "near_tie-1-sd"),
    ("easd_hurts-0-ar", "easd_hurts-2-easd"),
    ("sampled-1-sd", "sampled-2-sd"),
    ("easd_helps-0-ar", "easd_helps-1-sd"),
)


def vectors() -> dict[str, Any]:
    return {"cases": [_case(*pair) for pair in PAIRS]}


def _case(one: str, other: str) -> dict[str, Any]:
    a, b = (Trace.load(PRESETS / "traces" / f"{name}.jsonl.gz") for name in (one, other))
    found = divergence(a, b)
    return {"runs": [one, other], "pos": found.pos if found else min(len(a.tokens), len(b.tokens))}
