"""Frames of routes that read a body: up to a limit, refused in a sentence if wrong, answered. No gradio, no torch."""

from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from typing import Any, TypeVar

from anyio import CapacityLimiter, to_thread
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from app.answers import lacking, refused
from app.ending import ENDING
from app.known import Known
from app.ndjson import Lines, stream
from app.service import by_address
from app.validate import body, parsed
from engine.errors import LabError
from engine.unhurried import UNHURRIED

J = TypeVar("J")

MAX_BODY = 64_000  # bytes
READERS = 2  # files that are read at once: one may take a gigabyte and twenty seconds
ZIPPED = (Middleware(GZipMiddleware, minimum_size=2000, compresslevel=5), Middleware(Known))


def answered(
    path: str, answer: Callable[[bytes], Response], most: int = MAX_BODY, limiter: CapacityLimiter | None = None
) -> Route:
    """POST: what `answer` makes of the body, in a thread of its own, where there is a `limiter` one of its threads. A
    LabError is told to the caller."""

    def at_work(data: bytes) -> Response:
        with ENDING.work(), UNHURRIED.making() if limiter else nullcontext():
            return answer(data)

    async def endpoint(request: Request) -> Response:
        try:
            return await to_thread.run_sync(at_work, await body(request.stream(), most), limiter=limiter)
        except (LabError, OSError) as error:
            return told(error)

    return Route(path, endpoint, methods=["POST"], middleware=ZIPPED)


def streamed(path: str, parse: Callable[[Any, str], J], lines: Callable[[J], Lines], most: int = MAX_BODY) -> Route:
    """POST: `parse` makes a job of the body's JSON and of who asks by address, `lines` does it, as JSON lines.

    A LabError of `parse` is told to the caller. Closing the connection ends the work soon, see `app.ndjson`.
    """

    async def endpoint(request: Request) -> Response:
        try:
            given = parsed(await body(request.stream(), most))
            job = await run_in_threadpool(parse, given, by_address(request.client))
        except (LabError, OSError) as error:
            return told(error)
        return stream(partial(lines, job))

    return Route(path, endpoint, methods=["POST"])


def told(error: LabError | OSError) -> Response:
    """What a user can cure, or the server's machine lacks, in words.

    Raises:
        OSError: a fault of the lab.
    """
    if isinstance(error, LabError):
        return refused(error)
    if words := lacking(error):
        return refused(words, 500)
    raise error
