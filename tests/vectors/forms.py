"""Forms of numbers: each kind reads the same in the engine's sentences and in the page's figures."""

from typing import Any

from engine.analysis.words import number, per_call, percent, times

SHARES = (0.0, 0.0004, 0.042, 0.0625, 0.0999, 0.1, 0.125, 0.185, 0.9949, 0.995, 0.9985, 0.9996, 1.0)
NATS = (0.0, 0.0083, 0.0834458, 0.0951, 0.1, 0.583, 1.3, 2.0, 12.345)
RATIOS = (0.001, 0.995, 1.0, 1.125, 1.45, 2.0, 9.254, 23.456)


def vectors() -> dict[str, Any]:
    kinds = (
        ("percent", percent, SHARES),
        ("times", times, RATIOS),
        ("per_call", per_call, RATIOS),
        ("nats", number, NATS),
    )
    return {
        "cases": [{"kind": name, "value": value, "told": tell(value)} for name, tell, given in kinds for value in given]
    }
