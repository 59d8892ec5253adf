"""What a page asks the engine to run, checked before anything expensive happens. No gradio, no torch."""

import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from app.knobs import find
from app.state import Limits
from engine.config import Card, KnobValue, Sampling
from engine.errors import ConfigError, unknown
from engine.tasks import FAMILIES

MOST_STOPS, STOP_CHARS = 8, 100
ANSWER_CHARS = 2000


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

    @property
    def extras(self) -> dict[str, str]:
        """What the heads of the traces note of the prompt."""
        return {name: value for name, value in (("task", self.task), ("answer", self.answer)) if value}

    def arguments(self, lane: Lane) -> dict[str, Any]:
        """What `Lab.stream` takes for one lane, besides the method's name."""
        return {
            "prompt": self.prompt,
            "max_new_tokens": self.max_new_tokens,
            "temperature": self.sampling.temperature,
            "top_p": self.sampling.top_p,
            "top_k": self.sampling.top_k,
            "seed": self.seed,
            "chat": self.chat,
            "stop": self.stop,
            "record": "full",
            "extras": self.extras,
            **lane.knobs,
        }


def parse(text: str, cards: Sequence[Card], models: Sequence[str], limits: Limits) -> Request:
    """The request in a page's JSON message.

    Raises:
        ConfigError: something is missing, unknown or out of range; the message says what and what would do.
    """
    try:
        given = json.loads(text)
    except ValueError as error:
        raise ConfigError(f"The request is not JSON: {error}.") from None
    except RecursionError:
        raise ConfigError("The request is nested too deeply.") from None
    if not isinstance(given, dict):
        raise ConfigError("The request must be a JSON object.")
    return build(given, cards, models, limits)


def build(given: Mapping[str, Any], cards: Sequence[Card], models: Sequence[str], limits: Limits) -> Request:
    """The request in plain values; see `parse`."""
    prompt = given.get("prompt", "")
    if not isinstance(prompt, str) or not prompt.strip():
        raise ConfigError("The prompt is empty: write some text, or choose a preset.")
    if len(prompt) > limits.max_prompt_chars:
        raise ConfigError(
            f"The prompt has {len(prompt)} characters; at most {limits.max_prompt_chars} are allowed here."
        )
    name = given.get("models") or (models[0] if models else "")
    if name not in models:
        raise ConfigError(unknown("models", name, models))
    return Request(
        models=str(name),
        prompt=prompt,
        lanes=lanes(given.get("lanes"), cards, limits),
        max_new_tokens=whole(given, "max_new_tokens", 128, 1, limits.max_tokens),
        sampling=Sampling(
            temperature=_number(given, "temperature", 0.0),
            top_k=whole(given, "top_k", 0, 0, 10**6),
            top_p=_number(given, "top_p", 1.0),
        ),
        seed=whole(given, "seed", 0, 0, 2**63 - 1),
        chat=bool(given.get("chat", False)),
        run=str(given.get("id", "")),
        stop=stops(given.get("stop")),
        **problem(given),
    )


def problem(given: Mapping[str, Any]) -> dict[str, str]:
    """Task and reference answer of a request, empty where none are given.

    Raises:
        ConfigError: an unknown task, an answer without one, or one that is no text or too long.
    """
    task, answer = given.get("task") or "", given.get("answer") or ""
    if task and task not in FAMILIES:
        raise ConfigError(unknown("task", task, FAMILIES))
    if not isinstance(answer, str) or len(answer) > ANSWER_CHARS or (answer and not task):
        raise ConfigError(
            f"answer must be a text of at most {ANSWER_CHARS} characters, with the task that it belongs to."
        )
    return {"task": task, "answer": answer}


def stops(given: Any) -> tuple[str, ...]:
    """The texts that end a run; none where none are given.

    Raises:
        ConfigError: no list of texts, too many, or one that is empty or too long.
    """
    if not isinstance(given, list | tuple | None) or not all(isinstance(text, str) for text in given or ()):
        raise ConfigError("Stop strings are given as a list of texts.")
    found = tuple(given or ())
    if len(found) > MOST_STOPS or not all(0 < len(text) <= STOP_CHARS for text in found):
        raise ConfigError(f"Stop strings: at most {MOST_STOPS}, of 1 to {STOP_CHARS} characters each.")
    return found


def lanes(given: Any, cards: Sequence[Card], limits: Limits) -> tuple[Lane, ...]:
    """The chosen methods; a method may come twice with other knobs.

    Raises:
        ConfigError: none, too many, an unknown method or knob, or a value out of range.
    """
    if not isinstance(given, list) or not given:
        raise ConfigError("No method is chosen: take at least one, better two to compare.")
    if len(given) > limits.max_lanes:
        raise ConfigError(f"{len(given)} methods are chosen; at most {limits.max_lanes} fit side by side.")
    out: list[Lane] = []
    for item in given:
        item = {"method": item} if isinstance(item, str) else item
        if not isinstance(item, dict) or not isinstance(item.get("knobs", {}), dict):
            raise ConfigError("A method is given as its name, or as {method, knobs}.")
        card = find(cards, item.get("method"))
        same = sum(lane.card.name == card.name for lane in out)
        key = card.name if not same else f"{card.name}.{same + 1}"
        out.append(Lane(key, card, card.resolve(item.get("knobs", {}))))
    return tuple(out)


def _number(given: Mapping[str, Any], name: str, default: float) -> float:
    try:
        return float(given.get(name, default))
    except (TypeError, ValueError):
        raise ConfigError(f"{name.replace('_', ' ')} is a number, not {given.get(name)!r}.") from None
    except OverflowError:
        raise ConfigError(
            f"{name.replace('_', ' ')} is a number that is too large: it has more than 300 digits."
        ) from None


def whole(given: Mapping[str, Any], name: str, default: int, low: int, high: int) -> int:
    """A whole number of a request.

    Raises:
        ConfigError: something else, or out of range.
    """
    value = _number(given, name, default)
    if not low <= value <= high or value != int(value):
        raise ConfigError(
            f"{name.replace('_', ' ')} = {given.get(name)!r}: a whole number from {low} to {high} is allowed."
        )
    return int(value)


def fresh_id() -> str:
    """An unguessable run id."""
    return secrets.token_hex(16)
