"""One look for all figures. Colours are named as on the page; the page shows each by its name, light or dark."""

import html
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import floor, log10
from typing import Any

import plotly.graph_objects as go
import plotly.io as pio

COLOURS = {  # the light values of app/static/tokens.css, which a test compares
    "ink": "#1b1d21",
    "ink-2": "#545a64",
    "ink-3": "#626872",
    "line": "#e5e5e0",
    "line-2": "#cfcfc8",
    "panel": "#ffffff",
    "draft": "#1467a8",
    "draft-2": "#5893c4",
    "target": "#a84d08",
    "target-2": "#c87a2e",
    "judge": "#6a4aa8",
    "neutral": "#8b9099",
}
FONT = "system-ui, 'DejaVu Sans', sans-serif"
CLEAR = "rgba(0,0,0,0)"
STANDOFF = 6  # pixels from an axis to its title, which stays clear of a legend below
UNSTYLED = pio.templates["none"].to_plotly_json()  # by its name it would be read anew for each figure


def plain(text: str) -> str:
    """A text out of a file, as a figure shows it letter by letter: of what looks like a tag it would make a link."""
    return html.escape(text, quote=False)


@dataclass(frozen=True)
class Look:
    """How one series of several is told apart: by colour and by shape."""

    colour: str
    symbol: str
    dash: str = "solid"

    @property
    def line(self) -> dict[str, Any]:
        """For `line=`."""
        return {"color": self.colour, "dash": self.dash, "width": 1.8}

    @property
    def marker(self) -> dict[str, Any]:
        """For `marker=`."""
        return {"color": self.colour, "symbol": self.symbol, "size": 7}


LOOKS = tuple(
    Look(COLOURS[colour], symbol, dash)
    for colour, symbol, dash in (
        ("draft", "circle", "solid"),
        ("target", "square", "solid"),
        ("judge", "diamond", "solid"),
        ("neutral", "circle-open", "dash"),
        ("target", "square-open", "dash"),
        ("draft", "diamond-open", "dot"),
        ("judge", "circle-open", "dot"),
    )
)


def look(place: int) -> Look:
    """The look of the series at a place; they repeat after seven."""
    return LOOKS[place % len(LOOKS)]


def figure(title: str, x: str, y: str, height: int = 320) -> go.Figure:
    """An empty figure with its axes named; `x` and `y` tell their unit."""
    axis = {
        "gridcolor": COLOURS["line"],
        "linecolor": COLOURS["line-2"],
        "zerolinecolor": COLOURS["line-2"],
        "automargin": True,
    }
    layout = {  # given whole: `update_layout` goes through it name by name, which takes ten times as long
        "template": UNSTYLED,
        "title": {"text": title, "font": {"size": 14, "color": COLOURS["ink"]}, "x": 0, "xref": "container"},
        "font": {"family": FONT, "size": 12, "color": COLOURS["ink-2"]},
        "hoverlabel": {
            "bgcolor": COLOURS["panel"],
            "bordercolor": COLOURS["line-2"],
            "font": {"color": COLOURS["ink"]},
        },
        "paper_bgcolor": CLEAR,
        "plot_bgcolor": CLEAR,
        "xaxis": axis | ({"title": {"text": x, "standoff": STANDOFF}} if x else {}),  # an empty one would take room
        "yaxis": {**axis, "title": {"text": y}},
        "legend": {"orientation": "h", "y": -0.28, "yanchor": "top"},
        "margin": {"l": 56, "r": 16, "t": 40, "b": 48},
        "barmode": "group",
        "height": height,
        "meta": {"colours": {value: name for name, value in COLOURS.items()}},
    }
    return go.Figure(layout=layout)


def no_narrower(drawn: go.Figure, pixels: int) -> go.Figure:
    """The same figure, which the page scrolls sideways where there is less room: its words would overprint."""
    return drawn.update_layout(meta={**drawn.layout.meta, "least": pixels})


def round_step(least: float) -> float:
    """The smallest of 1, 2 and 5 times a power of ten that is no less."""
    power = 10.0 ** floor(log10(least))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= least * (1 - 1e-9))


def paired(top: float, other: float) -> tuple[dict[str, Any], dict[str, Any]]:
    """Two axes from 0 over the same lines, with round ticks on both: as many as leave the least empty above."""
    tops = [top if top > 0 else 1.0, other if other > 0 else 1.0]
    choices = [[(n, round_step(one / n)) for one in tops] for n in range(3, 7)]
    best = min(choices, key=lambda steps: sum(n * step / one for (n, step), one in zip(steps, tops, strict=True)))
    first, second = ({"range": [0, n * step], "tick0": 0, "dtick": step, "tickmode": "linear"} for n, step in best)
    return first, second


def vertical(drawn: go.Figure, x: float, text: str = "", name: str = "", colour: str = "ink-2") -> None:
    """A dashed line across the figure at x, with words at its top; `name` lets the page find it."""
    drawn.add_shape(
        type="line",
        name=name or None,
        x0=x,
        x1=x,
        y0=0,
        y1=1,
        yref="paper",
        line={"color": COLOURS[colour], "dash": "dash", "width": 1.2},
    )
    if text:
        drawn.add_annotation(
            x=x, y=1, yref="paper", text=text, showarrow=False, xanchor="left", yanchor="top", xshift=4
        )


def whiskers(told: Iterable[tuple[float, float | None, float | None]], **style: Any) -> dict[str, Any]:
    """Error bars of means with the ends of their intervals, low and high; None where an end is missing, for which the
    page draws nothing (recolour.js), and none at all where all are."""
    rows = list(told)
    return {
        "visible": any(end is not None for _, *ends in rows for end in ends),
        "type": "data",
        "symmetric": False,
        "array": [None if high is None else high - mean for mean, _, high in rows],
        "arrayminus": [None if low is None else mean - low for mean, low, _ in rows],
        **style,
    }


def interval(value: Mapping[str, Any], shape: str) -> str:
    """The interval of an estimate in words, with how many values it is from; these alone where it has no bounds.
    `shape` is the form of its numbers."""
    if value["low"] is None:
        return f"n = {value['n']}"
    low, high = (format(value[end], shape).replace("%", "\u00a0%") for end in ("low", "high"))  # as the page writes it
    return f"95 % {low} to {high}, n = {value['n']}"


def captioned(drawn: Iterable[tuple[go.Figure, str]]) -> list[dict[str, Any]]:
    """Figures with their captions, in JSON types."""
    return [{"figure": figure.to_plotly_json(), "caption": caption} for figure, caption in drawn]
