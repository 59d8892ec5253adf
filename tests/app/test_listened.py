"""Who fetches the answer of a call, and when, on an application of two addresses."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Coroutine
from types import SimpleNamespace
from typing import Any

import pytest

from app.listened import Listened

POST, ANSWER, SESSION = "/gradio_api/call/decode", "/gradio_api/call/decode/e1", "/gradio_api/queue/data"
SHORT = 0.05  # seconds


class Queue:
    """Of one event of one session."""

    def __init__(self, session: str) -> None:
        self.pending_event_ids_session = {session: {"e1"}}
        self.event_ids_to_events = dict[str, Any]()
        self.pending_messages_per_session: dict[str, object] = {session: "megabytes"}
        self.ended = list[str | None]()

    async def clean_events(self, *, session_hash: str | None = None, event_id: str | None = None) -> None:
        self.ended.append(event_id)


async def answer(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": json.dumps({"event_id": "e1"}).encode()})


async def nothing(*_: Any) -> Any: ...


Ask = Callable[[str, str, str], Awaitable[None]]


def watched(session: str, steps: Callable[[Ask], Coroutine[Any, Any, None]]) -> Queue:
    queue = Queue(session)
    app = Listened(answer, queue, SHORT)

    async def ask(method: str, path: str, query: str = "") -> None:
        scope = {"type": "http", "method": method, "path": path, "query_string": query.encode()}
        await app(scope, nothing, nothing)

    asyncio.run(steps(ask))
    return queue


@pytest.mark.parametrize("session", ["e1", "mine"])
def test_nobody_fetches_it(session: str) -> None:
    async def steps(ask: Ask) -> None:
        await ask("POST", POST, "")
        await asyncio.sleep(4 * SHORT)

    queue = watched(session, steps)
    assert queue.ended == ["e1"]
    assert not queue.pending_messages_per_session and not queue.pending_event_ids_session


@pytest.mark.parametrize("path, query", [(ANSWER, ""), (SESSION, "session_hash=mine")])
def test_it_is_fetched_in_time_by_its_event_or_its_session(path: str, query: str) -> None:
    async def steps(ask: Ask) -> None:
        await ask("POST", POST, "")
        await ask("GET", path, query)
        await asyncio.sleep(4 * SHORT)

    queue = watched("mine", steps)
    assert not queue.ended and not queue.pending_messages_per_session, "Gradio would keep what was fetched"


def test_a_session_stays_while_something_of_it_runs() -> None:
    queue = Queue("mine")
    queue.event_ids_to_events["e1"] = SimpleNamespace(session_hash="mine")

    async def steps() -> None:
        app = Listened(nothing, queue, SHORT)
        await app({"type": "http", "method": "GET", "path": ANSWER}, nothing, nothing)
        await asyncio.sleep(4 * SHORT)
        assert queue.pending_messages_per_session and queue.pending_event_ids_session
        queue.event_ids_to_events.clear()
        await asyncio.sleep(4 * SHORT)

    asyncio.run(steps())
    assert not queue.pending_messages_per_session and not queue.pending_event_ids_session


def test_what_another_fetches_is_not_this_call() -> None:
    async def steps(ask: Ask) -> None:
        await ask("POST", POST, "")
        await ask("GET", "/gradio_api/call/decode/e2", "")
        await ask("GET", SESSION, "session_hash=other")
        await asyncio.sleep(4 * SHORT)

    assert watched("mine", steps).ended == ["e1"]


def test_a_page_that_listens_to_its_session_already() -> None:
    queue = Queue("mine")
    left = asyncio.Event()

    async def page(scope: Any, receive: Any, send: Any) -> None:
        await (left.wait() if scope["method"] == "GET" else answer(scope, receive, send))

    async def steps() -> None:
        app = Listened(page, queue, SHORT)
        listening = {"type": "http", "method": "GET", "path": SESSION, "query_string": b"session_hash=mine"}
        stream = asyncio.ensure_future(app(listening, nothing, nothing))
        await asyncio.sleep(0)
        await app({"type": "http", "method": "POST", "path": POST}, nothing, nothing)
        await asyncio.sleep(4 * SHORT)
        left.set()
        await stream

    asyncio.run(steps())
    assert not queue.ended


@pytest.mark.parametrize(
    ("path", "query", "status"),
    [
        ("/gradio_api/call/decode/nope", "", 404),
        (SESSION, "session_hash=nope", 404),
        (SESSION, "", 200),  # Gradio says what is missing
        (ANSWER, "", 200),
        ("/gradio_api/call/decode/e9", "", 200),
        (SESSION, "session_hash=mine", 200),
    ],
)
def test_answers_to_no_call_are_refused(path: str, query: str, status: int) -> None:
    queue, sent = Queue("mine"), list[Any]()
    queue.event_ids_to_events["e9"] = SimpleNamespace(session_hash="mine")  # it waits

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "GET", "path": path, "query_string": query.encode()}
    asyncio.run(Listened(answer, queue, SHORT)(scope, nothing, send))
    assert sent[0]["status"] == status
    assert (status == 200) == (b"error" not in sent[1]["body"])
    assert status == 200 or b"nope" in sent[1]["body"]
