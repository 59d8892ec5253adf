"""Calls whose answer nobody fetches: ended within a round and forgotten; Gradio would run and keep them. And answers
to no call: refused; Gradio would begin one and fail in the middle. No torch."""

import asyncio
import json
from collections import Counter
from collections.abc import Mapping, MutableMapping
from typing import Any, Protocol
from urllib.parse import parse_qs, unquote

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.answers import refused
from app.below import path_of
from app.calls import CALL, JOIN
from engine.errors import shown

ANSWERS = "/gradio_api/queue/data"
PATIENCE = 20.0  # seconds between a call and the request for its answer


class Queue(Protocol):
    """What is needed of Gradio's queue."""

    pending_event_ids_session: dict[str, set[str]]

    @property
    def event_ids_to_events(self) -> Mapping[str, Any]:
        """What runs or waits, with its session."""

    @property
    def pending_messages_per_session(self) -> MutableMapping[str, object]:
        """Messages that wait to be fetched, by session."""

    async def clean_events(self, *, session_hash: str | None = None, event_id: str | None = None) -> None:
        """End what runs or waits."""


class Listened:
    """Notes who asks for the answer to which call, and ends the calls whose answer nobody asks for in time."""

    def __init__(self, app: ASGIApp, queue: Queue, patience: float) -> None:
        """Wrap an application; `patience` in seconds."""
        self.app, self._queue, self._patience = app, queue, patience
        self._open = Counter[str]()  # streams of answers by their event or session
        self._unheard = dict[str, str]()  # events that nobody has asked for yet, with their session

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand on, and watch."""
        path = path_of(scope).rstrip("/")
        if scope.get("method") == "POST" and (path.startswith(CALL) or path == JOIN):
            return await self._called(scope, receive, send)
        name = _asked_for(path, scope) if scope.get("method") == "GET" else ""
        if not name:
            return await self.app(scope, receive, send)
        session = name if path == ANSWERS else self._session_of(name)
        if session not in self._queue.pending_messages_per_session:
            what = "session" if path == ANSWERS else "call"
            said = f"There is no {what} {shown(name)}, or its answer has been fetched already."
            return await refused(said, 404)(scope, receive, send)
        self._open[name] += 1
        self._unheard = {event: session for event, session in self._unheard.items() if name not in (event, session)}
        try:
            await self.app(scope, receive, send)
        finally:
            self._open -= Counter([name])  # and no entry where nothing is left
            asyncio.get_running_loop().call_later(self._patience, self._drop, session)
        return None

    def _drop(self, session: str) -> None:
        """Forget a session that nobody listens to any more, once nothing of it runs: Gradio keeps its name for ever."""
        queue = self._queue
        events = queue.pending_event_ids_session.get(session, set())
        if any(self._open[name] for name in (session, *events)):
            return
        runs = any(event in queue.event_ids_to_events for event in events)
        if runs or session in self._unheard.values():  # or its answer may still be asked for
            asyncio.get_running_loop().call_later(self._patience, self._drop, session)
            return
        queue.pending_event_ids_session.pop(session, None)
        queue.pending_messages_per_session.pop(session, None)

    def _session_of(self, event: str) -> str:
        """Of an event that runs, waits, or has an answer; its own name where there is none."""
        found = self._queue.event_ids_to_events.get(event)
        return found.session_hash if found else self._session(event) or event

    def _session(self, event: str) -> str:
        """Of an event whose answer has not been fetched; empty where there is none."""
        return next((name for name, events in self._queue.pending_event_ids_session.items() if event in events), "")

    async def _called(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer = bytearray()

        async def watched(message: Message) -> None:
            answer.extend(message.get("body", b""))
            await send(message)

        await self.app(scope, receive, watched)
        event = _event(bytes(answer))
        session = self._session(event)
        if session and not self._open[session]:
            self._unheard[event] = session
            asyncio.get_running_loop().call_later(self._patience, lambda: asyncio.ensure_future(self._forget(event)))

    async def _forget(self, event: str) -> None:
        """End a call that is still unheard, and drop what it said."""
        session = self._unheard.pop(event, None)
        if session is None:
            return
        await self._queue.clean_events(event_id=event)
        events = self._queue.pending_event_ids_session.get(session, set())
        events.discard(event)
        if not events:
            self._queue.pending_event_ids_session.pop(session, None)
            self._queue.pending_messages_per_session.pop(session, None)


def _asked_for(path: str, scope: Scope) -> str:
    """The event or session whose answer a GET asks for; empty for other requests."""
    if path == ANSWERS:
        return parse_qs(bytes(scope.get("query_string", b"")).decode("latin-1")).get("session_hash", [""])[0]
    return unquote(path.rpartition("/")[2]) if path.startswith(CALL) else ""


def _event(answer: bytes) -> str:
    try:
        said = json.loads(answer)
    except ValueError:
        return ""
    return str(said.get("event_id", "")) if isinstance(said, dict) else ""
