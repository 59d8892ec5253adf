"""What a page asks to be mined: read, checked, and turned into problems. No gradio, no torch."""

from typing import Literal

from pydantic import Field

from app.service import Service
from app.validate import Asked, Key, checked, here, within
from engine.errors import ConfigError
from engine.files.presets import list_presets
from engine.tasks import JUDGED, Judged, Problem, load_problems

SEEDS = {"heldout": 0, "train": 7, "prompt": 0}  # of the problems, as the command line has them
MAX_PROMPTS = 200


class Job(Asked):
    """A task, how many of which prompts, and how (for the page `app.wire.requests.MineRequest`)."""

    key: Key
    models: str = Field(description="the name of a set of models")
    task: Judged = Field(description=" or ".join(JUDGED))
    source: Literal["heldout", "train", "prompt"] = Field(description="heldout, train or prompt")
    n: int = Field(1, ge=1, le=MAX_PROMPTS, description=f"an integer from 1 to {MAX_PROMPTS}")
    naive: bool = Field(False, description="true or false")
    prompt: str = Field("", description="a text")  # where the source is a prompt


def problems(job: Job) -> list[Problem]:
    """The problems of a job; a prompt of a recorded case brings its reference answer.

    Raises:
        ConfigError: programs cannot be compared without tests, nor translations without the right ones.
    """
    if job.source != "prompt":
        return load_problems(job.task, job.source, job.n, SEEDS[job.source])
    case = next((case for case in list_presets() if case.prompt == job.prompt and case.task == job.task), None)
    if case is None and job.task == "functions":
        raise ConfigError(
            "Programs are compared by their tests, and this prompt has none. Mine the problems of the task instead."
        )
    if job.task == "translation":
        raise ConfigError(
            "Translations are compared with all right ones, and a prompt does not bring them. Mine the problems of the "
            "task instead."
        )
    return [Problem(job.task, job.prompt, job.prompt, "", case.answer if case else "")]


def parse(service: Service, given: object) -> Job:
    """The job in plain values.

    Raises:
        ConfigError: something is missing, of another type, or beyond a limit.
    """
    job = checked(Job, given)
    here(job.models, service.models)
    if job.source == "prompt":
        within("the characters of prompt", len(job.prompt), 1, service.limits.max_prompt_chars)
    return job
