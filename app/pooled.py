"""Many runs pooled into figures and tables: the repository's own, recorded, and a visitor's traces."""

import json
from collections.abc import Mapping
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from app.answers import Json, refused
from app.endpoint import ZIPPED, answered
from app.figures import pooled as figures
from app.recorded import split
from app.service import Service
from app.state import Limits
from engine.analysis.pool import RECORDED, pool
from engine.analysis.reading import MAX_RUNS, draft_tokens, read_runs
from engine.errors import TraceError
from engine.strata.learning import study
from engine.trace.store import Trace, unpack


def routes(service: Service, recorded: Path = RECORDED) -> list[BaseRoute]:
    """GET answers what was recorded, POST pools the files of its body; see `split`."""
    return [
        Route("/lab/pooled", partial(shown, recorded), middleware=ZIPPED),
        answered("/lab/pooled", partial(posted, service), service.limits.max_upload_bytes),
    ]


async def shown(recorded: Path, _request: Request) -> Response:
    """The recorded numbers and their figures."""
    if not recorded.is_file():
        return refused("Nothing is recorded yet; open traces of your own.", 404)
    return Response(
        await run_in_threadpool(_shown, recorded, recorded.stat().st_mtime_ns), media_type="application/json"
    )


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
    found = pool(read(split(data), service.limits), usual, study)
    return found | {"plots": plots(found)}


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
    }


def read(files: list[tuple[str, bytes]], limits: Limits) -> list[Trace]:
    """The runs of all files, within the limits of one file for all of them together.

    Raises:
        TraceError: with the name of the file that is damaged or too much.
    """
    traces: list[Trace] = []
    runs, nodes, size = MAX_RUNS, limits.max_nodes, limits.max_upload_bytes
    for name, data in files:
        try:
            text = _within(data, size, limits)
            found = read_runs(text, limits.max_upload_bytes, limits.max_nodes)
        except TraceError as error:
            raise TraceError(f"{name}: {error}") from None
        runs, size = runs - len(found), size - len(text)
        nodes -= sum(map(draft_tokens, found))
        if runs < 0 or nodes < 0:
            what = f"{MAX_RUNS} runs" if runs < 0 else f"{limits.max_nodes:,} recorded draft tokens"
            raise TraceError(f"{name}: with this file there are more than {what}, which is the limit.")
        traces += found
    return traces


def _within(data: bytes, size: int, limits: Limits) -> bytes:
    text = unpack(data, limits.max_upload_bytes)
    if len(text) > size:
        raise TraceError(
            f"with this file all are larger than {limits.max_upload_bytes / 1e6:g} MB together, which is the limit."
        )
    return text
