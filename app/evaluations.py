"""What judges are worth, as measured: accuracy against accepted tokens from docs/results, curves of scored labels.

No gradio, no torch.
"""

import json
from functools import cache, partial
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from app.answers import Json
from app.endpoint import ZIPPED, answered
from app.figures import judge as figures
from app.fresh import OWN
from app.validate import Asked, checked, parsed
from engine.analysis.judge import DECIMALS, against_rules, long_line
from engine.errors import ConfigError
from engine.files.places import ROOT
from engine.files.presets import list_presets
from engine.tasks import JUDGED

RESULTS = ROOT / "docs/results"
ASSETS = ROOT / "assets"
MAX_BODY = 2_000_000
Share = Annotated[float, Field(ge=0, le=1)]
TOLD = {"scores", "truth", "threshold"}
COMMAND = "python -m engine judge-eval --preset {preset} --tasks {task}"


class Labels(Asked):
    """Scored labels: a probability of being important for each, what it is, and the threshold that is marked."""

    scores: list[Share] = Field(description="a list of numbers from 0 to 1")
    important: list[bool] = Field(description="a list of true and false")
    threshold: Share = Field(description="a number from 0 to 1")


def routes(results: Path = RESULTS, assets: Path = ASSETS) -> list[BaseRoute]:
    """What was measured, and the curves of labels that a page sends."""
    return [
        Route("/lab/evaluations", partial(evaluations, results, assets), middleware=ZIPPED),
        answered("/lab/judged", judged, MAX_BODY),
    ]


async def evaluations(results: Path, assets: Path, _request: Request) -> Response:
    """All tasks: what was measured, or the command that measures it; scores of labels that its judge had not seen."""
    return Json({"tasks": [await run_in_threadpool(_task, results, assets, task) for task in JUDGED]})


def judged(data: bytes) -> Response:
    """The curves of scored labels: see `Labels`; figures with captions out."""
    return Json({"figures": curves(data)})


def curves(data: bytes) -> list[dict[str, Any]]:
    """The figures of what `judged` is sent.

    Raises:
        ConfigError: not JSON, or not as many labels as scores from 0 to 1.
    """
    labels = checked(Labels, parsed(data))
    if len(labels.scores) != len(labels.important):
        raise ConfigError(f"There are {len(labels.scores)} scores and {len(labels.important)} labels.")
    return figures.curves(labels.scores, labels.important, labels.threshold)


def _task(results: Path, assets: Path, task: str) -> dict[str, Any]:
    preset, folder = _home(task)
    judge = _read(assets / folder / "judge.json")
    told = _told(judge) if judge and judge.keys() >= TOLD else None
    result = _read(results / f"judge-{task}.json")
    return {
        "task": task,
        "command": COMMAND.format(task=task, preset=preset),
        "result": result and {**result, **_shown(result, task)},
        "judge": told,
    }


@cache
def _home(task: str) -> tuple[str, Path]:
    """The preset of the lab's own pair whose judge is for a task, and the judge's folder among the assets."""
    judges = {pair.name: pair.assets.get(f"judge:{task}", "") for pair in list_presets() if pair.kind == "pair"}
    return next((name, Path(at).relative_to(OWN)) for name, at in judges.items() if at.startswith(OWN))


def _told(judge: dict[str, Any]) -> dict[str, Any]:
    """The labels that a judge had not seen, for the page.

    A threshold is the score of an important label, in full, and scores are recorded with a few decimals: one that was
    rounded to just below the threshold is at it, or the judge would miss a label that it catches.
    """
    at = judge["threshold"]
    scores = [
        at if truth and score < at and score == round(at, DECIMALS) else score
        for score, truth in zip(judge["scores"], judge["truth"], strict=True)
    ]
    return {"scores": scores, "threshold": at, "truth": judge["truth"]}


def _shown(result: dict[str, Any], task: str) -> dict[str, Any]:
    """What is made of the rows for the page."""
    rows = result["rows"]
    lines = {name: long_line(rows, name, what) for name, what in (("topk", "top-K's"), ("transfer", "that judge's"))}
    return {"figure": figures.accuracy(result, task).to_plotly_json(), "rules": against_rules(rows), "lines": lines}


def _read(path: Path) -> dict[str, Any] | None:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None
