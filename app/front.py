"""The page as it leaves the server: Gradio's, with what it will ask for, in its present edition, and zipped."""

import re

from starlette.datastructures import MutableHeaders
from starlette.middleware.gzip import GZipMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.known import Known
from app.pagefiles import AT, address, hints

EDITIONS = re.compile(rf"\./{AT}/e-[0-9a-f]{{16}}".encode())
END = b"</head>"


class Front:
    """All else passes through untouched: the page's address ends with a slash, that of nothing else here does."""

    def __init__(self, app: ASGIApp) -> None:
        """Wrap an application."""
        self.app, self.page = app, GZipMiddleware(Known(Hinting(app)), minimum_size=2000, compresslevel=5)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer."""
        page = scope["type"] == "http" and scope["method"] == "GET" and scope["path"].endswith("/")
        await (self.page if page else self.app)(scope, receive, send)


class Hinting:
    """Has files fetched while Gradio starts, which would ask for them only then, and all in their present edition."""

    def __init__(self, app: ASGIApp) -> None:
        """Wrap an application."""
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hold the first message back until the body is there."""
        held, body = list[Message](), b""

        async def hinted(message: Message) -> None:
            nonlocal body
            if message["type"] == "http.response.start":
                held.append(message)
            else:
                body += message.get("body", b"")
                if not message.get("more_body"):
                    (first,) = held
                    text = page(body)
                    MutableHeaders(scope=first)["Content-Length"] = str(len(text))
                    await send(first)
                    await send({"type": "http.response.body", "body": text})

        await self.app(scope, receive, hinted)


def page(text: bytes) -> bytes:
    """The page with its hints; what is none stays as it is."""
    if END not in text:
        return text
    now = address()
    return EDITIONS.sub(now.encode(), text).replace(END, f"{hints(now)}\n".encode() + END, 1)
