"""What the embedded pair must reach to be worth showing."""

from __future__ import annotations

from statistics import fmean
from typing import Any

from engine.training.evaluate import Metrics

Row = tuple[str, float, float, float]  # what, value, least, most


def check(target: Metrics, draft: Metrics, pair: Metrics) -> list[dict[str, Any]]:
    """Each requirement with its measured value and whether it is met."""
    infinite = float("inf")
    rows: list[Row] = [
        ("target accuracy on arithmetic, at least 0.90", target["arithmetic"]["accuracy"], 0.90, infinite),
        ("target pass rate on functions, at least 0.85", target["functions"]["accuracy"], 0.85, infinite),
        ("draft accuracy on arithmetic, 0.25 to 0.75", draft["arithmetic"]["accuracy"], 0.25, 0.75),
    ]
    rows.append(("tested draft tokens accepted, all families together, 0.60 to 0.90", accepted_share(pair), 0.60, 0.90))
    mean = fmean(row["entropy_at_choices"] for row in target.values())
    rows.append(("target entropy at free choices, mean of the families, at least 1.0 nat", mean, 1.0, infinite))
    return [{"what": what, "value": value, "met": least <= value <= most} for what, value, least, most in rows]


def accepted_share(pair: Metrics) -> float:
    """Share of the tested draft tokens of all families that the target accepts."""
    tested = sum(row["tested_guesses"] for row in pair.values())
    return sum(row["accept_rate_tested"] * row["tested_guesses"] for row in pair.values()) / tested
