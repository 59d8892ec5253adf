"""Many runs pooled into figures and tables: the repository's own, recorded, and a visitor's traces."""

import json
from collections.abc import Mapping
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from anyio import CapacityLimiter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from app.answers import Json, refused
from app.endpoint import ZIPPED, answered
from app.figures import pooled as figures
from app.figures import served
from app.recorded import split, unpacked
from app.service import Service
from app.state import Limits
from engine.analysis import index
from engine.analysis.advice import advise
from engine.analysis.grouping import by_method, undrafted
from engine.analysis.pool import RECORDED, pool
from engine.analysis.reading import MAX_RUNS, draft_tokens, read_runs
from engine.errors import ConfigError, TraceError
from engine.served.configs import ENGINES, configurations
from engine.served.pooling import beside
from engine.served.reading import is_report, read_reports
from engine.served.report import Report
from engine.strata.learning import study
from engine.trace.outcome import whole
from engine.trace.store import Trace

EMPTY: dict[str, Any] = {  # of reports of engines alone
    "kind": "pooled",
    "schema": 1,
    "target": {},
    "device": "",
    "dtype": "",
    "runs": 0,
    "created": "",
    "commands": [],
    "sections": [],
}


def routes(service: Service, recorded: Path = RECORDED, readers: CapacityLimiter | None = None) -> list[BaseRoute]:
    """GET answers what was recorded, POST pools the files of its body; see `split`. `readers` reads them."""
    return [
        Route("/lab/pooled", partial(shown, recorded), middleware=ZIPPED),
        answered("/lab/pooled", partial(posted, service), service.limits.max_upload_bytes, readers),
    ]


async def shown(recorded: Path, _request: Request) -> Response:
    """The recorded numbers and their figures."""
    if not recorded.is_file():
        return refused("Nothing is recorded yet; open traces of your own.", 404)
    return Response(await run_in_threadpool(known, recorded), media_type="application/json")


def known(recorded: Path = RECORDED) -> bytes:
    """The recorded numbers with their figures as JSON; computed when first asked for.

    Raises:
        OSError: nothing is recorded.
    """
    return _shown(recorded, recorded.stat().st_mtime_ns)


@lru_cache(maxsize=2)
def _shown(recorded: Path, _changed: int) -> bytes:
    found = json.loads(recorded.read_bytes())
    return json.dumps(found | {"plots": plots(found)}, ensure_ascii=False, separators=(",", ":")).encode()


def posted(service: Service, data: bytes) -> Response:
    """A visitor's traces: read in memory, answered, forgotten."""
    return Json(pooled(service, data))


def pooled(service: Service, data: bytes) -> dict[str, Any]:
    """The figures and tables of the files in a body.

    Raises:
        TraceError: a damaged file, or more than a limit allows.
        ConfigError: nothing to pool, or runs of different targets.
    """
    usual = {card.name: card.resolve({}) for card in service.cards}
    files = split(data)
    indexes = [(name, file) for name, file in files if file[:4] == index.MAGIC]
    if indexes:
        found = index.pool(index.read_all(indexes))
        return found | {"plots": plots(found)}
    traces, reports = read(files, service.limits)
    found = pool(traces, usual, study) if traces or not reports else EMPTY
    traces = [trace for trace in traces if whole(trace.end)]
    if traces:
        found = found | {"advice": advised(service, by_method(traces, usual))}
    if reports:
        found = found | {"served": beside(by_method(traces, usual), reports)}
    return found | {"plots": plots(found)}


def advised(service: Service, groups: Mapping[str, list[Trace]]) -> dict[str, Any]:
    """What to use for which kind of prompt, from these runs alone, or why they say nothing (`missing`)."""
    drafting = {label: own for label, own in groups.items() if any(e.drafted for t in own for e in t.rounds)}
    plain = undrafted(groups)
    free = {card.drafter for card in service.cards if card.family == "lookup"}
    try:
        kinds = advise(drafting, plain, free=free)
    except ConfigError as error:
        return {"missing": str(error)}
    sampled = bool(plain[0].head.sampling.get("temperature"))
    for kind in kinds:
        kind["configurations"] = configurations(kind, ENGINES, "", sampled)
        kind["options"] = []  # many, and their best is told
    head = plain[0].head
    return {"label": f"batch size 1, {head.device}, {head.dtype.removeprefix('torch.')}", "kinds": kinds}


def plots(found: Mapping[str, Any]) -> dict[str, Any]:
    """The figures of pooled numbers: `sections` (those of all methods and of each tree), and `tasks` by tree."""
    sections = found["sections"]
    labels = dict.fromkeys(label for section in sections for label in section["figures"])
    drawn = {label: figures.tasks(sections, label) for label in labels}
    return {
        "sections": [
            {
                "methods": figures.of_methods(section),
                "trees": {label: figures.of_trees(shown) for label, shown in section["figures"].items()},
            }
            for section in sections
        ],
        "tasks": {label: figure.to_plotly_json() for label, figure in drawn.items() if figure},
        "served": served.figures(found.get("served", [])),
    }


def read(files: list[tuple[str, bytes]], limits: Limits) -> tuple[list[Trace], list[Report]]:
    """The runs of all files, within the limits of one file for all of them together, and what engines report in them.

    Raises:
        TraceError: with the name of the file that is damaged or too much.
    """
    traces, reports = list[Trace](), list[Report]()
    runs, nodes = MAX_RUNS, limits.max_nodes
    for name, text in unpacked(files, limits):
        try:
            if is_report(text):
                reports += read_reports(text, name, limits.max_upload_bytes)
                continue
            found = read_runs(text, limits.max_upload_bytes, limits.max_nodes)
        except TraceError as error:
            raise TraceError(f"{name}: {error}") from None
        runs -= len(found)
        nodes -= sum(map(draft_tokens, found))
        if runs < 0 or nodes < 0:
            what = f"{MAX_RUNS} runs" if runs < 0 else f"{limits.max_nodes:,} recorded draft tokens"
            raise TraceError(f"{name}: with this file there are more than {what}, which is the limit.")
        traces += found
    return traces, reports
