"""A page with the charts alone, over the static files: no server but a file server, traces given as JSON."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from app.pagefiles import STYLES
from engine.analysis.compared import compared
from engine.analysis.names import told
from engine.trace.events import SCHEMA
from engine.trace.store import Trace, event_from_json

STATIC = Path(__file__).parents[2] / "app" / "static"
SHEETS = "".join(f'<link rel="stylesheet" href="{name}">' for name in STYLES)
VIEWS = ("verdict", "stage/score", "inspector", "tree", "aggregates", "divergence", "whatif")
PAGE = (
    """<!doctype html><meta charset="utf-8"><title>Views</title><link rel="icon" href="data:,">
SHEETS
<body><div class="lab">SPOTS</div><script type="module">
import { createStore } from "./store.js";
import { createUi } from "./ui.js";
const store = (window.store = createStore());
store.setOption("stage", "score");
const lab = { ui: createUi(() => null), session: { catalogue: { names: NAMES, presets: [] }, on() {} } };
for (const spot of document.querySelectorAll("[data-view]")) (await import(`./${spot.dataset.view}.js`)).mount(spot, store, lab);
const frame = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
window.settle = frame;
window.view = (name) => document.querySelector(`[data-view="${name}"]`);
const { lanes, compared } = await (await fetch("traces.json")).json();
store.load(lanes, { compared });
await frame();
window.ready = true;
</script>""".replace("SHEETS", SHEETS)
    .replace("NAMES", json.dumps([asdict(name) for name in told()]))
    .replace("SPOTS", "".join(f'<section class="panel" data-view="{name}"></section>' for name in VIEWS))
)


class Quiet(SimpleHTTPRequestHandler):
    """A file server that does not write to the terminal."""

    def log_message(self, format: str, *args: Any) -> None:
        """Stay silent."""


@contextmanager
def static_server() -> Iterator[str]:
    """The address of a server of app/static."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(STATIC)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()


def _trace(lane: dict[str, Any]) -> Trace:
    """A lane as a trace; events on the page carry no schema."""
    return Trace(event_from_json({"schema": SCHEMA, **event}) for event in json.loads(json.dumps(lane["events"])))


def open_views(page: Any, base: str, traces: list[dict[str, Any]]) -> list[str]:
    """Open the page with these traces; what is appended to the list returned are console errors."""
    problems: list[str] = []
    page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.route("**/views.html", lambda route: route.fulfill(body=PAGE, content_type="text/html"))
    found = asdict(compared({lane["key"]: _trace(lane) for lane in traces}))
    body = json.dumps({"lanes": traces, "compared": found})
    page.route("**/traces.json", lambda route: route.fulfill(body=body, content_type="application/json"))
    page.goto(f"{base}/views.html")
    page.wait_for_function("window.ready === true")
    return problems
