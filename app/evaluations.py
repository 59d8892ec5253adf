"""What judges are worth, as measured: accuracy against accepted tokens from docs/results, scores from the judges' own files.

No gradio, no torch.
"""

import json
from functools import partial
from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from engine.presets import ROOT

RESULTS = ROOT / "docs/results"
JUDGES = ROOT / "assets/tiny"
TASKS = ("arithmetic", "functions")
TOLD = {"scores", "truth", "threshold"}
COMMAND = "python -m engine judge-eval --preset tiny --tasks {task}"


def routes(results: Path = RESULTS, judges: Path = JUDGES) -> list[BaseRoute]:
    """The one route."""
    zipped = [Middleware(GZipMiddleware, minimum_size=2000, compresslevel=5)]
    return [Route("/lab/evaluations", partial(evaluations, results, judges), middleware=zipped)]


async def evaluations(results: Path, judges: Path, _request: Request) -> Response:
    """All tasks: what was measured, or the command that measures it; and the scores of labels that its judge had not seen."""
    return JSONResponse({"tasks": [await run_in_threadpool(_task, results, judges, task) for task in TASKS]})


def _task(results: Path, judges: Path, task: str) -> dict[str, Any]:
    judge = _read(judges / f"judge-{task}" / "judge.json")
    told = {name: judge[name] for name in sorted(TOLD)} if judge and judge.keys() >= TOLD else None
    return {
        "task": task,
        "command": COMMAND.format(task=task),
        "result": _read(results / f"judge-{task}.json"),
        "judge": told,
    }


def _read(path: Path) -> dict[str, Any] | None:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None
