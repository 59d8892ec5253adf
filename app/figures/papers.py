"""Tables and figures of the papers, and ours beside them: the same form, axes, order and colours. Small multiples."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from textwrap import wrap
from typing import Any

import plotly.graph_objects as go

from app.figures.theme import COLOURS, STANDOFF, figure, no_narrower, whiskers
from engine.papers.words import form

INKS = ("draft", "target", "judge", "neutral", "draft-2", "target-2", "ink-3", "ink")
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "x", "star", "hexagon")
DASHES = ("solid", "dash", "dot", "dashdot")
HEIGHT = 250
FITS = 18  # characters of an axis title along the height of a small multiple
STRAIGHT = 40  # characters below an axis on a phone; of more the labels are turned, and the legend lies lower
BARS = {"thickness": 1.2, "width": 3}  # of intervals
Cell = Mapping[str, Any] | float | None
Row = tuple[str, Sequence[Cell]]


def table(
    told: Mapping[str, Any], columns: Sequence[str | float], rows: Sequence[Row], order: Sequence[str]
) -> go.Figure:
    """A table as dots with their intervals, or lines over columns that are numbers; `told` has title, x, y and form.

    `order` lists the names of all tables of an item: a name has the same colour and sign in each.
    """
    shown = [(name, cells) for name, cells in rows if any(cell is not None for cell in cells)]
    lines = told["form"] == "lines"
    turned = not lines and sum(len(str(column)) + 1 for column in columns) > STRAIGHT
    drawn = _empty(told, len(shown), turned)
    mode = "lines+markers" if lines else "markers"
    places = list(columns) if lines else [str(column) for column in columns]
    shape = _form(cell for _, cells in shown for cell in cells)
    for name, cells in shown:
        known = [(x, cell) for x, cell in zip(places, cells, strict=True) if cell is not None]
        _add(drawn, name, [x for x, _ in known], [cell for _, cell in known], order, mode, shape)
    if lines:
        return drawn.update_xaxes(tickvals=places if _apart([float(x) for x in places]) else None)
    drawn.update_layout(
        scattermode="group", scattergap=0.3, yaxis_range=_away([c for _, cells in shown for c in cells])
    )
    return drawn.update_xaxes(type="category", range=[-0.5, len(places) - 0.5])


def _away(cells: Sequence[Cell]) -> list[float] | None:
    """What an axis of dots shows where all lie so far from zero that half of its height would be empty; else None, and
    it shows zero too."""
    ends = [end for cell in cells if cell is not None for end in _bounds(cell) if end is not None]
    low, high = min(ends, default=0.0), max(ends, default=0.0)
    pad = (high - low) / 10
    return [low - pad, high + pad] if 0 < high / 2 < low and pad else None


def _apart(places: Sequence[float]) -> bool:
    """Whether the labels of all places fit below an axis, none over its neighbour."""
    ordered = sorted(places)
    gaps = [after - before for before, after in pairwise(ordered)]
    return all(8 * gap >= ordered[-1] - ordered[0] for gap in gaps)


def points(
    told: Mapping[str, Any], rows: Sequence[tuple[str, Sequence[Mapping[str, Any]]]], order: Sequence[str]
) -> go.Figure:
    """Entries as points, x against y, connected in the order of x."""
    drawn = _empty(told, len(rows))
    shape = _form(one["y"] for _, found in rows for one in found)
    for name, found in rows:
        ordered = sorted(found, key=lambda one: float(one["x"]["mean"]))
        x, y = [one["x"]["mean"] for one in ordered], [one["y"] for one in ordered]
        _add(drawn, name, x, y, order, "lines+markers", shape)
    return drawn


def beside(title: str, quality: str, rows: Sequence[tuple[str, Cell, Cell]]) -> go.Figure:
    """Methods as lines: `quality` (its name and unit) on the left, speed against plain decoding on the right.

    A row is a method's name, its quality and its speed, the first row on top; what is None leaves a gap.
    """
    drawn = figure(title, "", "", 96 + 17 * len(rows))
    names = [name for name, _, _ in rows]
    for place, (ink, column) in enumerate((("target", 1), ("draft", 2))):
        known = [(name, cells[place]) for name, *cells in rows if cells[place] is not None]
        means, low, high = zip(*(_bounds(cell) for _, cell in known), strict=True) if known else ((), (), ())
        drawn.add_scatter(
            x=list(means),
            y=[name for name, _ in known],
            xaxis=f"x{column}" if column > 1 else "x",
            mode="markers",
            showlegend=False,
            marker={"color": COLOURS[ink], "size": 7},
            error_x=whiskers(zip(means, low, high, strict=True), **BARS, color=COLOURS[ink]),
            customdata=[list(pair) for pair in zip(low, high, strict=True)],
            hovertemplate=[f"%{{y}}: {told}<extra></extra>" for told in _told("x", [cell for _, cell in known])],
        )
    second = drawn.layout.xaxis.to_plotly_json()
    second["title"] = {"text": "speed, times<br>plain decoding's", "standoff": STANDOFF}
    drawn.update_layout(
        xaxis={"domain": [0, 0.48], "title": {"text": quality, "standoff": STANDOFF}},
        xaxis2=second | {"domain": [0.52, 1], "anchor": "y", "rangemode": "tozero"},
        yaxis={"categoryorder": "array", "categoryarray": names[::-1], "range": [-0.7, len(names) - 0.3]},
        shapes=[_level(0, "x"), _level(1, "x2")],
    )
    return no_narrower(drawn, 560)


def _level(value: float, axis: str) -> dict[str, Any]:
    """A line at plain decoding's value."""
    line = {"color": COLOURS["ink-3"], "width": 1, "dash": "dot"}
    return {"type": "line", "xref": axis, "yref": "paper", "x0": value, "x1": value, "y0": 0, "y1": 1, "line": line}


