"""One function a figure: a table in (`engine.analysis.tables`), a Plotly figure out. Axes have names and units.
`order` names methods whose colours are to be the same in several figures, in the order of the colours.

An empty table gives an empty figure that says so.
"""

from collections.abc import Callable, Iterator, Sequence

import pandas as pd
import plotly.graph_objects as go

from app.figures.theme import LOOKS, figure
from engine.analysis.calibration import calibration
from engine.trace.outcome import ACCEPTED

COLOURS = tuple(dict.fromkeys(look.colour for look in LOOKS))
BIN = 0.25  # nats
TIMES = {"draft_ms": "draft", "verify_ms": "target", "other_ms": "rest"}


def by_position(nodes: pd.DataFrame, order: Sequence[str] = ()) -> go.Figure:
    """Share accepted of the draft tokens tested at each depth of the draft."""
    drawn = figure("Accepted by position in the draft", "position, tokens", "share of tested draft tokens")
    for colour, method, rows in _methods(nodes, order):
        tested = rows[~rows.state.isin(("discarded",))]
        shares = tested.state.isin(ACCEPTED).groupby(tested.depth).mean()
        drawn.add_scatter(x=shares.index, y=shares, name=method, mode="lines+markers", line_color=colour)
    return drawn.update_yaxes(range=[0, 1.02], tickformat=".0%")


def accepted_per_round(rounds: pd.DataFrame, order: Sequence[str] = ()) -> go.Figure:
    """How often a target call accepted so many draft tokens."""
    drawn = figure("Draft tokens accepted a target call", "draft tokens accepted", "share of calls")
    for colour, method, rows in _methods(rounds, order):
        shares = rows.accepted.value_counts(normalize=True).sort_index()
        drawn.add_bar(x=shares.index, y=shares, name=method, marker_color=colour)
    return drawn.update_yaxes(tickformat=".0%")


def kept_by_entropy(nodes: pd.DataFrame, order: Sequence[str] = ()) -> go.Figure:
    """Share accepted of the tested draft tokens by draft entropy, in bins of a quarter nat; hover tells how many."""
    drawn = figure("Accepted against the draft's entropy", "entropy of the draft, nats", "share of tested draft tokens")
    for colour, method, rows in _methods(nodes, order):
        tested = rows[(rows.state != "discarded") & rows.h_draft.notna()]
        groups = tested.state.isin(ACCEPTED).groupby((tested.h_draft // BIN + 0.5) * BIN)
        shares, counts = groups.mean(), groups.size()
        drawn.add_scatter(
            x=shares.index,
            y=shares,
            name=method,
            mode="lines+markers",
            line_color=colour,
            customdata=counts,
            hovertemplate="%{y:.0%} of %{customdata}",
        )
    return drawn.update_yaxes(range=[0, 1.02], tickformat=".0%")


def kept_by_probability(nodes: pd.DataFrame, order: Sequence[str] = ()) -> go.Figure:
    """Share accepted of the tested draft tokens by the drafter's own probability of them, in tenths at their means; on
    the dashed line tokens are accepted as often as the drafter says."""
    drawn = figure(
        "Accepted against the draft's probability",
        "probability in the draft's distribution",
        "share of tested draft tokens",
    )
    for colour, method, rows in _methods(nodes, order):
        tested = rows[(rows.state != "discarded") & rows.q.notna()]
        found = calibration(zip(tested.q, tested.state.isin(ACCEPTED), strict=True))
        bins = [one for one in found.bins if one.n]
        if bins:
            drawn.add_scatter(
                x=[one.said for one in bins],
                y=[one.share for one in bins],
                name=method,
                mode="lines+markers",
                line_color=colour,
                customdata=[one.n for one in bins],
                hovertemplate="%{y:.0%} of %{customdata}",
            )
    drawn.add_shape(type="line", x0=0, y0=0, x1=1, y1=1, line={"dash": "dash", "width": 1})
    return drawn.update_xaxes(range=[0, 1.02], tickformat=".0%").update_yaxes(range=[0, 1.02], tickformat=".0%")


def entropies(tokens: pd.DataFrame, order: Sequence[str] = ()) -> go.Figure:
    """Entropy of both models along the response, one line a model and method."""
    drawn = figure("Entropy along the response", "position, tokens", "entropy, nats")
    for colour, method, rows in _methods(tokens, order):
        for column, dash in (("h_target", "solid"), ("h_draft", "dot")):
            if rows[column].notna().any():
                name = f"{method}, {column.removeprefix('h_')}"
                drawn.add_scatter(
                    x=rows.pos, y=rows[column], name=name, mode="lines", line={"color": colour, "dash": dash}
                )
    return drawn


def time_budget(rounds: pd.DataFrame, order: Sequence[str] = ()) -> go.Figure:
    """Milliseconds an emitted token: drafting, the target's pass, the rest."""
    drawn = figure("Time an emitted token", "", "ms a token")
    parts = [
        (method, rows[list(TIMES)].sum() / max(1, rows.emitted.sum())) for _, method, rows in _methods(rounds, order)
    ]
    for colour, (column, name) in zip(COLOURS, TIMES.items(), strict=False):
        drawn.add_bar(
            x=[method for method, _ in parts], y=[times[column] for _, times in parts], name=name, marker_color=colour
        )
    return drawn.update_layout(barmode="stack")


def last_rank(rounds: pd.DataFrame, order: Sequence[str] = ()) -> go.Figure:
    """Terminal confidence rank: the draft's rank of the last accepted token (HeteroSpec, 3.2); 0 for none."""
    drawn = figure("Rank of the last accepted token", "rank", "share of calls")
    for colour, method, rows in _methods(rounds[rounds.tcr.notna()], order):
        shares = rows.tcr.value_counts(normalize=True).sort_index()
        drawn.add_bar(x=shares.index, y=shares, name=method, marker_color=colour)
    return drawn.update_yaxes(tickformat=".0%")


FIGURES: dict[str, tuple[str, Callable[..., go.Figure]]] = {  # name -> table that it reads, figure
    "by_position": ("nodes", by_position),
    "accepted_per_round": ("rounds", accepted_per_round),
    "kept_by_entropy": ("nodes", kept_by_entropy),
    "kept_by_probability": ("nodes", kept_by_probability),
    "last_rank": ("rounds", last_rank),
    "time_budget": ("rounds", time_budget),
    "entropies": ("tokens", entropies),
}


def _methods(table: pd.DataFrame, order: Sequence[str]) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """Colour, name and rows of each method: in `order`, the rest as the table has them."""
    names = list(dict.fromkeys([*order, *map(str, table.method)]))
    for i, name in enumerate(names):
        rows = table[table.method == name]
        if len(rows):
            yield COLOURS[i % len(COLOURS)], name, rows
