"""Figures of several answers to one problem, and of many problems: tokens a target call, trajectory by trajectory."""

from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from app.figures.theme import figure, interval, look, whiskers

TOKENS = "tokens a target call"
FEW = 10  # upright marks that have room on a phone


def one_problem(methods: Sequence[tuple[str, Sequence[Mapping[str, Any]]]]) -> go.Figure:
    """Tokens a target call of each trajectory; `methods` are a title and rows of `engine.analysis.sheet`."""
    drawn = figure("Tokens a target call by trajectory", "trajectory", TOKENS)
    for place, (title, rows) in enumerate(methods):
        told = [row for row in rows if row.get("tau") is not None]
        _line(
            drawn,
            place,
            title,
            [row["trajectory"] + 1 for row in told],
            [row["tau"] for row in told],
            customdata=[[row["tokens"], row["rounds"]] for row in told],
            hovertemplate="trajectory %{x}: %{y:.2f} (%{customdata[0]} tokens in %{customdata[1]} target calls)",
        )
    return _whole(drawn)


def by_trajectory(part: Mapping[str, Any], names: Mapping[str, str]) -> go.Figure:
    """The i-th trajectory alone, mean over problems with its 95 % interval (`engine.analysis.seriesreport`)."""
    drawn = figure("Tokens a target call of the i-th trajectory", "trajectory", TOKENS)
    for place, method in enumerate(dict.fromkeys(cell["method"] for cell in part["by_trajectory"])):
        cells = [cell for cell in part["by_trajectory"] if cell["method"] == method and cell["tau"]]
        taus = [cell["tau"] for cell in cells]
        _line(
            drawn,
            place,
            names.get(method, method),
            [cell["trajectory"] for cell in cells],
            [tau["mean"] for tau in taus],
            error_y=whiskers(((tau["mean"], tau["low"], tau["high"]) for tau in taus), thickness=1),
            customdata=[interval(tau, ".2f") for tau in taus],
            hovertemplate="trajectory %{x}: %{y:.2f} (%{customdata})",
        )
    return _whole(drawn)


def profiles(trees: Sequence[Mapping[str, Any]]) -> go.Figure:
    """Nodes at each depth of some draft trees, the root not counted."""
    drawn = figure("Nodes by depth", "depth, tokens", "nodes").update_layout(legend_y=-0.4)  # three lines on a phone
    for place, tree in enumerate(trees):
        counts = list(tree["profile"])
        _line(drawn, place, f"{tree['name']} ({sum(counts)})", list(range(1, len(counts) + 1)), counts)
    return _whole(drawn)


def _line(drawn: go.Figure, place: int, name: str, x: Sequence[int], y: Sequence[float], **more: Any) -> None:
    style = look(place)
    drawn.add_scatter(x=x, y=y, name=name, mode="lines+markers", line=style.line, marker=style.marker, **more)


def _whole(drawn: go.Figure) -> go.Figure:
    last = max((max(line.x, default=0) for line in drawn.data), default=0)
    drawn.update_xaxes(tickformat="d", dtick=1 if last <= FEW else 2)
    return drawn.update_yaxes(rangemode="tozero").update_layout(showlegend=True)
