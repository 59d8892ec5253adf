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


def test_shares_are_of_the_tested_draft_tokens_in_their_bins() -> None:
    """Three were tested: of two that the drafter is nine tenths sure of one is accepted."""
    nodes = pd.DataFrame(
        {
            "method": "sd",
            "depth": [1, 1, 2, 2],
            "state": ["accepted", "rejected", "relaxed", "discarded"],
            "q": [0.9, 0.94, 0.1, 0.95],
            "h_draft": [0.1, 0.2, 0.3, 0.4],
        }
    )
    drawn = {name: FIGURES[name][1](nodes).data[0] for name, (table, _) in FIGURES.items() if table == "nodes"}
    found = {name: (list(line.x), list(line.y), line.customdata) for name, line in drawn.items()}
    assert found["by_position"] == ([1, 2], [0.5, 1.0], None)
    x, y, n = found["kept_by_probability"]
    assert x == pytest.approx([0.1, 0.92]) and (y, list(n)) == ([1.0, 0.5], [1, 2])
    x, y, n = found["kept_by_entropy"]
    assert (x, y, list(n)) == ([0.125, 0.375], [0.5, 1.0], [2, 1])
    (line,) = FIGURES["kept_by_probability"][1](nodes).layout.shapes
    assert (line.x0, line.y0, line.x1, line.y1) == (0, 0, 1, 1)
