"""What judges are worth, as measured: accuracy against accepted tokens, from docs/results. No gradio, no torch."""

import json
from functools import partial
from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from engine.presets import ROOT

RESULTS = ROOT / "docs/results"
TASKS = ("arithmetic", "functions")
COMMAND = "python -m engine judge-eval --preset tiny --tasks {task}"


def routes(results: Path = RESULTS) -> list[BaseRoute]:
    """The one route."""
    return [Route("/lab/evaluations", partial(evaluations, results))]


async def evaluations(results: Path, _request: Request) -> Response:
    """All tasks: what was measured, or the command that measures it."""
    return JSONResponse({"tasks": [await run_in_threadpool(_read, results, task) for task in TASKS]})


def _read(results: Path, task: str) -> dict[str, Any]:
    path = results / f"judge-{task}.json"
    found = {"task": task, "command": COMMAND.format(task=task), "result": None}
    try:
        return found | {"result": json.loads(path.read_text(encoding="utf-8"))}
    except (OSError, ValueError):
        return found
