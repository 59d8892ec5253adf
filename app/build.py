"""The page: one static HTML block with the mount points of all views, one hidden bus, and the named endpoints."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import gradio as gr
from pydantic import Field

from app import request as requests
from app.answers import fault_words, log_fault, log_refusal
from app.endpoint import READERS
from app.presets import PresetCatalogue
from app.recorded import Sentence
from app.routes import catalogue_json, open_traces
from app.service import Service, by_address
from app.turnstile import MOST_PLACES
from app.validate import Asked, checked, here
from app.wire.catalogue import Catalogue
from app.wire.runs import RunMessage
from engine.errors import ConfigError, LabError, shown, unknown
from engine.unhurried import UNHURRIED

AT_ONCE = MOST_PLACES + 8  # calls that Gradio starts: one runs, the turnstile lets others wait, and refuses the rest
COPY = Path(__file__).parent / "copy"
ON_LOAD = "window.draftscope.attach(props, trigger, server, watch); void ['run', 'halt'];"  # events must be named here
PAGE_ON_LOAD = "window.draftscope.mount(element);"


class AskedPlace(Asked):
    """A round of a trace, or a candidate in it."""

    round_index: int = Field(ge=0, description="an integer >= 0")
    node: int | None = Field(None, ge=0, description="an integer >= 0, or null")


class Handlers:
    """What the events call: values in, values out."""

    def __init__(self, service: Service, preset_catalogue: PresetCatalogue, sentence: Sentence | None) -> None:
        """Take what the page works on."""
        self.service, self.preset_catalogue, self.sentence = service, preset_catalogue, sentence

    def from_page(self, event: gr.EventData, request: gr.Request) -> Iterator[str]:
        """A run asked for by the page; every message is a JSON string."""
        given = event._data
        text = str(given.get("request", "") if isinstance(given, dict) else given)
        yield from self.stream(text, by_address(request.client))

    def stream(self, text: str, address: str = "") -> Iterator[str]:
        """Messages of one comparison; an error ends it as a notice, and is logged unless the user can cure it."""
        service, run = self.service, requests.run_of(text)
        try:
            request = requests.parse(text, service.cards, service.models, service.limits, address)
            for message in service.run(request):
                yield written(message)
        except LabError as error:
            log_refusal(error)
            yield json.dumps({"id": run, "seq": -1, "notice": str(error), "done": True})
        except Exception as error:
            log_fault(error, "a run of the page")
            yield json.dumps({"id": run, "seq": -1, "notice": fault_words(error), "done": True})

    def run(
        self,
        methods: list[str],
        prompt: str,
        models: str = "",
        max_new_tokens: int = 128,
        temperature: float = 0.0,
        top_p: float = 1.0,
        top_k: int = 0,
        seed: int = 0,
        chat: bool = False,
        knobs: dict[str, Any] | None = None,
        stop: list[str] | None = None,
        request: gr.Request | None = None,
    ) -> Iterator[str]:
        """Stream JSON texts {id, seq, lanes | ev | done}. `knobs` is {method: {knob: value}}, or by lane where a method
        comes twice ("sd.2" is its second); `stop` ends runs."""
        with curable("a run of the API"):
            for message in self.service.run(self._request(locals()), keeps=False):
                yield written(message)

    def decode(
        self,
        methods: list[str],
        prompt: str,
        models: str = "",
        max_new_tokens: int = 128,
        temperature: float = 0.0,
        top_p: float = 1.0,
        top_k: int = 0,
        seed: int = 0,
        chat: bool = False,
        knobs: dict[str, Any] | None = None,
        stop: list[str] | None = None,
        request: gr.Request | None = None,
    ) -> Iterator[dict[str, Any]]:
        """The same at once: lane -> the events of its trace, the last result of the call; those before are empty."""
        with curable("a run of the API"):
            yield from self.service.decode(self._request(locals()))

    def _request(self, values: dict[str, Any]) -> requests.Request:
        methods, knobs = values["methods"], {} if values["knobs"] is None else values["knobs"]
        if not isinstance(methods, list):
            raise ConfigError(f"methods must be a list of names, not {shown(methods)}.")
        if not isinstance(knobs, dict):
            raise ConfigError(f"knobs must be an object {{method: {{knob: value}}}}, not {shown(knobs)}.")
        keys = requests.keys(map(str, methods))
        for name in knobs:
            if name not in keys:
                raise ConfigError(unknown("lane with knobs", name, keys))
        lanes = [
            {"method": name, "knobs": knobs.get(key, knobs.get(str(name), {}))}
            for name, key in zip(methods, keys, strict=True)
        ]
        own = {name: value for name, value in values.items() if name not in ("self", "methods", "knobs", "request")}
        given = {**own, "stop": own["stop"] or [], "lanes": lanes, "id": requests.fresh_id()}
        address = by_address(values["request"] and values["request"].client)
        return requests.build(given, self.service.cards, self.service.models, self.service.limits, address)

    def methods(self, models: str = "") -> list[dict[str, Any]]:
        """All method cards with their knobs, as these models can run them."""
        with curable("listing methods"):
            return self.service.methods(name_of(models) and here(models, self.service.models))

    def presets(self) -> list[dict[str, Any]]:
        """All presets."""
        return [dict(preset) for preset in self.preset_catalogue.listing()]

    def catalogue(self, models: str = "") -> Catalogue:
        """Methods, presets, models and limits."""
        with curable("listing methods"):
            return catalogue_json(self.service, self.preset_catalogue, name_of(models))

    def load_trace(self, text: str) -> list[dict[str, Any]]:
        """The lanes in a trace file's text, checked: {key, card, events} with the sentence of every decision."""
        with curable("reading a trace"), UNHURRIED.making():
            if not isinstance(text, str):
                raise ConfigError("A trace is given as its text.")
            data = text.encode("utf-8", "replace")
            found: list[dict[str, Any]] = open_traces(self.service, self.sentence, data)["lanes"]
            return found

    def explain(self, text: str, round_index: int, node: int | None = None) -> list[str]:
        """Why the candidates (or places of a canvas) and tokens of one round of a trace came out as they did, or one of
        them (`node`)."""
        with curable("explaining a round"):
            asked = checked(AskedPlace, {"round_index": round_index, "node": node})
            rounds = [event for event in self.load_trace(text)[0]["events"] if event["kind"] == "round"]
            if asked.round_index >= len(rounds):
                raise ConfigError(f"Round {asked.round_index} does not exist: the trace has {len(rounds)}.")
            event = rounds[asked.round_index]
            nodes, tokens = event.get("canvas") or event["nodes"], event["tokens"]
            if asked.node is not None and asked.node >= len(nodes):
                raise ConfigError(f"Node {asked.node} does not exist: the round has {len(nodes)}.")
            return [
                str(item.get("why", "")) for item in ([*nodes, *tokens] if asked.node is None else [nodes[asked.node]])
            ]

    def stop(self, run: str) -> bool:
        """End a run after the round in progress."""
        with curable("stopping a run"):
            return self.service.stop(name_of(run))

    def resync(self, given: list[Any]) -> str:
        """What a page missed of its run: [run id, events it has]."""
        match given:
            case [str(run), int(have)] if not isinstance(have, bool):
                return json.dumps(self.service.resync(run, have))
            case _:
                return "null"


