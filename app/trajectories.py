"""Trajectories over HTTP: a recorded example, pooled results, methods live on one problem. No gradio, no torch."""

import contextlib
import json
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

from pydantic import Field
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from app.endpoint import ZIPPED, streamed
from app.figures import trajectories as figures
from app.ndjson import Lines
from app.service import Service
from app.several import AskedSeveral, Job, parse
from app.turns import LabLike
from engine.analysis.sheet import Sheet, by_turns
from engine.config import MAX_TEMPERATURE, TEMPERATURES, TRAJECTORY_TEMPERATURE
from engine.errors import ConfigError
from engine.files.places import PRESETS, ROOT
from engine.files.presets import Family, list_presets
from engine.tasks import FAMILIES as PROMPTED
from engine.tasks import SOURCED, Problem, Task, family_of, get_task, load_problems
from engine.trace.events import Event, RunEnded, RunStarted

EXAMPLES = PRESETS / "trajectories"  # written by `python -m engine trajectories show`
RESULTS = ROOT / "docs" / "results" / "trajectories.json"  # written by `python -m engine trajectories results`
FAMILIES: dict[Family, str] = {"decoder-only": "arithmetic", "encoder-decoder": "translation"}  # of what is offered
OFFERED = 8  # held-out problems of each that the page offers
MOST = 16  # trajectories of one method


class AskedTrajectories(AskedSeveral):
    """A run, several times over on the same prompt."""

    temperature: float = Field(TRAJECTORY_TEMPERATURE, ge=0, le=MAX_TEMPERATURE, description=TEMPERATURES)
    n: int = Field(4, ge=1, le=MOST, description=f"an integer from 1 to {MOST}")


def routes(service: Service, examples: Path = EXAMPLES, results: Path = RESULTS) -> list[BaseRoute]:
    """What is on show without a model, and live trajectories."""
    return [
        Route("/lab/trajectories", partial(recorded, service, examples, results), middleware=ZIPPED),
        streamed("/lab/trajectories/live", partial(parse, AskedTrajectories, service), partial(lines, service)),
    ]


async def recorded(service: Service, examples: Path, results: Path, _request: Request) -> Response:
    """Recorded examples, pooled results (null until they are made), and problems to try."""
    return Response(await run_in_threadpool(_recorded, service, examples, results), media_type="application/json")


def _recorded(service: Service, examples: Path, results: Path) -> bytes:
    shown = [_read(path) | {"name": path.stem} for path in sorted(examples.glob("*.json"))]
    for example in shown:
        drawn = figures.one_problem([(method["title"], method["rows"]) for method in example["methods"]])
        example["figure"] = drawn.to_plotly_json()
    problems = [
        {"task": problem.family, "prompt": problem.prompt, "family": family}
        for family in FAMILIES
        for problem in offered(family)
    ]
    body = {
        "examples": shown,
        "results": _pooled(service, _read(results)) if results.is_file() else None,
        "problems": problems,
        "reads": {task.family: task.reads for task in map(get_task, (*PROMPTED, *SOURCED)) if task.textual},
        "most": MOST,
    }
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


def _pooled(service: Service, results: dict[str, Any]) -> dict[str, Any]:
    """The pooled results with their figure, and what their methods are called."""
    parts = [results[name] for name in ("compare", "ablation", "trees") if results.get(name)]
    labels = {str(cell["method"]) for part in parts for cell in part["over_k"]}
    names = {label: _named(service, label) for label in labels}
    return results | {"names": names, "figure": figures.by_trajectory(results["compare"], names).to_plotly_json()}


def _named(service: Service, label: str) -> str:
    """ "method:knob=value" as a title and its knobs' values."""
    method, *knobs = label.split(":")
    title = next((card.title for card in service.cards if card.name == method), method)
    return ", ".join([title, *(knob.rpartition("=")[2].replace("_", " ") for knob in knobs)])


def _read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


@cache
def offered(family: Family) -> tuple[Problem, ...]:
    """The held-out problems that the page offers where such models are chosen."""
    return tuple(load_problems(FAMILIES[family], "heldout", OFFERED))


@cache
def shipped() -> tuple[Problem, ...]:
    """The problems of the recorded examples whose answers are known."""
    found = [_read(path) | {"name": path.stem} for path in sorted(EXAMPLES.glob("*.json"))]
    return tuple(
        Problem(one["task"], one["name"], one["prompt"], "", one["answer"])
        for one in found
        if one.get("task") and one.get("answer")
    )


def known(prompt: str) -> Problem | None:
    """The problem with this very prompt, of those offered, recorded or in cases, so that answers can be judged."""
    cases = (
        Problem(case.task, case.name, case.prompt, "", case.answer)
        for case in list_presets()
        if case.task and case.answer
    )
    every = (*(problem for family in FAMILIES for problem in offered(family)), *shipped(), *cases)
    return next((problem for problem in every if problem.prompt == prompt), None)


def _task(service: Service, job: Job, problem: Problem | None) -> Task:
    """By which the answers to a job are read: its problem's, else that of such prompts, else that of such models."""
    family = problem.family if problem else family_of(job.ask.prompt)
    task = get_task(family or FAMILIES[service.family(job.ask.models) or "decoder-only"])
    return task if problem or task.textual else get_task(FAMILIES["decoder-only"])


def lines(service: Service, job: Job) -> Lines:
    """The messages of a job, run by run, methods in turn. The device is given back after each run for others."""
    ask, problem = job.ask, known(job.ask.prompt)
    task = _task(service, job, problem)
    yield {"kind": "queued"}
    if service.borrows(ask.models):
        raise ConfigError(
            "Trajectories need the device for minutes, and here it is only lent for seconds. Run the page yourself."
        )
    sheets = {lane.key: Sheet(task, problem) for lane in ask.lanes}
    with service.line(ask.visitor) as ticket:
        for _ in service.comes(ask.models):
            yield {"kind": "queued"}
        yield {"kind": "begin", **_head(job, task, problem)}
        with contextlib.closing(by_turns(_streams(service.lab(ask.models), job))) as turns:
            while True:
                for spot in ticket.waits():
                    yield {"kind": "queued", "line": spot}
                for key, event in turns:
                    added = sheets[key].see(event)
                    start, end = isinstance(event, RunStarted), isinstance(event, RunEnded)
                    yield {"kind": "start" if start else "row" if end else "round", "key": key, **added}
                    if end:
                        told = [(lane.card.title, sheets[lane.key].rows) for lane in ask.lanes]
                        yield {"kind": "figure", "figure": figures.one_problem(told).to_plotly_json()}
                        break
                else:
                    break
                ticket.again()
    yield {"kind": "done"}


def _streams(lab: LabLike, job: Job) -> dict[str, Iterator[Event]]:
    streams = {}
    for lane in job.ask.lanes:
        settings = {name: value for name, value in job.ask.arguments(lane).items() if name not in ("prompt", "record")}
        streams[lane.key] = lab.stream_trajectories(lane.card.name, job.ask.prompt, job.n, **settings)
    return streams


def _head(job: Job, task: Task, problem: Problem | None) -> dict[str, Any]:
    ask = job.ask
    methods = [
        {"key": lane.key, "method": lane.card.name, "title": lane.card.title, "knobs": lane.knobs} for lane in ask.lanes
    ]
    return {
        "prompt": ask.prompt,
        "task": task.family,
        "answer": problem.answer if problem else None,
        "n": job.n,
        "temperature": ask.sampling.temperature,
        "max_new_tokens": ask.max_new_tokens,
        "seed": ask.seed,
        "models": ask.models,
        "methods": methods,
    }
