"""Plotly figures from the lab's tables, for notebooks and the report; the live page draws its own (docs/design/0008-page.md)."""

from app.figures.charts import (
    FIGURES,
    accepted_per_round,
    by_position,
    entropies,
    kept_by_entropy,
    last_rank,
    time_budget,
)

__all__ = ["FIGURES", "accepted_per_round", "by_position", "entropies", "kept_by_entropy", "last_rank", "time_budget"]