def written(message: RunMessage) -> str:
    """A message as JSON, with the text of its events where it is there."""
    text = getattr(message.get("ev"), "text", "")
    if not text:
        return json.dumps(message, ensure_ascii=False)
    rest = json.dumps({name: value for name, value in message.items() if name != "ev"}, ensure_ascii=False)
    return f'{rest[:-1]}, "ev": {text}}}'


def name_of(given: object) -> str:
    """A name.

    Raises:
        ConfigError: it is no text.
    """
    if not isinstance(given, str):
        raise ConfigError(f"A name must be a text, not {shown(given)}.")
    return given


@contextmanager
def curable(what: str) -> Iterator[None]:
    """Errors as Gradio tells them: those of a user as a sentence and one line in the log, faults by their kind only."""
    try:
        yield
    except gr.Error:
        raise
    except LabError as error:
        log_refusal(error)
        raise gr.Error(str(error), print_exception=False) from None
    except Exception as error:
        log_fault(error, what)
        raise gr.Error(fault_words(error), print_exception=False) from None


def named(method: Callable[..., Any]) -> Callable[..., Any]:
    """A bound method as Gradio wants a server function: an object that takes attributes and has a name."""
    function = partial(method)
    function.__name__ = method.__name__  # type: ignore[attr-defined]
    return function


def build(service: Service, preset_catalogue: PresetCatalogue, sentence: Sentence | None = None) -> gr.Blocks:
    """All components and events."""
    do = Handlers(service, preset_catalogue, sentence)
    with gr.Blocks(title="Draftscope", analytics_enabled=False, fill_width=True) as demo:
        gr.HTML(
            html_template=(COPY / "page.html").read_text("utf-8"),
            js_on_load=PAGE_ON_LOAD,
            apply_default_css=False,
            elem_id="page",
        )
        bus = gr.HTML(
            html_template="<i></i>",
            js_on_load=ON_LOAD,
            server_functions=[named(do.stop), named(do.resync), named(do.catalogue)],
            visible="hidden",
            elem_id="bus",
        )
        running = bus.run(
            do.from_page,
            None,
            bus,
            show_progress="hidden",
            concurrency_id="engine",
            concurrency_limit=AT_ONCE,
            trigger_mode="multiple",
            api_visibility="private",
            api_name="page_run",
        )
        bus.halt(None, None, None, cancels=[running], api_visibility="private", queue=False)
        gr.api(do.run, api_name="run", concurrency_id="engine", concurrency_limit=AT_ONCE)
        gr.api(do.decode, api_name="decode", concurrency_id="engine", concurrency_limit=AT_ONCE)
        gr.api(do.methods, api_name="methods", queue=False)
        gr.api(do.presets, api_name="presets", queue=False)
        gr.api(do.load_trace, api_name="load_trace", concurrency_id="files", concurrency_limit=READERS)
        gr.api(do.explain, api_name="explain", concurrency_id="files", concurrency_limit=READERS)
        gr.api(do.stop, api_name="stop", queue=False)
    demo.queue(max_size=8 * AT_ONCE, default_concurrency_limit=4, api_open=False)
    return demo
