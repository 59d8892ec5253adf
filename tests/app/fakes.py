"""A lab without models: made-up runs behind the interface of engine.lab.Lab."""

import socket
import time
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from engine.config import Card
from engine.errors import ConfigError
from engine.files.presets import Family, Lane, Preset
from engine.judge.events import MiningEvent
from engine.tasks import Problem
from engine.trace.events import Event, RunStarted
from tests.app.synthetic import BY_NAME, CARDS, events


@dataclass
class FakeLab:
    """Runs made-up methods, a little slower than nothing."""

    pause: float = 0.0
    fail_at: int | None = None
    open_streams: list[str] = field(default_factory=list)
    loads: int = 0
    device: str = "cpu"
    prepared: bool = False
    settled: int = 0
    family: Family = "decoder-only"
    looks: int = 0

    def prepare(self) -> None:
        self.prepared = True

    def settle(self) -> None:
        self.settled += 1

    def methods(self) -> list[Card]:
        return [card for card in CARDS if card.name != "copycat"]

    def unavailable(self) -> dict[str, str]:
        return {"copycat": "It needs a longer prompt than these models can take."}

    def hindrance(self, card: Card) -> str:
        return self.unavailable().get(card.name, "")

    def otherwise(self, card: Card) -> str:
        return "Drafts a chain here." if card.name == "bush" else ""

    def stream(self, method: str, **settings: Any) -> Iterator[Event]:
        if method in self.unavailable():
            raise ConfigError(self.unavailable()[method])
        return self._events(method, settings)

    def _events(self, method: str, settings: dict[str, Any]) -> Iterator[Event]:
        knobs = {knob.name: settings[knob.name] for knob in BY_NAME[method].knobs if knob.name in settings}
        self.open_streams.append(method)
        prompt: Any = settings["prompt"]
        ids = list[int]()
        if not isinstance(prompt, str):
            prompt, ids = "tokens", list(prompt)
        try:
            for i, event in enumerate(events(method, settings["max_new_tokens"], settings["seed"], prompt, knobs)):
                if isinstance(event, RunStarted):
                    event = replace(event, extras=event.extras | settings.get("extras", {}))
                    if ids:
                        event = replace(event, prompt_ids=ids, prompt_pieces=[f" t{one}" for one in ids])
                if self.fail_at is not None and i == self.fail_at:
                    raise ConfigError("The prompt is longer than the models' context.")
                time.sleep(self.pause)
                yield event
        finally:
            self.open_streams.remove(method)

    def stream_trajectories(self, method: str, prompt: str, n: int, **settings: Any) -> Iterator[Event]:
        seed = settings.pop("seed")
        for i in range(n):
            for event in self.stream(method, prompt=prompt, seed=seed + 10_000 * i, **settings):
                if isinstance(event, RunStarted):
                    event = replace(event, extras={**event.extras, "trajectory": i, "trajectories": n})
                yield event

    def mine(
        self, task: str, found: Sequence[Problem], path: Path, **settings: Any
    ) -> Generator[MiningEvent, None, None]:
        """Algorithm 1 on a toy pair whose texts are letters; a prompt is one letter."""
        from engine.judge.mine import mine
        from engine.judge.store import MinedFile
        from tests.engine.judge.scripted import prompt, random_pair, search

        prompts = [prompt("abcdefg"[i % 7] + "ace"[i % 3], f"{task}:{i}") for i in range(len(found))]
        searches = [search(*random_pair(5), lambda text: text[:2], naive=settings["naive"])]
        models = {role: {"id": f"toy {role}", "revision": "toy"} for role in ("target", "draft")}
        events = mine(prompts, searches, MinedFile(path, {"task": task, "models": models, **settings}))
        self.open_streams.append("mine")
        try:
            for event in events:
                time.sleep(self.pause)
                yield event
        finally:
            events.close()
            self.open_streams.remove("mine")


def preset(name: str, title: str, methods: tuple[str, ...], traces: tuple[str, ...] = ()) -> Preset:
    """A case over the made-up methods."""
    return Preset(
        name,
        title,
        point="Draft tokens pay off.",
        story="A word problem.",
        pair="made-up",
        prompt="A farmer has 48 apples.",
        lanes=tuple(Lane(method) for method in methods),
        max_new_tokens=120,
        traces=traces,
    )


def sentence(_head: Any, round_: Any, node: int | None, token: Any, _pieces: Any) -> str:
    """A stand-in for the engine's explanation."""
    what = round_.nodes[node] if node is not None and round_.nodes else token
    state = getattr(what, "state", getattr(what, "origin", "token"))
    return f"{state.capitalize()}: draft gave 0.41, target 0.12, so its acceptance probability was 0.29; the draw was 0.63."


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
