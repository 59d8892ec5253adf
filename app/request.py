"""What a page asks the engine to run, checked before anything expensive happens. No gradio, no torch."""

import secrets
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import Field

from app.knobs import find
from app.rounds import NOBODY, Visitor
from app.state import Limits
from app.validate import Asked, MaybeKey, checked, here, parsed, within
from engine.config import MAX_TEMPERATURE, MOST_TOP_K, TEMPERATURES, TOP_KS, Card, KnobValue, Sampling
from engine.errors import ConfigError, unknown
from engine.tasks.marking import EMBEDDED
from engine.trace.records import HeadExtras

MOST_STOPS, STOP_CHARS = 8, 100
ANSWER_CHARS = 2000
MOST_SEED = 2**53 - 1  # the largest whole number that every reader of JSON keeps as it is

Stop = Annotated[str, Field(min_length=1, max_length=STOP_CHARS)]


class AskedLane(Asked):
    """One method of a comparison; knobs that are left out have their defaults, `Card.resolve` checks the others."""

    method: str = Field(description="the name of a method")
    knobs: dict[str, Any] = Field({}, description="an object of the method's knobs and their values")


class AskedRun(Asked):
    """A comparison as a page or a program asks for it (`app.wire.requests.RunRequest` is the same for the page)."""

    prompt: str = Field("", description="a text")
    lanes: list[Any] = Field([], description="a list of methods, each its name or {method, knobs}")
    models: str = Field("", description="the name of a set of models")
    max_new_tokens: int = Field(128, description="an integer >= 1")
    temperature: float = Field(0.0, ge=0, le=MAX_TEMPERATURE, description=TEMPERATURES)
    top_p: float = Field(1.0, gt=0, le=1, description="a number above 0, up to 1")
    top_k: int = Field(0, ge=0, le=MOST_TOP_K, description=TOP_KS)
    seed: int = Field(0, ge=0, le=MOST_SEED, description=f"an integer from 0 to {MOST_SEED}")
    chat: bool = Field(False, description="true or false")
    id: MaybeKey = ""
    stop: list[Stop] = Field(
        [],
        max_length=MOST_STOPS,
        description=f"a list of at most {MOST_STOPS} texts, of 1 to {STOP_CHARS} characters each",
    )
    task: str = Field("", description="the kind of problem that the prompt is")
    answer: str = Field("", max_length=ANSWER_CHARS, description=f"a text of at most {ANSWER_CHARS} characters")
    preset: str = Field("", description="the name of a case")
    visitor: MaybeKey = ""


@dataclass(frozen=True)
class Lane:
    """One method of a comparison with its knobs."""

    key: str
    card: Card
    knobs: dict[str, KnobValue]


@dataclass(frozen=True)
class Request:
    """A comparison: the same prompt, sampling and seed for every lane."""

    models: str
    prompt: str
    lanes: tuple[Lane, ...]
    max_new_tokens: int = 128
    sampling: Sampling = field(default_factory=Sampling)
    seed: int = 0
    chat: bool = False
    run: str = ""
    stop: tuple[str, ...] = ()
    task: str = ""  # family of the prompt, where it is a problem of one
    answer: str = ""  # its reference answer
    visitor: Visitor = NOBODY  # who asks (`app.turnstile`)
    record: Literal["full", "light"] = "full"  # of the traces; no page asks for it
    prompt_ids: tuple[int, ...] = ()  # the prompt as tokens, in place of its text
    forced: tuple[int, ...] = ()  # tokens that the response begins with, whatever the target would have written

    @property
    def extras(self) -> HeadExtras:
        """What the heads of the traces note of the prompt, and how many lanes take turns; `forced`: so many of its last
        tokens begin the response."""
        found: HeadExtras = {}
        if self.task:
            found["task"] = self.task
        if self.answer:
            found["answer"] = self.answer
        if self.forced:
            found["forced"] = len(self.forced)
        if len(self.lanes) > 1:
            found["lanes"] = len(self.lanes)
        return found

    def arguments(self, lane: Lane, looks: int = 0) -> dict[str, Any]:
        """What `Lab.stream` takes for one lane, besides the method's name; a full record keeps `looks` places of the
        source for each token."""
        return {
            "prompt": [*self.prompt_ids, *self.forced] or self.prompt,
            "max_new_tokens": self.max_new_tokens,
            "temperature": self.sampling.temperature,
            "top_p": self.sampling.top_p,
            "top_k": self.sampling.top_k,
            "seed": self.seed,
            "chat": self.chat,
            "stop": self.stop,
            "record": self.record,
            "looks": looks if self.record == "full" else 0,
            "extras": self.extras,
            **lane.knobs,
        }


