"""Which run is a fair baseline of which: a quotient of speeds is told on both sides."""

from itertools import permutations
from typing import Any

from engine.errors import ConfigError
from engine.files.places import PRESETS
from engine.trace.metrics import check_baseline
from engine.trace.store import Trace

RUNS = ("easd_helps-0-ar", "easd_helps-1-sd", "code-0-ar", "sampled-0-ar", "sampled-1-sd")


def vectors() -> dict[str, Any]:
    traces = {name: Trace.load(PRESETS / "traces" / f"{name}.jsonl.gz") for name in RUNS}
    return {
        "cases": [
            {"run": one, "baseline": other, "fair": _fair(traces[one], traces[other])}
            for one, other in permutations(RUNS, 2)
        ]
    }


def _fair(trace: Trace, baseline: Trace) -> bool:
    try:
        check_baseline(trace, baseline)
    except ConfigError:
        return False
    return True
