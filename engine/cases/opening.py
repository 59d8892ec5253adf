"""Where the gallery opens a case: the token that its preset names, as the recording has it."""

from collections.abc import Mapping, Sequence
from typing import Any

from engine.errors import ConfigError
from engine.files.presets import Preset
from engine.trace.store import Trace


def opening(preset: Preset, traces: Sequence[Trace]) -> dict[str, Any] | None:
    """The place that `opens` of a case names: the draft token that was tested at that position of the lane, else the
    token that the lane wrote there; None where it names none.

    Raises:
        ConfigError: the recording has no such lane, or no such token there.
    """
    given: Mapping[str, Any] = preset.opens
    if "lane" not in given:
        return None
    methods = [trace.head.method for trace in traces]
    named = given["lane"]
    lane = named if isinstance(named, int) else methods.index(named) if named in methods else len(traces)
    if lane < len(traces) and (found := _token(traces[lane], given["pos"], given["piece"])):
        return {"lane": lane, **found}
    raise ConfigError(
        f"{preset.name}: it opens at {given['piece']!r}, position {given['pos']} of lane {named}, which its recording "
        "does not have."
    )


def _token(trace: Trace, pos: int, piece: str) -> dict[str, Any] | None:
    for number, event in enumerate(trace.rounds):
        for index, node in enumerate(event.nodes):
            there = event.start + node.depth - 1 == pos and trace.pieces.get(node.token) == piece
            if there and node.state != "discarded":
                return {"round": number, "node": index, "pos": pos}
        for token in event.tokens:
            if token.pos == pos and token.piece == piece:
                return {"round": number, "node": token.node, "pos": pos}
    return None
