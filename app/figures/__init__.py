"""Plotly figures that sum up many runs or tables: the page, notebooks and the report show the same objects."""

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
