"""Presets and their recorded traces as the page takes them. Names only ever index what was listed; no path is built from one."""

import json
from collections.abc import Sequence
from pathlib import Path

from app import recorded
from app.recorded import Sentence
from app.state import Limits
from app.wire import PagePreset
from engine.config import Card
from engine.errors import ConfigError, unknown
from engine.presets import PRESETS, Preset
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
        """Take all presets; `first` names the one that the page opens with.

        Raises:
            ConfigError: `first` is not a preset.
        """
        self._presets = {preset.name: preset for preset in presets if preset.kind == "case"}
        self._cards, self._sentence, self._limits = cards, sentence, limits
        self._bodies: dict[str, bytes] = {}
        self._folder = folder
        if first and first not in self._presets:
            raise ConfigError(unknown("preset", first, self._presets))
        recorded_first = [preset.name for preset in self._presets.values() if preset.traces]
        self.first = first or next(iter([*recorded_first, *self._presets]), "")

    def listing(self) -> list[PagePreset]:
        """All presets in JSON types; `recorded` says whether traces come with it."""
        return [_plain(preset) for preset in self._presets.values()]

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
        if name not in self._bodies:
            traces = [
                trace for path in self._presets[name].traces for trace in _read(self._folder / path, self._limits)
            ]
            found = recorded.body(traces, self._cards, self._sentence)
            self._bodies[name] = json.dumps({"recorded": name, **found}, ensure_ascii=False).encode("utf-8", "replace")
        return self._bodies[name]


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
        "lanes": [{"method": lane.method, "knobs": dict(lane.knobs)} for lane in preset.lanes],
        "sampling": dict(preset.sampling),
        "seed": preset.seed,
        "max_new_tokens": preset.max_new_tokens,
        "chat": preset.chat,
        "recorded": bool(preset.traces),
    }