def _empty(told: Mapping[str, Any], rows: int, turned: bool = False) -> go.Figure:
    low = told["x"] or turned  # what stands between the axis and the legend
    height = HEIGHT + (24 if low else 0) + 19 * max(0, rows - 2)
    drawn = figure(str(told["title"]), str(told["x"]), "<br>".join(wrap(told["y"], FITS)), height)
    legend = {
        "orientation": "h",
        "y": -0.42 if low else -0.26,
        "yanchor": "top",
        "maxheight": 1,
        "font": {"size": 11},
    }
    return drawn.update_layout(showlegend=rows > 1, legend=legend, margin={"t": 34, "r": 10})


def _form(cells: Iterable[Cell]) -> str:
    """The form of numbers of ours, as in their table; a paper's own keep their digits."""
    ours = [cell for cell in cells if isinstance(cell, Mapping)]
    return ":" + form(ours).removeprefix("z") if ours else ""


def _told(axis: str, cells: Sequence[Cell], shape: str | None = None) -> list[str]:
    """What hover tells of each number: its interval too, where it has one."""
    shape = _form(cells) if shape is None else shape
    span = f" (%{{customdata[0]{shape}}} to %{{customdata[1]{shape}}})"
    return [f"%{{{axis}{shape}}}{span if _bounds(cell)[1] is not None else ''}" for cell in cells]


def _add(
    drawn: go.Figure,
    name: str,
    x: Sequence[Any],
    cells: Sequence[Cell],
    order: Sequence[str],
    mode: str,
    shape: str,
) -> None:
    place = order.index(name) if name in order else len(order)
    colour = COLOURS[INKS[place % len(INKS)]]
    means, low, high = zip(*map(_bounds, cells), strict=True) if cells else ((), (), ())
    drawn.add_scatter(
        x=list(x),
        y=list(means),
        name=name,
        mode=mode,
        marker={"color": colour, "symbol": SYMBOLS[(place + place // len(INKS)) % len(SYMBOLS)], "size": 8},
        line={"color": colour, "width": 1.6, "dash": DASHES[place // len(INKS) % len(DASHES)]},
        error_y=whiskers(zip(means, low, high, strict=True), **BARS, color=colour),
        customdata=[list(pair) for pair in zip(low, high, strict=True)],
        hovertemplate=[f"%{{x}}: {told}" for told in _told("y", cells, shape)],
        offsetgroup=str(place),
        cliponaxis=False,  # a sign at zero is whole
    )


def _bounds(cell: Cell) -> tuple[float, float | None, float | None]:
    """A number and the ends of its interval, None where it has none."""
    if isinstance(cell, Mapping):
        return float(cell["mean"]), cell["low"], cell["high"]
    return float(cell or 0), None, None
