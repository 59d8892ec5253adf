"""Plain HTTP beside Gradio: static files, the catalogue, recorded and uploaded traces, health, security headers."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Any

from anyio import CapacityLimiter
from fastapi.exceptions import RequestValidationError
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import MutableHeaders
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app import (
    composer,
    continuing,
    evaluations,
    fresh,
    gallery,
    learn,
    mining,
    opening,
    papers,
    picks,
    pooled,
    recorded,
    repeats,
    trajectories,
    trees,
)
from app.answers import Json, fault, refused
from app.below import Below, path_of
from app.endpoint import READERS, ZIPPED, answered
from app.flowing import Flowing
from app.front import Front
from app.guard import Guard, Rules
from app.pagefiles import AT, LOOKED, STATIC, PageFiles
from app.presets import PresetCatalogue
from app.recorded import Sentence
from app.service import Service
from app.wire.catalogue import Catalogue, LoadingNow
from engine import progress
from engine.analysis import names
from engine.analysis.reading import draft_tokens
from engine.config import TRAJECTORY_TEMPERATURE
from engine.errors import LabError, TraceError
from engine.trace.store import Trace

POLICY = (  # Gradio compiles templates in the page, hence 'unsafe-eval'
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self'; worker-src 'self' blob:; object-src "
    "'none'; base-uri 'self'; form-action 'self'; frame-ancestors 'self' https://huggingface.co https://*.hf.space"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=(), payment=()",
    "Cross-Origin-Opener-Policy": "same-origin-allow-popups",
}


class Headers:
    """Security headers on every answer; streams pass through untouched."""

    def __init__(self, app: ASGIApp) -> None:
        """Wrap an application."""
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Add the headers to the first message of an HTTP answer."""

        async def tagged(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
                if path_of(scope).startswith("/lab/"):  # a page that was loaded before an update is told by it
                    headers["Draftscope-Edition"] = LOOKED.edition()
                if path_of(scope).startswith("/lab") or scope["path"].endswith("/"):
                    headers.setdefault("Cache-Control", "no-cache")
            await send(message)

        await self.app(scope, receive, tagged if scope["type"] == "http" else send)


def app_kwargs(
    service: Service, preset_catalogue: PresetCatalogue, sentence: Sentence | None, host: str | None = None
) -> dict[str, Any]:
    """What `Blocks.launch` hands to its server, which listens on `host`."""
    rules = Rules.of(host, service.limits.max_upload_bytes)
    routes = page_routes(service, preset_catalogue, sentence)
    middleware = [
        Middleware(Below, routes=routes),
        *(Middleware(Headers), Middleware(Front), Middleware(Guard, rules=rules), Middleware(Flowing)),
    ]
    return {
        "routes": routes,
        "middleware": middleware,
        "exception_handlers": {RequestValidationError: misshapen, Exception: fault},
        "openapi_url": None,
    }


def page_routes(service: Service, preset_catalogue: PresetCatalogue, sentence: Sentence | None) -> list[BaseRoute]:
    """All that the page asks for over plain HTTP."""
    readers = CapacityLimiter(READERS)
    rooms = (partial(gallery.cases, preset_catalogue), learn.lessons, pooled.known)  # take seconds when first asked for
    return [
        Route("/healthz", health),
        Route("/lab/loading", loading),
        Route("/lab/catalogue", partial(catalogue, service, preset_catalogue, rooms), middleware=ZIPPED),
        Route("/lab/trace", partial(trace, preset_catalogue), middleware=ZIPPED),
        answered("/lab/open", partial(upload, service, sentence), service.limits.max_upload_bytes, readers),
        *mining.routes(service),
        *evaluations.routes(),
        *pooled.routes(service, readers=readers),
        *trajectories.routes(service),
        *repeats.routes(service),
        *continuing.routes(service, sentence),
        *trees.routes(),
        *fresh.routes(),
        *composer.routes(service),
        *opening.routes(service),
        *papers.routes(service),
        *gallery.routes(preset_catalogue),
        *learn.routes(),
        Route(f"/{AT}/{{path:path}}", PageFiles(directory=STATIC), middleware=ZIPPED),
    ]


async def misshapen(_request: Request, _error: Exception) -> Response:
    """A body that is not what Gradio's own routes take."""
    return refused("The body is not what this address takes: see the API page (footer of the page).", 422)


async def health(_request: Request) -> Response:
    """Alive."""
    return JSONResponse({"status": "ok"})


async def loading(_request: Request) -> Response:
    """What is being loaded, for a page that waits for it."""
    found: LoadingNow = {"loading": opening.told(progress.now())}
    return JSONResponse(found)


async def catalogue(
    service: Service, preset_catalogue: PresetCatalogue, rooms: Sequence[Callable[[], object]], request: Request
) -> Response:
    """Methods, presets, models and limits: all that the run bar needs. The first page to ask makes the models load, and
    what other rooms show."""
    if service.eager:
        service.warm(rooms)
    models = request.query_params.get("models", "")
    return JSONResponse(await run_in_threadpool(catalogue_json, service, preset_catalogue, models))


def catalogue_json(service: Service, preset_catalogue: PresetCatalogue, models: str = "") -> Catalogue:
    """See `catalogue`."""
    limits = service.limits
    return {
        "methods": service.methods(models),
        "presets": preset_catalogue.listing(),
        "models": list(service.models),
        "families": {name: found for name in service.models if (found := service.family(name))},
        "picks": picks.among(service.cards),
        "kinds": fresh.kinds(),
        "taught": fresh.taught(service.models),
        "first": preset_catalogue.first,
        "names": [asdict(name) for name in names.told()],
        "limits": {
            "tokens": limits.max_tokens,
            "lanes": limits.max_lanes,
            "upload": limits.max_upload_bytes,
            "nodes": limits.max_nodes,
        },
        "trajectory_temperature": TRAJECTORY_TEMPERATURE,
        "closed": service.closed,
    }


async def trace(preset_catalogue: PresetCatalogue, request: Request) -> Response:
    """The recorded traces of a preset."""
    try:
        body = await run_in_threadpool(
            preset_catalogue.body, request.query_params.get("name") or preset_catalogue.first
        )
    except LabError as error:
        return refused(error, 404)
    return Response(body, media_type="application/json")


def upload(service: Service, sentence: Sentence | None, data: bytes) -> Response:
    """A visitor's own traces: read in memory, answered, forgotten."""
    return Json(open_traces(service, sentence, data))


def open_traces(service: Service, sentence: Sentence | None, data: bytes) -> dict[str, Any]:
    """The lanes in the bytes of one file, or of several (see `recorded.split`), and what they say about each other.

    Raises:
        TraceError: damaged, of another schema, or larger than a limit.
    """
    if not data.startswith(recorded.FRAMED):
        return recorded.body(recorded.parse(data, service.limits), service.cards, sentence)
    traces: list[Trace] = []
    files: list[str] = []
    most, nodes = service.limits.max_lanes, service.limits.max_nodes
    for name, text in recorded.unpacked(recorded.split(data), service.limits):
        try:
            found = recorded.parse(text, replace(service.limits, max_nodes=nodes))
        except TraceError as error:
            raise TraceError(f"{name}: {error}") from None
        traces += found
        files += [name] * len(found)
        nodes = service.limits.max_nodes - sum(map(draft_tokens, traces))
        if len(traces) > most:
            raise TraceError(f"These files hold {len(traces)} runs; at most {most} fit side by side.")
    return recorded.body(traces, service.cards, sentence, files)
