"""Runs in a notebook: the page itself, in a frame that needs no server and no network."""

import html
import sys
from collections.abc import Iterable
from importlib import import_module
from typing import Any, get_args

from engine.errors import ConfigError, shown, unknown
from engine.files.presets import View
from engine.trace.store import Trace
from engine.trace.sums import as_list

HEIGHT, MOST_HEIGHT = 720, 10_000  # pixels of the frame
VIEWS = get_args(View)
PARTS = "verdict~views~legend~source~details~time"  # what a frame keeps of the page (app/static/embed.js)


class Shown:
    """Runs side by side; a notebook draws it, and `str` is the page's HTML."""

    def __init__(self, traces: Trace | Iterable[Trace], height: int = HEIGHT, views: str = "") -> None:
        """Take runs; `views` names those to offer of text, score, trees and shares, divided by `~`.

        Raises:
            ConfigError: no run, or something that is none; no number of pixels, or a view that there is not.
        """
        if not (runs := as_list(traces)):
            raise ConfigError("One or more traces are shown, as `Lab.run` gives them, and none is here.")
        if isinstance(height, bool) or not isinstance(height, int) or not 1 <= height <= MOST_HEIGHT:
            raise ConfigError(f"height must be an integer from 1 to {MOST_HEIGHT} pixels, not {shown(height)}.")
        for view in str(views).split("~") if views else ():
            if view not in VIEWS:
                raise ConfigError(unknown("view", view, VIEWS))
        self.traces, self.height, self.views = tuple(runs), height, views

    def __str__(self) -> str:
        """The page, which stands alone."""
        export = import_module("app.export")  # a server's worth of modules, needed only here
        page: str = export.export(export.Content(self.traces))
        query = f"chrome={PARTS}" + (f"&views={self.views}" if self.views else "")
        return page.replace("<head>", f"<head>\n<script>window.draftscopeQuery = {query!r};</script>", 1)

    def _repr_html_(self) -> str:
        style = f"width:100%;height:{self.height}px;border:0"
        return f'<iframe style="{style}" title="Draftscope" srcdoc="{html.escape(str(self))}"></iframe>'


def show(*traces: Trace | Iterable[Trace], height: int = HEIGHT, views: str = "") -> Shown:
    """Runs side by side in a notebook: `show(a, b)`, or `show([a, b], views="score")`, or all that `Lab.trajectories`
    gives.

    Raises:
        ConfigError: no run, or something that is none; no number of pixels; a view that there is not.
    """
    return Shown([run for one in traces for run in as_list(one)], height, views)


def register() -> None:
    """From now on a trace, and a list of traces, at the end of a notebook's cell shows itself."""
    Trace.drawn = _drawn
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    if shell is not None:
        shell.display_formatter.formatters["text/html"].for_type(list, _listed)


def _drawn(trace: Trace) -> str:
    return Shown([trace])._repr_html_()


def _listed(found: list[Any]) -> str | None:
    """Lists of anything else are shown as before."""
    return Shown(found)._repr_html_() if found and all(isinstance(one, Trace) for one in found) else None
