"""What serving engines report beside the lab's own runs: tokens a verify pass, and acceptance by position."""

from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from app.figures.theme import captioned, figure, look, plain, whiskers

Row = Mapping[str, Any]


def figures(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Both figures with their captions; without what no row tells."""
    drawn = []
    lengths = [row for row in rows if row["tau"]]
    if lengths:
        caption = (
            "Accepted draft tokens and one, over calls that verified a draft; 95 %. The models need not be the same."
        )
        drawn.append((passes(lengths), caption))
    curves = [row for row in rows if row["accept_by_depth"]]
    if curves:
        caption = (
            "Calls that accepted the draft up to this position, over calls that verified one; 95 % (Wilson, with as "
            "many calls as those of so many requests are worth; of one count as if all were independent)."
        )
        drawn.append((positions(curves), caption))
    return captioned(drawn)


def passes(rows: Sequence[Row]) -> go.Figure:
    """Tokens a verify pass, a bar a row."""
    drawn = figure("Tokens a verify pass", "tokens a pass", "", height=120 + 34 * len(rows))
    for place, row in enumerate(rows):
        told = row["tau"]
        arms = {} if told["low"] is None else whiskers([(told["mean"], told["low"], told["high"])], thickness=1.2)
        name = plain(row["label"])
        bar = {"x": [told["mean"]], "y": [name], "marker_color": look(place).colour}
        drawn.add_bar(orientation="h", name=name, **bar, **({"error_x": arms} if arms else {}))
    return drawn.update_layout(showlegend=False).update_yaxes(autorange="reversed")


def positions(rows: Sequence[Row]) -> go.Figure:
    """Acceptance by position, a line a row."""
    drawn = figure("Acceptance by position in the draft", "position in the draft", "share of calls with a draft")
    for place, row in enumerate(rows):
        told, looks = row["accept_by_depth"], look(place)
        ends = zip(told["marginal"], told["low"], told["high"], strict=True)
        arms = {} if None in told["low"] else {"error_y": whiskers(ends, thickness=1.2)}
        drawn.add_scatter(
            x=told["depth"], y=told["marginal"], name=plain(row["label"]), line=looks.line, marker=looks.marker, **arms
        )
    return drawn.update_yaxes(tickformat=".0%", range=[0, 1.02]).update_xaxes(dtick=1)
