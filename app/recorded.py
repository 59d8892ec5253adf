"""Traces as the page takes them: `{key, card, events}`, each guess and token with its sentence. No gradio, no torch."""

import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from app.state import Limits
from engine.config import Card
from engine.errors import TraceError
from engine.trace.events import Event, Round, RunStarted, Token
from engine.trace.store import Trace, event_json

Sentence = Callable[[RunStarted, Round, int | None, Token | None, Mapping[int, str]], str]
PIECE = 4096  # bytes gunzipped at a time: of many small members the rest is not copied for each
FEW = 64  # in a larger tree only the guesses that were tested are explained


class Narrator:
    """One run's events in JSON types, each guess and token with `why`. It remembers the head and the texts of token ids."""

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
        elif isinstance(event, Round):
            self._pieces.update((int(token), piece) for token, piece in event.pieces.items())
            if self._sentence is not None and self._head is not None:
                self._explain(self._head, event, out, self._sentence)
        return out

    def _explain(self, head: RunStarted, event: Round, out: dict[str, Any], sentence: Sentence) -> None:
        for i, node in enumerate(event.nodes):
            if len(event.nodes) <= FEW or node.state != "discarded":
                out["nodes"][i]["why"] = sentence(head, event, i, None, self._pieces)
        for i, token in enumerate(event.tokens):
            shared = token.node is not None and token.node < len(event.nodes)
            out["tokens"][i]["why"] = (
                out["nodes"][token.node].get("why", "") if shared else sentence(head, event, None, token, self._pieces)
            )


def lanes(traces: Iterable[Trace], cards: Sequence[Card], sentence: Sentence | None) -> list[dict[str, Any]]:
    """Whole traces as lanes; a method that this build does not know keeps what its trace says of it."""
    known = {card.name: card for card in cards}
    out: list[dict[str, Any]] = []
    for trace in traces:
        head = trace.head
        same = sum(lane["card"]["name"] == head.method for lane in out)
        card = known[head.method].to_json() if head.method in known else _stand_in(head)
        narrator = Narrator(sentence)
        events = [narrator.message(event) for event in trace.events]
        out.append({"key": head.method + (f".{same + 1}" if same else ""), "card": card, "events": events})
    return out


def _stand_in(head: RunStarted) -> dict[str, Any]:
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
    }


def parse(data: bytes, limits: Limits) -> list[Trace]:
    """One or several traces in a file, each starting with its `run` line.

    Raises:
        TraceError: damaged, of another schema, or larger than a limit.
    """
    data = plain(data, limits)
    if len(data) > limits.max_upload_bytes:
        raise TraceError(f"The file is larger than {limits.max_upload_bytes / 1e6:g} MB, which is the limit.")
    starts = [0, *(i + 1 for i in _newlines(data) if _begins_run(data[i + 1 : i + 120]))]
    ends = [*starts[1:], len(data)]
    traces, room = list[Trace](), limits.max_nodes
    for a, b in zip(starts, ends, strict=True):
        traces.append(_one(data[a:b], limits))
        room -= guesses(traces[-1])
        if room < 0:
            raise TraceError(
                f"The runs of this file have more than {limits.max_nodes} nodes together, which is the limit."
            )
    if len(traces) > limits.max_lanes:
        raise TraceError(f"The file holds {len(traces)} runs; at most {limits.max_lanes} fit side by side.")
    return traces


def guesses(trace: Trace) -> int:
    """How many guesses a trace holds, those left out of a draft included."""
    return sum(len(event.nodes) + len(event.pruned) for event in trace.rounds)


def plain(data: bytes, limits: Limits) -> bytes:
    """The bytes, gunzipped where they are gzipped (all members, one after another), but then at most one more than allowed.

    Raises:
        TraceError: gzipped but damaged; one cut short is left for the trace's own reader to describe.
    """
    if data[:2] != b"\x1f\x8b":
        return data
    parts, at, room = list[bytes](), 0, limits.max_upload_bytes + 1
    stream = zlib.decompressobj(wbits=31)
    while at < len(data) and room > 0:
        piece = data[at : at + PIECE]
        try:
            parts.append(stream.decompress(piece, room))
        except zlib.error:
            raise TraceError("The file is gzipped but damaged.") from None
        room, at = room - len(parts[-1]), at + len(piece) - len(stream.unused_data)
        if stream.eof:
            stream = zlib.decompressobj(wbits=31)
    return b"".join(parts)


def _begins_run(line: bytes) -> bool:
    return line.replace(b" ", b"").startswith(b'{"kind":"run"')


def _newlines(data: bytes) -> Iterable[int]:
    at = data.find(b"\n")
    while at >= 0:
        yield at
        at = data.find(b"\n", at + 1)


def _one(data: bytes, limits: Limits) -> Trace:
    return Trace.loads(data, max_bytes=limits.max_upload_bytes, max_nodes=limits.max_nodes)
