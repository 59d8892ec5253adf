"""Traces as the page takes them: `{key, card, events}`, each node and token with its sentence. No gradio, no torch."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from itertools import chain, count
from typing import Any

from app.knobs import fitted
from app.state import Limits
from engine.analysis.compared import compared
from engine.analysis.reading import read_runs
from engine.config import Card
from engine.errors import ConfigError, TraceError
from engine.files import marks
from engine.methods.compose import composed
from engine.served.light import light
from engine.served.reading import is_report, read_reports
from engine.tasks import Checked, check_answer
from engine.threshold import Threshold
from engine.trace.events import Event, Round, RunEnded, RunStarted, Token
from engine.trace.store import Trace, event_json, unpack

Sentence = Callable[[RunStarted, Round, int | None, Token | None, Mapping[int, str]], str]
FRAMED = b'{"file":'  # several files in one body begin so; a trace begins with its run
LONGEST = 4096  # bytes of the line before each
WHOLE = (
    "eos",
    "stop",
    "limit",
    "context",
)  # ends after which no more text comes; a run that was cut short is not judged
FEW = 64  # in a larger tree only the draft tokens that were tested are explained


class Narrator:
    """One run's events in JSON types, each draft node, place of a canvas and token with `why`. It remembers the head
    and token texts."""

    def __init__(self, sentence: Sentence | None) -> None:
        """Without a sentence, events stay as they are."""
        self._sentence, self._pieces = sentence, dict[int, str]()
        self._head: RunStarted | None = None

    def message(self, event: Event) -> dict[str, Any]:
        """The next event of the run."""
        out = event_json(event)
        if isinstance(event, RunStarted):
            self._head = event
            self._pieces.update(zip(event.prompt_ids, event.prompt_pieces, strict=False))
        elif isinstance(event, RunEnded) and self._head is not None and (found := answered(self._head, event)):
            out["checked"] = asdict(found)
        elif isinstance(event, Round):
            self._pieces.update((int(token), piece) for token, piece in event.pieces.items())
            if self._sentence is not None and self._head is not None:
                self._explain(self._head, event, out, self._sentence)
        return out

    def _explain(self, head: RunStarted, event: Round, out: dict[str, Any], sentence: Sentence) -> None:
        for i, node in enumerate(event.nodes):
            if len(event.nodes) <= FEW or node.state != "discarded":
                out["nodes"][i]["why"] = sentence(head, event, i, None, self._pieces)
        for i in range(len(event.canvas or ())):
            out["canvas"][i]["why"] = sentence(head, event, i, None, self._pieces)
        for i, token in enumerate(event.tokens):
            shared = token.node is not None and token.node < len(event.nodes)
            out["tokens"][i]["why"] = (
                out["nodes"][token.node].get("why", "") if shared else sentence(head, event, None, token, self._pieces)
            )


def answered(head: RunStarted, end: RunEnded) -> Checked | None:
    """The answer in a run's text against the reference in its head; None where there is none, or it was cut short."""
    task, reference = head.extras.get("task"), head.extras.get("answer")
    if end.reason not in WHOLE or not isinstance(task, str) or not isinstance(reference, str):
        return None
    return check_answer(task, reference, end.text)


def lanes(traces: Iterable[Trace], cards: Sequence[Card], sentence: Sentence | None) -> list[dict[str, Any]]:
    """Whole traces as lanes, their cards with the defaults of their pair; a method that this build does not know keeps
    what its trace says of it."""
    known, declared = {card.name: card for card in cards}, thresholds(cards)
    out: list[dict[str, Any]] = []
    for trace in traces:
        head = trace.head
        names = chain((head.method,), (f"{head.method}.{n}" for n in count(2)))
        taken = {lane["key"] for lane in out}
        mine = known.get(head.method) or _composed(head.method)
        card = fitted(mine, head.preset or "").to_json() if mine else _stand_in(head, declared.get(head.rule))
        narrator = Narrator(sentence)
        events = [narrator.message(event) for event in trace.events]
        out.append({"key": next(name for name in names if name not in taken), "card": card, "events": events})
    return out


