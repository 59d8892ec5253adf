"""What the Learn room reads: lessons, words and pages of the docs, their Markdown as HTML. No gradio."""

import json
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from app.answers import refused
from app.endpoint import ZIPPED
from app.prose import html, mathml
from app.wire.learn import DocPage, Glossary, Lessons, PageIndex, PageLesson, PageTask, Word
from engine.errors import ConfigError, LabError
from engine.learn import pages
from engine.learn.glossary import glossary_json
from engine.learn.lessons import lessons_json
from engine.rules import THRESHOLDS


def routes() -> list[BaseRoute]:
    """Lessons, glossary, the list of pages, and a page by name."""
    told: dict[str, Callable[[], Any]] = {"lessons": lessons, "glossary": words, "pages": index}
    listed = [Route(f"/lab/{path}", partial(_answer, make), middleware=ZIPPED) for path, make in told.items()]
    return [*listed, Route("/lab/page", _page, middleware=ZIPPED)]


async def _answer(make: Callable[[], Any], _request: Request) -> Response:
    try:
        found = await run_in_threadpool(make)
    except LabError as error:
        return refused(error, 500)
    return _json(found)


async def _page(request: Request) -> Response:
    try:
        found = await run_in_threadpool(page, request.query_params.get("name", ""))
    except ConfigError as error:
        return refused(error, 404)
    return _json(found)


def _json(body: Any) -> Response:
    return Response(json.dumps(body, ensure_ascii=False, separators=(",", ":")), media_type="application/json")


def address(name: str) -> str | None:
    """Where the page shows `methods/NAME`, or a page beside the one that links to it; None where it does not."""
    name = name.removeprefix("../").removeprefix("docs/").removeprefix("methods/")
    return f"?room=learn&tab=methods&name={name}" if name in pages.names() else None


prose = partial(html, resolve=address)


@cache
def lessons() -> Lessons:
    """All lessons; every text is HTML.

    Raises:
        ConfigError: a lesson cannot be read.
    """
    return {"lessons": [_lesson(lesson) for lesson in lessons_json(THRESHOLDS)]}


def _lesson(lesson: dict[str, Any]) -> PageLesson:
    steps = [{**step, "text": prose(step["text"]), "task": _task(step["task"])} for step in lesson["steps"]]
    made: PageLesson = {**lesson, "text": prose(lesson["text"]), "steps": steps}  # type: ignore[typeddict-item]
    return made


def _task(task: dict[str, Any] | None) -> PageTask | None:
    if task is None:
        return None
    made: PageTask = {**task, **{name: prose(task[name]) for name in ("ask", "after", "hint")}}  # type: ignore[typeddict-item]
    if "options" in task:
        made["options"] = [
            {"text": prose(option["text"]), "why": prose(option["why"]), "right": option["right"]}
            for option in task["options"]
        ]
    return made


@cache
def words() -> Glossary:
    """Every word; texts are HTML, formulae MathML.

    Raises:
        ConfigError: the glossary cannot be read, or a formula in it.
    """
    entries = glossary_json()
    titles = {entry["anchor"]: entry["term"] for entry in entries}
    return {"words": [_word(entry, titles) for entry in entries]}


def _word(entry: dict[str, Any], titles: Mapping[str, str]) -> Word:
    formula = mathml(entry["formula"], display=True) if entry["formula"] else ""
    symbols = [{"symbol": mathml(symbol, display=False), "field": field} for symbol, field in entry["symbols"]]
    see = [{"name": name, "title": titles.get(name) or _method(name)} for name in entry["see"]]
    made: Word = {**entry, "text": prose(entry["text"]), "formula": formula, "symbols": symbols, "see": see}  # type: ignore[typeddict-item]
    return made


def _method(name: str) -> str:
    """What the method of `methods/NAME` is called: the title of its page without the name in it."""
    return pages.page(name.removeprefix("methods/")).title.partition(" (`")[0]


def index() -> PageIndex:
    """The names and titles of all pages."""
    return {"pages": [{"name": name, "title": pages.page(name).title} for name in pages.names()]}


@cache
def page(name: str) -> DocPage:
    """A page of docs/methods.

    Raises:
        ConfigError: there is none, with the nearest right name.
    """
    found = pages.page(name)
    text = (pages.FOLDER / f"{name}.md").read_text(encoding="utf-8")
    return {"name": name, "title": found.title, "html": prose(text)}
