"""What a page asks to be mined: read, checked, and turned into problems. No gradio, no torch."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request

from app.service import Service
from engine.errors import ConfigError, unknown
from engine.files.presets import list_presets
from engine.tasks import Problem, load_problems

TASKS = ("arithmetic", "functions")
SOURCES = ("heldout", "train", "prompt")
SEEDS = {"heldout": 0, "train": 7, "prompt": 0}  # of the problems, as the command line has them
MAX_PROMPTS = 200
MAX_BODY = 64_000


@dataclass(frozen=True, slots=True)
class Job:
    """What a page asks for: a task, how many of which prompts, and how."""

    key: str
    models: str
    task: str
    source: str
    n: int
    naive: bool
    prompt: str


def problems(job: Job) -> list[Problem]:
    """The problems of a job; a prompt of a recorded case brings its reference answer.

    Raises:
        ConfigError: programs cannot be compared without tests.
    """
    if job.source != "prompt":
        return load_problems(job.task, job.source, job.n, SEEDS[job.source])
    case = next((case for case in list_presets() if case.prompt == job.prompt and case.task == job.task), None)
    if case is None and job.task == "functions":
        raise ConfigError(
            "Programs are compared by their tests, and this prompt has none. Mine the problems of the task instead."
        )
    return [Problem(job.task, job.prompt, job.prompt, "", case.answer if case else "")]


async def read_job(service: Service, request: Request) -> Job:
    """The job in a request's body.

    Raises:
        ConfigError: something is missing, of another type, or beyond a limit.
    """
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > MAX_BODY:
            raise ConfigError("The request is too long.")
    try:
        given = json.loads(bytes(body) or b"{}")
    except (ValueError, RecursionError):
        raise ConfigError("The request is not JSON.") from None
    if not isinstance(given, dict):
        raise ConfigError("The request is a JSON object.")
    job = Job(
        key=_text(given, "key"),
        models=_one(given, "models", service.models),
        task=_one(given, "task", TASKS),
        source=_one(given, "source", SOURCES),
        n=given.get("n", 1),
        naive=given.get("naive") is True,
        prompt=_text(given, "prompt") if given.get("source") == "prompt" else "",
    )
    if isinstance(job.n, bool) or not isinstance(job.n, int) or not 1 <= job.n <= MAX_PROMPTS:
        raise ConfigError(f"The number of prompts is 1 to {MAX_PROMPTS}.")
    if job.source == "prompt" and not 0 < len(job.prompt) <= service.limits.max_prompt_chars:
        raise ConfigError(f"A prompt has 1 to {service.limits.max_prompt_chars} characters.")
    return job


def _text(given: dict[str, Any], name: str) -> str:
    value = given.get(name, "")
    if not isinstance(value, str):
        raise ConfigError(f"{name} is a text.")
    return value


def _one(given: dict[str, Any], name: str, allowed: Sequence[str]) -> str:
    value = _text(given, name)
    if value not in allowed:
        raise ConfigError(unknown(name, value, allowed))
    return value
