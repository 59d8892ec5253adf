"""Strangers kept out: which hosts and origins may ask, how much they may send, of which type. No gradio, no torch."""

import json
import logging
import os
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.below import path_of

LOG = logging.getLogger(__name__)
LOOPBACK = ("localhost", "127.0.0.1", "::1")
SPACES = ("https://huggingface.co", "https://*.hf.space")  # where a Space is embedded
ANYWHERE = ("0.0.0.0", "::")
SIMPLE = ("text/plain", "multipart/form-data", "application/x-www-form-urlencoded")  # what a form on any page can send
FILES = ("/lab/open", "/lab/pooled")  # their bodies are files, not JSON
CLOSED = ("/gradio_api/upload", "/gradio_api/upload_progress")  # nothing of the page uploads through Gradio
UNUSED = (  # one writes files, one never ends, the others call past the queue, where no shape is checked
    *("/gradio_api/deep_link", "/gradio_api/dev/reload"),
    *("/gradio_api/run", "/gradio_api/api"),
)
ORIGINS = "DRAFTSCOPE_ORIGINS"
MOST_TOLD = 20  # foreign pages and hosts that the log has
SMALL = 1_000_000  # bytes of a body that holds no trace
READING = ("GET", "HEAD", "OPTIONS")


@dataclass(frozen=True)
class Rules:
    """What the guard lets through. No `hosts` is any host, as behind a proxy."""

    hosts: tuple[str, ...]
    origins: tuple[str, ...]
    most_bytes: int

    @classmethod
    def of(cls, host: str | None, most_bytes: int) -> "Rules":
        """The rules of a server that listens on `host`; DRAFTSCOPE_ORIGINS names more origins, with `*` for a part.

        It answers for their hosts as well: a proxy that serves the page under a name of its own may hand that on.
        """
        name = (host or LOOPBACK[1]).strip("[]").lower()
        own = tuple(os.environ.get(ORIGINS, "").split())
        return cls(
            () if name in ANYWHERE else tuple(dict.fromkeys((*LOOPBACK, name))),
            own + (SPACES if os.environ.get("SPACE_ID") else ()),
            most_bytes,
        )

    def refusal(self, method: str, path: str, headers: Headers) -> tuple[int, str] | None:
        """Status and sentence of what is not let through; None lets it through."""
        host = headers.get("host", "")
        if self.hosts and name_of(host) not in self.hosts and not self._named(host):
            return 421, f"This server does not answer for the host {host[:80]!r}; {ORIGINS} can list its origin."
        origin = headers.get("origin")
        if origin is not None and not self._same(origin, host) and not _listed(origin, self.origins):
            return 403, f"Pages of {origin[:80]!r} may not ask this server; {ORIGINS} can list them."
        if _within(path, CLOSED):
            return 404, "Files are not uploaded here; POST traces to lab/open."
        if _within(path, UNUSED):
            return 404, "Nothing of the page asks for this, and it is closed."
        if method in READING:
            return None
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if path not in FILES and kind != "application/json" and (kind or headers.get("content-length", "0") != "0"):
            return 415, "The body must be JSON: Content-Type application/json."
        if path in FILES and kind in SIMPLE:
            return 415, "The body must be a file: Content-Type application/octet-stream."
        length = headers.get("content-length", "0")
        if not length.isascii() or not length.isdigit() or len(length) > 15 or int(length) > self.limit(path):
            return 413, f"The body is larger than {self.limit(path) / 1e6:g} MB, which is the limit."
        return None

    def limit(self, path: str) -> int:
        """Bytes that a body may have: as a trace where one may be in it."""
        whole = path in FILES or path.startswith("/gradio_api/call")
        return self.most_bytes + SMALL if whole or path.startswith("/gradio_api/queue/join") else SMALL

    def _named(self, host: str) -> bool:
        return bool(host) and any(_listed(f"{kind}://{host}", self.origins) for kind in ("https", "http"))

    def _same(self, origin: str, host: str) -> bool:
        try:
            return urlsplit(origin).netloc.lower() == host.lower() != ""
        except ValueError:  # brackets that are no address
            return False


class Guard:
    """Asks the rules before anything else of the server sees a request, and counts the bytes of its body."""

    def __init__(self, app: ASGIApp, rules: Rules) -> None:
        """Wrap an application."""
        self.app, self.rules = app, rules
        self._told = set[str]()  # what the log has of foreign pages and hosts, each once

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let through, or answer with an error; a body that is larger than it said ends as if its sender had left.

        Whoever leaves while they send a body is no fault, and not logged.
        """
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        path = path_of(scope).rstrip("/") or "/"
        refused = self.rules.refusal(str(scope.get("method", "GET")), path, Headers(scope=scope))
        if refused is not None:
            self._tell(*refused)
            await _answer(scope, send, *refused)
            return
        size, limit, answered = 0, self.rules.limit(path), False

        async def counted() -> Message:
            nonlocal size
            message = await receive()
            size += len(message.get("body", b""))
            return {"type": "http.disconnect"} if size > limit else message

        async def watched(message: Message) -> None:
            nonlocal answered
            answered = True
            await send(message)

        try:
            await self.app(scope, counted, watched)
        except ClientDisconnect:  # nobody is there to be told; or the body is too large, and ended by `counted`
            pass
        except Exception:
            if size <= limit:
                raise
        if size > limit and not answered:
            await _answer(scope, send, 413, f"The body is larger than {limit / 1e6:g} MB, which is the limit.")

    def _tell(self, status: int, said: str) -> None:
        """Behind a proxy that hands on another name the page stays empty: only here its keeper reads why."""
        if status in (403, 421) and said not in self._told and len(self._told) < MOST_TOLD:
            self._told.add(said)
            LOG.warning("Refused: %s", said)


def name_of(host: str) -> str:
    """The name or address in a Host header, without its port."""
    host = host.strip().lower()
    return host[1:].partition("]")[0] if host.startswith("[") else host.rpartition(":")[0] or host


def _within(path: str, places: Sequence[str]) -> bool:
    return any(path == place or path.startswith(place + "/") for place in places)


def _listed(origin: str, origins: Sequence[str]) -> bool:
    return any(fnmatchcase(origin.lower(), listed.lower()) for listed in origins)


async def _answer(scope: Scope, send: Send, status: int, said: str) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1008})
        return
    body = json.dumps({"error": said}, ensure_ascii=False).encode("utf-8", "replace")
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
