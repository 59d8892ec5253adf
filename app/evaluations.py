"""What judges are worth, as measured: accuracy against accepted tokens from docs/results, curves of scored labels.

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

from app.figures import judge as figures
from engine.errors import ConfigError
from engine.files.places import ROOT

RESULTS = ROOT / "docs/results"
JUDGES = ROOT / "assets/tiny"
MAX_BODY = 2_000_000
TASKS = ("arithmetic", "functions")
TOLD = {"scores", "truth", "threshold"}
COMMAND = "python -m engine judge-eval --preset tiny --tasks {task}"


def routes(results: Path = RESULTS, judges: Path = JUDGES) -> list[BaseRoute]:
    """What was measured, and the curves of labels that a page sends."""
    zipped = [Middleware(GZipMiddleware, minimum_size=2000, compresslevel=5)]
    return [
        Route("/lab/evaluations", partial(evaluations, results, judges), middleware=zipped),
        Route("/lab/judged", judged, methods=["POST"], middleware=zipped),
    ]


async def evaluations(results: Path, judges: Path, _request: Request) -> Response:
    """All tasks: what was measured, or the command that measures it; scores of labels that its judge had not seen."""
    return JSONResponse({"tasks": [await run_in_threadpool(_task, results, judges, task) for task in TASKS]})


async def judged(request: Request) -> Response:
    """The curves of scored labels: {"scores", "important", "threshold"} in, figures with captions out."""
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > MAX_BODY:
            return JSONResponse({"error": f"These are more than {MAX_BODY // 1000} kB, which is the limit."}, 413)
    try:
        found = await run_in_threadpool(curves, bytes(body))
    except ConfigError as error:
        return JSONResponse({"error": str(error)}, 400)
    return JSONResponse({"figures": found})


def curves(body: bytes) -> list[dict[str, Any]]:
    """The figures of what `judged` is sent.

    Raises:
        ConfigError: not JSON, or not as many labels as scores from 0 to 1.
    """
    try:
        given = json.loads(body)
        scores, important = given["scores"], given["important"]
        threshold = float(given["threshold"])
        good = len(scores) == len(important) and all(map(_share, [*scores, threshold]))
        if not good or not all(isinstance(label, bool) for label in important):
            raise ValueError
    except (ValueError, KeyError, TypeError, RecursionError):
        what = 'lists "scores" (numbers from 0 to 1) and "important" (true or false) of one length, and a "threshold"'
        raise ConfigError(f"The request must hold {what}.") from None
    return figures.curves(scores, important, threshold)


def _share(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


def _task(results: Path, judges: Path, task: str) -> dict[str, Any]:
    judge = _read(judges / f"judge-{task}" / "judge.json")
    told = {name: judge[name] for name in sorted(TOLD)} if judge and judge.keys() >= TOLD else None
    result = _read(results / f"judge-{task}.json")
    return {
        "task": task,
        "command": COMMAND.format(task=task),
        "result": result and {**result, "figure": figures.accuracy(result, task).to_plotly_json()},
        "judge": told,
    }


def _read(path: Path) -> dict[str, Any] | None:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None
