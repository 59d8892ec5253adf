"""Plotly figures that sum up many runs or tables: the page, notebooks and exports show the same objects."""

from app.figures.charts import (
    FIGURES,
    accepted_per_round,
    by_position,
    entropies,
    kept_by_entropy,
    kept_by_probability,
    last_rank,
    time_budget,
)
from engine.analysis.tables import nodes_df, rounds_df, tokens_df

TABLES = {"tokens": tokens_df, "nodes": nodes_df, "rounds": rounds_df}  # what `FIGURES` are drawn from, by name

__all__ = [
    "FIGURES",
    "TABLES",
    "accepted_per_round",
    "by_position",
    "entropies",
    "kept_by_entropy",
    "kept_by_probability",
    "last_rank",
    "time_budget",
]
