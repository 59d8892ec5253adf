"""Figures: their numbers are those of the tables, axes have names and units, and empty tables draw."""

import json
from pathlib import Path

import pandas as pd
import pytest

from app.figures import FIGURES, TABLES
from engine.trace.store import Trace


@pytest.fixture(scope="module")
def traces() -> list[Trace]:
    return [Trace.load(path) for path in sorted(Path("presets/traces").glob("first_look-*.jsonl.gz"))]


def data(traces: list[Trace], name: str) -> tuple[pd.DataFrame, dict]:
    table, figure = FIGURES[name]
    frame = TABLES[table](traces)
    return frame, json.loads(figure(frame).to_json())


@pytest.mark.parametrize("name", FIGURES)
def test_axes_have_names_and_empty_tables_draw(traces: list[Trace], name: str) -> None:
    frame, drawn = data(traces, name)
    layout = drawn["layout"]
    assert drawn["data"] and layout["yaxis"]["title"]["text"] and ("title" in layout["xaxis"] or name == "time_budget")
    empty = FIGURES[name][1](frame.iloc[:0])
    assert sum(len(part.x if part.x is not None else ()) for part in empty.data) == 0
    FIGURES[name][1](frame.iloc[:1])


def test_shares_are_those_of_the_tables(traces: list[Trace]) -> None:
    nodes, _ = data(traces, "by_position")
    chain = next(part for part in FIGURES["by_position"][1](nodes).data if part.name == "sd")
    first = nodes[(nodes.method == "sd") & (nodes.depth == 1) & (nodes.state != "discarded")]
    assert chain.x[0] == 1 and chain.y[0] == pytest.approx(first.state.isin(["accepted", "relaxed"]).mean())
    rounds = TABLES["rounds"](traces)
    for part in FIGURES["accepted_per_round"][1](rounds).data:
        assert sum(part.y) == pytest.approx(1)
    times = {part.name: part.y for part in FIGURES["time_budget"][1](rounds).data}
    mine = rounds[rounds.method == "sd"]
    assert times["target"][1] == pytest.approx(mine.verify_ms.sum() / mine.emitted.sum())
