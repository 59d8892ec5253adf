"""Calls of Gradio's API whose shape is wrong: refused before Gradio sees them, where they fail. No gradio, no torch."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import unquote

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.answers import refused
from app.below import path_of
from app.validate import parsed
from engine.errors import ConfigError, shown, unknown

CALL, NAMED, JOIN = "/gradio_api/call/", "/gradio_api/call/v2/", "/gradio_api/queue/join"
SERVER = "/gradio_api/component_server"  # functions that a component of the page calls
MOST_VALUES = 10_000  # in a body: no call takes more, and whoever reads millions of them keeps all others waiting
TEXT = re.compile(rb'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)', re.DOTALL)  # also one that never ends, which is read once


@dataclass(frozen=True)
class Signatures:
    """What the server's events take: parameters by the name of an endpoint, which have no default, values by number;
    and the functions that components call, by the component's number."""

    endpoints: Mapping[str, tuple[str, ...]]
    required: Mapping[str, tuple[str, ...]]
    values: Mapping[int, int]
    functions: Mapping[int, tuple[str, ...]]

    def check(self, path: str, body: bytes) -> None:
        """Nothing, where a POST to one of Gradio's addresses of calls can be made sense of.

        Raises:
            ConfigError: no such endpoint, no JSON object, too many values, or not those that it takes.
        """
        if sum(map(TEXT.sub(b"", body).count, (b",", b":", b"[", b"{"))) > MOST_VALUES:
            raise ConfigError(f"The request has more than {MOST_VALUES} values, which is the limit.")
        given = parsed(body)
        if not isinstance(given, dict):
            raise ConfigError(f"The request must be a JSON object, not {shown(given)}.")
        if path == SERVER:
            return self._function(given)
        if path.startswith(NAMED):
            return self._named(unquote(path.removeprefix(NAMED)), given)
        data = given.get("data")
        if path.startswith(CALL):
            name = unquote(path.removeprefix(CALL))
            takes, what = self._of(name), name
            count = len(takes)
        else:
            number = given.get("fn_index")
            if isinstance(number, bool) or not isinstance(number, int) or number not in self.values:
                raise ConfigError(f"fn_index must be the number of an event, not {shown(number)}.")
            if not isinstance(given.get("session_hash"), str):
                raise ConfigError("session_hash must be a text.")
            takes, what, count = (), f"Event {number}", self.values[number]
        if not isinstance(data, list) or len(data) != count:
            found = f"{len(data)} values" if isinstance(data, list) else shown(data)
            order = f": {', '.join(takes)}" if takes else ""
            raise ConfigError(f"{what} takes data, a list of {count} values{order}; given is {found}.")
        return None

    def _function(self, given: Mapping[str, object]) -> None:
        number, name = given.get("component_id"), given.get("fn_name")
        if isinstance(number, bool) or not isinstance(number, int) or number not in self.functions:
            raise ConfigError(f"component_id must be the number of a component with functions, not {shown(number)}.")
        if not isinstance(name, str) or name not in self.functions[number]:
            raise ConfigError(unknown("function", name, self.functions[number]))
        if not isinstance(given.get("session_hash"), str):
            raise ConfigError("session_hash must be a text.")

    def _named(self, name: str, given: Mapping[str, object]) -> None:
        takes = self._of(name)
        for one in given:
            if one not in takes:
                raise ConfigError(unknown(f"parameter of {name}", one, takes))
        for one in self.required[name]:
            if one not in given:
                raise ConfigError(f"{name} lacks {one}.")

    def _of(self, name: str) -> tuple[str, ...]:
        if name not in self.endpoints:
            raise ConfigError(unknown("endpoint", name, self.endpoints))
        return self.endpoints[name]


class Calls:
    """Reads the body of a call, checks its shape, and hands it on."""

    def __init__(self, app: ASGIApp, signatures: Signatures) -> None:
        """Wrap an application."""
        self.app, self.signatures = app, signatures

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let through, or answer with a sentence."""
        path = path_of(scope).rstrip("/")
        if scope.get("method") != "POST" or not (path.startswith(CALL) or path in (JOIN, SERVER)):
            return await self.app(scope, receive, send)
        body, more = bytearray(), True
        while more:
            message = await receive()
            if message["type"] != "http.request":
                return None  # it left
            body += message.get("body", b"")
            more = message.get("more_body", False)
        try:
            self.signatures.check(path, bytes(body))
        except ConfigError as error:
            return await refused(error)(scope, receive, send)
        whole: list[Message] = [{"type": "http.request", "body": bytes(body), "more_body": False}]

        async def again() -> Message:
            return whole.pop() if whole else await receive()

        return await self.app(scope, again, send)