def body(
    traces: Sequence[Trace], cards: Sequence[Card], sentence: Sentence | None, files: Sequence[str] = ()
) -> dict[str, Any]:
    """Whole traces as the page takes them: their lanes, each with the name of its file where `files` are told, one a
    trace, and what these say about each other."""
    shown = lanes(traces, cards, sentence)
    if files:
        shown = [lane | {"file": name} for lane, name in zip(shown, files, strict=True)]
    ran = dict(zip((lane["key"] for lane in shown), traces, strict=True))
    opened = {lane["key"]: lane["file"] for lane in shown if files}
    return {"lanes": shown, "compared": asdict(compared(ran, thresholds(cards), opened))}


def thresholds(cards: Iterable[Card]) -> dict[str, Threshold | None]:
    """What the rules of these cards declare, by the rule's name."""
    return {card.rule: card.threshold for card in cards}


def _composed(method: str) -> Card | None:
    """The card of a method that was composed of parts which this build knows."""
    try:
        return composed(method)
    except ConfigError:
        return None


def _stand_in(head: RunStarted, threshold: Threshold | None) -> dict[str, Any]:
    """What a trace says of a method that this build does not know, and what its rule declares, where that is known."""
    return {
        "name": head.method,
        "title": head.title,
        "drafter": head.drafter,
        "shape": head.shape,
        "rule": head.rule,
        "guarantee": head.guarantee,
        "summary": "",
        "knobs": [],
        "family": "",
        "paper": "",
        "threshold": threshold.to_json() if threshold else None,
    }


def split(body: bytes) -> list[tuple[str, bytes]]:
    """Name and bytes of each file: a line of JSON {"file", "bytes"}, then so many bytes, and so on.

    Raises:
        TraceError: a line or its bytes are missing.
    """
    files, at = [], 0
    while at < len(body):
        end = body.find(b"\n", at, at + LONGEST)
        try:
            if end < 0:
                raise ValueError("no line")
            head = json.loads(body[at:end])
            name, size = str(head["file"])[:120], int(head["bytes"])
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
            raise TraceError("The request is damaged: each file follows a line with its name and its size.") from None
        at = end + 1 + size
        if size < 0 or at > len(body):
            raise TraceError(f"{name} did not arrive whole.")
        files.append((name, body[end + 1 : at]))
    return files


def unpacked(files: Iterable[tuple[str, bytes]], limits: Limits) -> list[tuple[str, bytes]]:
    """Several files by name, unpacked.

    Raises:
        TraceError: with the name of the file that is damaged or larger than a limit: that of one, or of all together.
    """
    found, room = list[tuple[str, bytes]](), limits.max_upload_bytes
    for name, data in files:
        try:
            text = unpack(data, limits.max_upload_bytes)
        except TraceError as error:
            raise TraceError(f"{name}: {error}") from None
        room -= len(text)
        if room < 0:
            most = f"{limits.max_upload_bytes / 1e6:g} MB"
            raise TraceError(f"{name}: with this file all are larger than {most} together, which is the limit.")
        found.append((name, text))
    if said := marks.too_many(*(text for _, text in found)):
        raise TraceError(f"These files have {said} together, which is the limit.")
    return found


def parse(data: bytes, limits: Limits) -> list[Trace]:
    """One or several runs in a file, checked by the one reader; of an engine's reports those that tell their passes.

    Raises:
        TraceError: damaged, of another schema, larger than a limit, or contradicting itself; reports without order.
    """
    plain = unpack(data, limits.max_upload_bytes)
    if is_report(plain):
        reports = read_reports(plain, "The file", limits.max_upload_bytes)
        runs = [light(report) for report in reports if report.each] or [light(reports[0])]
        if len(runs) > limits.max_lanes:
            raise TraceError(f"The file holds {len(runs)} runs; at most {limits.max_lanes} fit side by side.")
        return runs
    return read_runs(data, limits.max_upload_bytes, limits.max_nodes, limits.max_lanes)
