"""Wilson's interval of a share: error bars of what the visitor has filtered, and of the engine's tables."""

from typing import Any

from engine.analysis.intervals import wilson

COUNTS = ((0, 1), (1, 1), (0, 20), (20, 20), (8, 10), (3, 7), (50, 1000), (999, 1000))


def vectors() -> dict[str, Any]:
    found = [(k, n, wilson(k, n)) for k, n in COUNTS]
    return {"cases": [{"kept": k, "n": n, "low": i.low, "high": i.high} for k, n, i in found if i]}
