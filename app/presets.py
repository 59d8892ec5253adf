"""Presets and their recorded traces as the page takes them. Names only index what was listed; no path is built."""

import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from app import recorded
from app.recorded import Sentence
from app.state import Limits
from app.wire.catalogue import PagePreset
from engine.config import Card
from engine.errors import ConfigError, unknown
from engine.files.places import PRESETS
from engine.files.presets import Preset
from engine.trace.store import Trace


class PresetCatalogue:
    """The presets, and their traces read once."""

    def __init__(
        self,
        presets: Sequence[Preset],
        cards: Sequence[Card],
        sentence: Sentence | None,
        limits: Limits,
        first: str = "",
        folder: Path = PRESETS,
    ) -> None:
        """Take all presets; `first` names the one that the page opens with, or a pair whose first one that is.

        Raises:
            ConfigError: `first` is not a preset, or a pair without a case.
        """
        self._presets = {preset.name: preset for preset in presets if preset.kind == "case"}
        self._cards, self._sentence, self._limits = cards, sentence, limits
        self._made: dict[str, bytes] = {}
        self._folder = folder
        pairs = {preset.name for preset in presets if preset.kind == "pair"}
        if first and first not in pairs | self._presets.keys():
            raise ConfigError(unknown("preset", first, self._presets))
        found = [preset for preset in self._presets.values() if preset.pair == first or first not in pairs]
        if first in pairs and not found:
            raise ConfigError(f"No case runs on the pair {first!r}: choose it on the page, under Edit.")
        recorded_first = sorted(found, key=lambda preset: not preset.traces)
        self.first = first if first in self._presets else next((preset.name for preset in recorded_first), "")

    def listing(self) -> list[PagePreset]:
        """All presets in JSON types; `recorded` says whether traces come with it."""
        return [_plain(preset) for preset in self._presets.values()]

    def recorded(self) -> list[Preset]:
        """The presets that come with traces."""
        return [preset for preset in self._presets.values() if preset.traces]

    def traces(self, name: str) -> list[Trace]:
        """The recorded traces of a preset.

        Raises:
            ConfigError: no such preset.
            TraceError: a recorded file is damaged.
        """
        if name not in self._presets:
            raise ConfigError(unknown("preset", name, self._presets))
        return [trace for path in self._presets[name].traces for trace in _read(self._folder / path, self._limits)]

    def once(self, name: str, make: Callable[[], bytes]) -> bytes:
        """What `make` gave when the name was first asked for."""
        if name not in self._made:
            self._made[name] = make()
        return self._made[name]

    def body(self, name: str) -> bytes:
        """The recorded traces of a preset as the JSON that the page loads.

        Raises:
            ConfigError: no such preset, or nothing was recorded for it.
            TraceError: a recorded file is damaged.
        """
        if name not in self._presets:
            raise ConfigError(unknown("preset", name, self._presets))
        if not self._presets[name].traces:
            raise ConfigError(f"Nothing is recorded for {self._presets[name].title!r}; press Run.")
        return self.once(f"case {name}", partial(self._body, name))

    def _body(self, name: str) -> bytes:
        found = recorded.body(self.traces(name), self._cards, self._sentence)
        return json.dumps({"recorded": name, **found}, ensure_ascii=False).encode("utf-8", "replace")


def _read(path: Path, limits: Limits) -> list[Trace]:
    return recorded.parse(path.read_bytes(), limits)


def _plain(preset: Preset) -> PagePreset:
    """A case as the run bar takes it; names of settings are those of a request."""
    return {
        "name": preset.name,
        "title": preset.title,
        "story": preset.told,
        "point": preset.point,
        "models": preset.pair,
        "prompt": preset.prompt,
        "task": preset.task,
        "answer": preset.answer,
        "lanes": [{"method": lane.method, "knobs": dict(lane.knobs)} for lane in preset.lanes],
        "sampling": dict(preset.sampling),
        "seed": preset.seed,
        "max_new_tokens": preset.max_new_tokens,
        "chat": preset.chat,
        "recorded": bool(preset.traces),
    }
