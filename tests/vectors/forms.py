"""Forms of numbers: each kind reads the same in the engine's sentences and in the page's figures."""

from typing import Any

from engine.analysis.words import per_call, percent, times

SHARES = (0.0, 0.0004, 0.042, 0.0625, 0.0999, 0.1, 0.125, 0.185, 0.995, 1.0)
RATIOS = (0.001, 0.995, 1.0, 1.125, 1.45, 2.0, 9.254, 23.456)


def vectors() -> dict[str, Any]:
    kinds = (("percent", percent, SHARES), ("times", times, RATIOS), ("per_call", per_call, RATIOS))
    return {
        "cases": [{"kind": name, "value": value, "told": tell(value)} for name, tell, given in kinds for value in given]
    }
