"""Where the gallery opens a case: the token and the track that its preset names, as the recording has them."""

from collections.abc import Sequence

from engine.errors import ConfigError
from engine.files.presets import Preset
from engine.learn.recorded import Case, Place
from engine.trace.events import Round
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


def track(preset: Preset, traces: Sequence[Trace]) -> str:
    """The track of the score that `opens` of a case names beside the usual ones; empty where it names none.

    Raises:
        ConfigError: the recording has no such number.
    """
    given = str(preset.opens.get("track", ""))
    where, _, name = given.partition(".")
    if given and not any(_recorded(event, where, name) for trace in traces for event in trace.rounds):
        raise ConfigError(
            f"{preset.name}: it opens with the track {given!r}, a number that its recording does not have."
        )
    return given


def _recorded(event: Round, where: str, name: str) -> bool:
    if where == "round":
        return _number(event.extras.get(name))
    held = ((node.reason or {}).get(name) if where == "reason" else getattr(node, name, None) for node in event.nodes)
    return any(map(_number, held))


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
