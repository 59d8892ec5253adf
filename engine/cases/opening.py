"""Where the gallery opens a case: the token that its preset names, as the recording has it."""

from collections.abc import Sequence

from engine.errors import ConfigError
from engine.files.presets import Preset
from engine.learn.recorded import Case, Place
from engine.trace.store import Trace


def opening(preset: Preset, traces: Sequence[Trace]) -> Place | None:
    """The place that `opens` of a case names, as a lesson would find it: the draft token that was tested at that
    position of the lane, else the token that the lane wrote there; None where it names none.

    Raises:
        ConfigError: the recording has no such lane, or no such token there.
    """
    given = preset.opens
    if "lane" not in given:
        return None
    found = Case(preset, traces).find(given["lane"], {"pos": given["pos"], "piece": given["piece"]})
    place = next((one for one in found if one.fields.get("state") != "discarded"), None)
    if place is None:
        raise ConfigError(
            f"{preset.name}: it opens at {given['piece']!r}, position {given['pos']} of lane {given['lane']}, which "
            "its recording does not have."
        )
    return place
