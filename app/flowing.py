"""Streams, zipped as they go: what a run sends is JSON and four times as long otherwise. Neither Gradio nor Starlette
zips any. No gradio, no torch."""

import zlib
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

STREAMS = ("text/event-stream", "application/x-ndjson")
QUICK, GZIP = 1, 31  # zlib's level, and its window with gzip's header


class Flowing:
    """Each piece is packed and sent when it comes, so that nobody waits for the next; no proxy is to hold it back."""

    def __init__(self, app: ASGIApp) -> None:
        """Wrap an application."""
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pack the streams among answers, for those who take it; all else passes through."""
        taken = scope["type"] == "http" and "gzip" in Headers(scope=scope).get("accept-encoding", "")
        packer: Any = None

        async def packed(message: Message) -> None:
            nonlocal packer
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                whole = "content-length" in headers or "content-encoding" in headers
                if not whole and headers.get("content-type", "").startswith(STREAMS):
                    headers["X-Accel-Buffering"] = "no"
                    headers.add_vary_header("Accept-Encoding")
                    if taken:
                        headers["Content-Encoding"] = "gzip"
                        packer = zlib.compressobj(QUICK, zlib.DEFLATED, GZIP)
            elif packer:
                ends = zlib.Z_SYNC_FLUSH if message.get("more_body") else zlib.Z_FINISH
                message = {**message, "body": packer.compress(message.get("body", b"")) + packer.flush(ends)}
            await send(message)

        await self.app(scope, receive, packed if scope["type"] == "http" else send)
