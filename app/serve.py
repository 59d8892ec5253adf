"""Start the server with everything that Gradio leaves open closed."""

import os
import threading
from typing import Any

import gradio as gr
from gradio import http_server
from gradio_client import utils as values
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response

from app import fresh, listened, scratch
from app.answers import Json
from app.build import build
from app.calls import Calls, Signatures
from app.patience import Patient
from app.presets import PresetCatalogue
from app.recorded import Sentence
from app.routes import app_kwargs
from app.service import Service
from app.theme import head, theme
from app.turnstile import MOST_PLACES

SESSIONS = 4  # whose last output Gradio keeps, though nothing of the page or the API reads it: a trace has megabytes


def launch(
    service: Service,
    preset_catalogue: PresetCatalogue,
    sentence: Sentence | None = None,
    *,
    host: str | None = None,
    port: int | None = None,
    **more: Any,
) -> gr.Blocks:
    """Build the page and serve it; `more` goes to `Blocks.launch`."""
    threading.Thread(target=fresh.kinds, daemon=True).start()  # half a second that no page should wait for
    os.environ["GRADIO_TEMP_DIR"] = str(scratch.fresh("gradio"))
    values.is_file_obj_with_meta = is_file
    http_server.Server = Patient  # type: ignore[misc]
    demo = build(service, preset_catalogue, sentence)
    served = app_kwargs(service, preset_catalogue, sentence, host or os.environ.get("GRADIO_SERVER_NAME"))
    served["exception_handlers"][gr.Error] = told
    served["middleware"].append(Middleware(Calls, signatures=signatures(demo)))
    served["middleware"].append(Middleware(listened.Listened, queue=demo._queue, patience=listened.PATIENCE))
    demo.launch(
        server_name=host,
        server_port=port,
        head=head(),
        theme=theme(),
        ssr_mode=False,
        run_history=False,
        share=False,
        quiet=True,
        footer_links=["api"],
        max_file_size=service.limits.max_upload_bytes,
        enable_monitoring=False,
        show_error=True,
        app_kwargs=served,
        state_session_capacity=SESSIONS,
        max_threads=2 * MOST_PLACES,  # those that wait for the device hold one each
        **more,
    )
    return demo


def signatures(demo: gr.Blocks) -> Signatures:
    """What the events of a page take, as Gradio tells it."""
    told = demo.get_api_info()["named_endpoints"]
    takes = {name.removeprefix("/"): about["parameters"] for name, about in told.items()}
    return Signatures(
        {name: tuple(one["parameter_name"] for one in given) for name, given in takes.items()},
        {
            name: tuple(one["parameter_name"] for one in given if not one["parameter_has_default"])
            for name, given in takes.items()
        },
        {number: len(event.inputs) for number, event in demo.fns.items() if event.fn},
        {number: names for number, block in demo.blocks.items() if (names := _functions(block))},
    )


def _functions(block: Any) -> tuple[str, ...]:
    return tuple(name for name, found in vars(block).items() if getattr(found, "_is_server_fn", False))


def is_file(_value: object) -> bool:
    """Never. Gradio asks this of all that goes in or out, and copies or fetches what a file names; a stranger may send
    what is named like one."""
    return False


async def told(_request: Request, error: Exception) -> Response:
    """What a function of a component refuses; it has logged it."""
    return Json({"error": str(getattr(error, "message", error))}, 400)
