"""The page as it leaves the server: Gradio's, which names our files in their present edition, and zipped."""

import re

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.endpoint import ZIPPED
from app.pagefiles import AT, EDITION, address

GRADIOS = (b"page=", b"deep_link=")  # parameters that name pages and states of Gradio, which has none here and fails
EDITIONS = re.compile(rf"\./{AT}/{EDITION}".encode())


class Front:
    """All else passes through untouched: the page's address ends with a slash, that of nothing else here does."""

    def __init__(self, app: ASGIApp) -> None:
        """Wrap an application."""
        self.app = app
        self.page: ASGIApp = Dated(app)
        for around, given, named in reversed(ZIPPED):
            self.page = around(self.page, *given, **named)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer."""
        page = scope["type"] == "http" and scope["method"] == "GET" and scope["path"].endswith("/")
        if page:
            asked = [one for one in scope["query_string"].split(b"&") if not one.startswith(GRADIOS)]
            scope = {**scope, "query_string": b"&".join(asked)}
        await (self.page if page else self.app)(scope, receive, send)


class Dated:
    """Has the page name its files as they are now; Gradio keeps what it was given when the server started."""

    def __init__(self, app: ASGIApp) -> None:
        """Wrap an application."""
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hold the first message back until the body is there."""
        held, body = list[Message](), b""

        async def dated(message: Message) -> None:
            nonlocal body
            if message["type"] == "http.response.start":
                held.append(message)
            else:
                body += message.get("body", b"")
                if not message.get("more_body"):
                    (first,) = held
                    text = EDITIONS.sub(address().encode(), body)
                    MutableHeaders(scope=first)["Content-Length"] = str(len(text))
                    await send(first)
                    await send({"type": "http.response.body", "body": text})

        await self.app(scope, receive, dated)
