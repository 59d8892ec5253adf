"""What a page asks to be run, repeated, continued or mined. See `app.wire`."""

from typing import Literal, NotRequired, TypedDict

from engine.config import KnobValue


class LaneRequest(TypedDict):
    """One method of a comparison; knobs that are left out have their defaults."""

    method: str
    knobs: dict[str, KnobValue]


class RunRequest(TypedDict):
    """A comparison as the page asks for it: one prompt, sampling and seed for every lane (`app.request` checks it)."""

    models: str
    prompt: str
    lanes: list[LaneRequest]
    max_new_tokens: int
    temperature: float
    top_p: float
    top_k: int
    seed: int
    chat: bool
    task: NotRequired[str]  # family of the prompt, where it is a problem of one
    answer: NotRequired[str]  # its reference answer
    preset: NotRequired[str]  # the case that the settings come from, empty when none
    id: NotRequired[str]  # 32 hexadecimal digits, made by the page
    visitor: NotRequired[str]  # 32 hexadecimal digits, the same for all tabs of a browser
    stop: NotRequired[list[str]]


class RepeatRequest(RunRequest):
    """A comparison that is to run n times: POST /lab/repeat, answered by `RepeatMessage`s (`app.repeats` checks it)."""

    n: int


class ContinueRequest(RunRequest):
    """A run of one method that goes on from a forced beginning: POST /lab/continue (`app.continuing` checks it)."""

    prompt_ids: list[int]
    forced: list[int]  # token ids that the response begins with


class MineRequest(TypedDict):
    """What is to be mined: POST /lab/mine, /lab/mine/kept (`app.miningjob` checks it)."""

    key: str
    models: str
    task: str
    source: Literal["heldout", "train", "prompt"]
    n: int
    naive: bool
    prompt: NotRequired[str]
