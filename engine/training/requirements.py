"""What the embedded pair must reach to be worth showing."""

from __future__ import annotations

from collections.abc import Mapping
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
    return _held(rows)


def accepted_share(pair: Metrics) -> float:
    """Share of the tested draft tokens of all families that the target accepts."""
    tested = sum(row["tested_guesses"] for row in pair.values())
    return sum(row["accept_rate_tested"] * row["tested_guesses"] for row in pair.values()) / tested


def check_sourced(found: Mapping[str, Metrics]) -> list[dict[str, Any]]:
    """What was asked of the encoder-decoder models, as far as they were measured: "target", "draft", "pair" and
    "parallel" by family."""
    infinite = float("inf")
    bleu = {role: found[role]["translation"]["bleu"] for role in ("target", "draft") if role in found}
    rows: list[Row] = [("target BLEU, greedy, 80 to 97", bleu["target"], 80, 97)]
    if "draft" in bleu:
        rows.append(("target BLEU less draft BLEU, at least 10", bleu["target"] - bleu["draft"], 10, infinite))
    for family, row in found.get("pair", {}).items():
        share = row["accept_rate_tested"]
        rows.append((f"tested draft tokens accepted on {family}, 0.60 to 0.90", share, 0.60, 0.90))
    for family, row in found.get("parallel", {}).items():
        rows.append((f"tokens a target call with the parallel drafter on {family}, above 2", row["tau"], 2, infinite))
    return _held(rows)


def check_nat(target: float, bleu: Mapping[str, float]) -> list[dict[str, Any]]:
    """What makes the quality of a non-autoregressive system sensible: its best setting's BLEU beside the target's."""
    name = max(bleu, key=lambda name: bleu[name])
    return _held([(f"target BLEU less its own ({name}), at most 15", target - bleu[name], -100, 15)])


def _held(rows: list[Row]) -> list[dict[str, Any]]:
    return [{"what": what, "value": value, "met": least <= value <= most} for what, value, least, most in rows]
