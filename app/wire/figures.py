"""Figures that the server draws. See `app.wire`."""

from typing import Any, TypedDict


class Plot(TypedDict):
    """A figure of plotly.js; `layout.meta.colours` names the colours that the page puts in."""

    data: list[dict[str, Any]]
    layout: dict[str, Any]


class Captioned(TypedDict):
    """A figure and what it says."""

    figure: Plot
    caption: str