def parse(text: str, cards: Sequence[Card], models: Sequence[str], limits: Limits, address: str = "") -> Request:
    """The request in a page's JSON message. `address` is where it comes from.

    Raises:
        ConfigError: something is missing, unknown or out of range; the message says what and what would do.
    """
    return build(parsed(text), cards, models, limits, address)


def run_of(text: str) -> str:
    """The run that a page's message asks for, which may be refused; empty where it names none."""
    try:
        given = parsed(text)
    except ConfigError:
        return ""
    found = given.get("id") if isinstance(given, dict) else None
    return found if isinstance(found, str) else ""


def build(given: object, cards: Sequence[Card], models: Sequence[str], limits: Limits, address: str = "") -> Request:
    """The request in plain values; see `parse`."""
    return resolved(checked(AskedRun, given), cards, models, limits, address)


def resolved(
    asked: AskedRun, cards: Sequence[Card], models: Sequence[str], limits: Limits, address: str = ""
) -> Request:
    """A request whose types are right, as far as this server can do it; see `parse`.

    Raises:
        ConfigError: an empty prompt, an unknown name, or more than a limit allows.
    """
    if not asked.prompt.strip():
        raise ConfigError("The prompt is empty: write some text, or choose a case.")
    if len(asked.prompt) > limits.max_prompt_chars:
        raise ConfigError(
            f"The prompt has {len(asked.prompt)} characters; at most {limits.max_prompt_chars} are allowed here."
        )
    name = here(asked.models or (models[0] if models else ""), models)
    if asked.task and asked.task not in EMBEDDED:
        raise ConfigError(unknown("task", asked.task, EMBEDDED))
    if asked.answer and not asked.task:
        raise ConfigError("answer must come with the task that it belongs to.")
    return Request(
        models=name,
        prompt=asked.prompt,
        lanes=lanes(asked.lanes, cards, limits, name),
        max_new_tokens=within("max_new_tokens", asked.max_new_tokens, 1, limits.max_tokens),
        sampling=Sampling(asked.temperature, asked.top_k, asked.top_p),
        seed=asked.seed,
        chat=asked.chat,
        run=asked.id,
        stop=tuple(asked.stop),
        task=asked.task,
        answer=asked.answer,
        visitor=Visitor(address, asked.visitor),
    )


def lanes(given: Sequence[object], cards: Sequence[Card], limits: Limits, models: str = "") -> tuple[Lane, ...]:
    """The chosen methods, with the defaults of these models; a method may come twice with other knobs.

    Raises:
        ConfigError: none, too many, an unknown method or knob, or a value out of range.
    """
    if not given:
        raise ConfigError("No method is chosen: take at least one, better two to compare.")
    if len(given) > limits.max_lanes:
        raise ConfigError(f"{len(given)} methods are chosen; at most {limits.max_lanes} fit side by side.")
    chosen: list[tuple[Card, dict[str, KnobValue]]] = []
    for item in given:
        asked = checked(AskedLane, {"method": item} if isinstance(item, str) else item, "A method")
        card = find(cards, asked.method, models)
        chosen.append((card, card.resolve(asked.knobs)))
    return tuple(Lane(key, *one) for key, one in zip(keys(card.name for card, _ in chosen), chosen, strict=True))


def keys(methods: Iterable[str]) -> tuple[str, ...]:
    """The key of each lane: its method, with a number where that comes a second time ("sd", "ar", "sd.2")."""
    times = Counter[str]()
    out = []
    for name in methods:
        times[name] += 1
        out.append(name if times[name] == 1 else f"{name}.{times[name]}")
    return tuple(out)


def fresh_id() -> str:
    """An unguessable run id."""
    return secrets.token_hex(16)
