"""Answers that the asker has already are not sent again: GET answers carry a tag of what they hold."""

from hashlib import sha256

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send


class Known:
    """Tags whole answers to GET that have no tag of their own; who sends the tag back is told 304 and no body."""

    def __init__(self, app: ASGIApp) -> None:
        """Wrap an application."""
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hold the first message back until the body tells the tag; streams pass through untouched."""
        if scope["type"] != "http" or scope["method"] != "GET":
            await self.app(scope, receive, send)
            return
        asked = {tag.strip() for tag in Headers(scope=scope).get("If-None-Match", "").split(",")}
        held: Message | None = None

        async def tagged(message: Message) -> None:
            nonlocal held
            if message["type"] == "http.response.start":
                held = message
                return
            if held is None:
                await send(message)
                return
            first, held = held, None
            headers = MutableHeaders(scope=first)
            whole = message["type"] == "http.response.body" and not message.get("more_body")
            if first["status"] == 200 and "ETag" not in headers and whole:
                headers["ETag"] = tag = f'W/"{sha256(message.get("body", b"")).hexdigest()[:32]}"'
                if tag in asked:
                    first, message = {**first, "status": 304}, {**message, "body": b""}
                    del headers["Content-Length"], headers["Content-Type"]
                    first["headers"] = headers.raw
            await send(first)
            await send(message)

        await self.app(scope, receive, tagged)
