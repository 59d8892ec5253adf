"""Recorded cases at a glance: what each teaches, a thumbnail of its runs, and what is lost in it. No gradio."""

import json
from collections.abc import Sequence
from functools import partial
from itertools import groupby
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from app.answers import refused
from app.endpoint import ZIPPED
from app.presets import PresetCatalogue
from engine.analysis.labels import labels
from engine.cases.opening import opening, track
from engine.errors import LabError
from engine.files.presets import Preset
from engine.tasks import check_answer
from engine.trace.outcome import calls, in_place
from engine.trace.store import Trace

MOST_IN_TEXT = 6  # methods side by side


def routes(preset_catalogue: PresetCatalogue) -> list[BaseRoute]:
    """One route: every recorded case."""
    return [Route("/lab/gallery", partial(gallery, preset_catalogue), middleware=ZIPPED)]


async def gallery(preset_catalogue: PresetCatalogue, _request: Request) -> Response:
    """All recorded cases in order."""
    try:
        body = await run_in_threadpool(cases, preset_catalogue)
    except LabError as error:
        return refused(error, 500)
    return Response(body, media_type="application/json")


def cases(preset_catalogue: PresetCatalogue) -> bytes:
    """All recorded cases as JSON; computed when first asked for.

    Raises:
        LabError: a recorded file is missing or damaged.
    """
    return preset_catalogue.once("gallery", partial(_body, preset_catalogue))


def _body(preset_catalogue: PresetCatalogue) -> bytes:
    told = [entry(preset, preset_catalogue.traces(preset.name)) for preset in preset_catalogue.recorded()]
    return json.dumps({"cases": told}, ensure_ascii=False, separators=(",", ":")).encode()


def entry(preset: Preset, traces: Sequence[Trace]) -> dict[str, Any]:
    """A case: its words, its lanes as runs of token origins, and what is lost in it."""
    at = opening(preset, traces)
    return {
        "name": preset.name,
        "title": preset.title,
        "point": preset.point,
        "group": preset.group,
        "lanes": [lane(trace, name) for trace, name in zip(traces, labels(traces), strict=True)],
        "losses": losses(traces),
        "view": preset.opens.get("view") or view(traces),
        "track": track(preset, traces),
        "at": at.to_json() if at else point(traces),
    }


def view(traces: Sequence[Trace]) -> str:
    """The view for a case whose preset names none: many methods in the score, branching drafts as trees, else text."""
    if len(traces) > MOST_IN_TEXT:
        return "score"
    parents = ([node.parent for node in event.nodes] for trace in traces for event in trace.rounds)
    branches = any(len(set(found)) < len(found) for found in parents)
    return "trees" if branches else "text"


def point(traces: Sequence[Trace]) -> dict[str, Any] | None:
    """The token that a case is about, where its preset names none.

    That is the first draft token with a veto; else, without sampling, where the last lane that parts from the reference
    does so; else the first draft token that was relaxed, or rejected.
    """
    return _first(traces, "vetoed") or _parting(traces) or _first(traces, "relaxed") or _first(traces, "rejected")


def _first(traces: Sequence[Trace], state: str) -> dict[str, Any] | None:
    for lane, trace in reversed(list(enumerate(traces))):
        for number, event in enumerate(trace.rounds):
            for index, node in enumerate(event.nodes):
                if node.state == state:
                    return {"lane": lane, "round": number, "node": index, "pos": event.start + node.depth - 1}
    return None


def _parting(traces: Sequence[Trace]) -> dict[str, Any] | None:
    reference = next((trace for trace in traces if trace.head.guarantee == "reference"), None)
    if reference is None or reference.head.sampling.get("temperature"):
        return None
    for lane, trace in reversed(list(enumerate(traces))):
        pairs = enumerate(zip(trace.tokens, reference.tokens, strict=False))
        pos = next((pos for pos, (ours, theirs) in pairs if ours.token != theirs.token), None)
        if pos is not None:
            number = max(index for index, event in enumerate(trace.rounds) if event.start <= pos)
            return {"lane": lane, "round": number, "node": trace.tokens[pos].node, "pos": pos}
    return None


def lane(trace: Trace, name: str) -> dict[str, Any]:
    """One run: `spans` are [origin, tokens] in order, so that a thumbnail needs no trace."""
    spans = [[origin, len(list(run))] for origin, run in groupby(token.origin for token in trace.tokens)]
    return {
        "title": name,
        "spans": spans,
        "calls": calls(trace.rounds),
        "iterations": sum(map(in_place, trace.rounds)),
        "tokens": len(trace.tokens),
    }


def losses(traces: Sequence[Trace]) -> list[str]:
    """What goes wrong in a case: lanes slower than plain decoding, answers that only the reference has right."""
    reference = next((trace for trace in traces if trace.head.guarantee == "reference"), None)
    if reference is None:
        return []
    names = zip(traces, labels(traces), strict=True)
    others = [(trace, name) for trace, name in names if trace is not reference]
    plain, right = _speed(reference), _right(reference)
    slower = [name for trace, name in others if plain and (_speed(trace) or plain) < plain]
    wrong = [name for trace, name in others if right and _right(trace) is False]
    said = [f"{name} is slower than {reference.head.title}" for name in slower]
    return said + [f"{name} gives a wrong answer" for name in wrong]


def _speed(trace: Trace) -> float | None:
    speed = trace.metrics()["tokens_per_s"]
    return None if speed is None else float(speed)


def _right(trace: Trace) -> bool | None:
    extras = trace.head.extras
    found = check_answer(str(extras.get("task", "")), str(extras.get("answer", "")), trace.text)
    return None if found is None else found.right
