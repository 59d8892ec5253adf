"""Long work as JSON lines over HTTP: a generator runs in its own thread and ends soon after its reader has left."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable, Generator
from contextlib import closing
from typing import Any

from starlette.responses import StreamingResponse

from app.answers import lacking, log_fault
from app.ending import ENDING, ENDS
from engine.errors import ConfigError, LabError

Lines = Generator[dict[str, Any], None, None]


def stream(start: Callable[[], Lines]) -> StreamingResponse:
    """An answer with a line an item of the generator that `start` makes; a LabError becomes the last line, "error"."""
    headers = {"Cache-Control": "no-store"}
    return StreamingResponse(_lines(start), media_type="application/x-ndjson", headers=headers)


async def _lines(start: Callable[[], Lines]) -> AsyncIterator[bytes]:
    loop, items, left = asyncio.get_running_loop(), asyncio.Queue[dict[str, Any] | None](), threading.Event()

    def put(item: dict[str, Any] | None) -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(items.put_nowait, item)

    def work() -> None:
        try:
            with ENDING.work(), closing(start()) as lines:
                for line in lines:
                    put(line)
                    if left.is_set():
                        break
                    if ENDING.comes.is_set():
                        raise ConfigError(ENDS)
        except LabError as error:
            put({"kind": "error", "error": str(error)})
        except Exception as error:
            put({"kind": "error", "error": lacking(error) or f"The work failed: {type(error).__name__}."})
            log_fault(error, "long work")
        finally:
            put(None)

    threading.Thread(target=work, daemon=True).start()
    try:
        while (item := await items.get()) is not None:
            yield json.dumps(item, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace") + b"\n"
    finally:
        left.set()
