"""The papers, table by table: what each prints, what came of it here, and the verdict. No gradio, no torch."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import lru_cache, partial
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from app.answers import Json, refused
from app.endpoint import ZIPPED
from app.figures import papers as figures
from app.service import Service
from engine.analysis.words import estimate, minus
from engine.config import Card, parse_method
from engine.errors import LabError
from engine.papers import entries
from engine.papers.entries import Item, Paper
from engine.papers.results import FOLDER, load, verdict_of
from engine.papers.systems import LOSSES, Systems, recorded
from engine.papers.words import MEASURES, evidence, form, scaled
from engine.tasks import get_task, load_problems

LIVE_TOKENS = 128
METHODS = "methods"  # the page of all methods, beside those of the papers
TIMES = {"draft_s": "draft", "verify_s": "target", "other_s": "other"}  # columns of seconds
SHOWS = {  # what a recording shows, by the word after its task
    "": "What each method costs in quality, and its speed",
    "majority": "What the vote of several sampled answers is worth",
}


def routes(service: Service) -> list[BaseRoute]:
    """The list of papers, and one paper with its figures."""
    return [
        Route("/lab/papers", listed, middleware=ZIPPED),
        Route("/lab/paper", partial(shown, service), middleware=ZIPPED),
    ]


async def listed(_request: Request) -> Response:
    """All papers with their verdicts counted."""
    return Response(await run_in_threadpool(lambda: _listed(_state())), media_type="application/json")


async def shown(service: Service, request: Request) -> Response:
    """One paper: entries, results and figures."""
    try:
        cards = {card.name: card for card in service.cards}
        name = request.query_params.get("name", "")
        body = await run_in_threadpool(lambda: _shown(name, tuple(cards.items()), _state()))
    except LabError as error:
        return refused(error, 404)
    return Response(body, media_type="application/json")


def _state() -> int:
    """When a result was last written: a table that is made anew beside the server is shown at the next visit."""
    return max((path.stat().st_mtime_ns for path in FOLDER.parent.rglob("*.json")), default=0)


@lru_cache(maxsize=1)
def _listed(_state: int) -> bytes:
    found = []
    for paper in entries.papers():
        told = [verdict_of(item, load(paper, item)) for item in paper.items]
        found.append({"name": paper.key, "title": paper.title, "method": paper.method, "verdicts": dict(Counter(told))})
    if recorded():
        found.append({"name": METHODS, "title": "Every method, quality beside speed", "method": "", "verdicts": {}})
    return bytes(Json({"papers": found}).body)


@lru_cache(maxsize=8)
def _shown(name: str, cards: tuple[tuple[str, Card], ...], _state: int) -> bytes:
    told = methods(recorded(), dict(cards)) if name == METHODS else one(entries.paper(name), dict(cards))
    return bytes(Json(told).body)


def one(paper: Paper, cards: Mapping[str, Card]) -> dict[str, Any]:
    """A paper in JSON types, with its figures."""
    return {
        "name": paper.key,
        "title": paper.title,
        "method": paper.method,
        "setting": paper.setting,
        "note": paper.note,
        "items": [_item(paper, item, cards) for item in paper.items],
    }


def methods(sheets: Sequence[Systems], cards: Mapping[str, Card]) -> dict[str, Any]:
    """The page of all methods in the form of a paper's: an item a recording, no verdicts."""
    return {
        "name": METHODS,
        "title": "Every method, quality beside speed",
        "method": "",
        "setting": "The embedded pair; each recording is made again by the command below it.",
        "note": "",
        "items": [_systems(sheet, cards) for sheet in sheets],
    }


def _systems(sheet: Systems, cards: Mapping[str, Card]) -> dict[str, Any]:
    titles = {name: cards[name].title if name in cards else name for name, _ in sheet.rows}
    loss = next((name for name in LOSSES if any(name in own for own in sheet.numbers.values())), "")
    unit = ("right answers" if loss == LOSSES[0] else "BLEU") + " less<br>plain decoding's, points"
    scale = 100 if loss == LOSSES[0] else 1
    shown = [
        (titles[name], scaled(own.get(loss), scale), own["speedup"])
        for name, own in sheet.numbers.items()
        if own.get(loss) or own["speedup"]
    ]
    drawn = figures.beside(sheet.name, unit, sorted(shown, key=_speed, reverse=True))
    plain = [_named(words, titles) for words in sheet.columns]
    rows = [{"name": titles[name], "cells": list(cells)} for name, cells in sheet.rows]
    head = {"title": sheet.name, "x": "", "y": "", "columns": plain}
    texts = ("claim", "setting", "stated", "larger", "untestable", "verdict", "created")
    return {
        **dict.fromkeys(texts, ""),
        "id": sheet.name,
        "name": sheet.name.replace("-", ", ").capitalize(),
        "shows": SHOWS[sheet.name.partition("-")[2]],
        "here": _named(sheet.told.replace(f"`{sheet.command}`", "the command below"), titles),
        "illustration": False,
        "command": sheet.command,
        "prompts": {},
        "source": [],
        "printed": [],
        "ours": [head | {"rows": rows, "figure": drawn.to_plotly_json()}],
        "checks": [],
        "live": None,
        "cases": [],
    }


def _named(words: str, titles: Mapping[str, str]) -> str:
    """Words with the names between backticks, of methods and of commands, as the page tells them."""
    return re.sub("`([^`]*)`", lambda found: titles.get(found[1], found[1]), words)


def _speed(row: tuple[str, Any, Any]) -> float:
    return row[2]["mean"] if row[2] else 0.0


def _item(paper: Paper, item: Item, cards: Mapping[str, Card]) -> dict[str, Any]:
    result = load(paper, item) or {}
    named = {of: name for table in item.ours for name, of in table.rows}
    tables = [table | {"columns": [_column(c, named) for c in table["columns"]]} for table in result.get("tables", [])]
    names = [str(row[0]) for table in item.printed for row in table.rows]
    order = list(dict.fromkeys([*names, *(row["name"] for table in tables for row in table["rows"])]))
    checks = zip(item.checks, result.get("checks", []), strict=False)
    texts = ("id", "name", "shows", "claim", "setting", "here", "stated", "larger", "untestable", "illustration")
    return {
        **{name: getattr(item, name) for name in texts},
        "verdict": verdict_of(item, result or None),
        "command": result.get("command", f"python -m engine reproduce {paper.key}:{item.id}") if item.checks else "",
        "created": result.get("created", ""),
        "prompts": result.get("prompts", {}),
        "source": list(item.source),
        "printed": [_printed(asdict(table), order) for table in item.printed],
        "ours": [_ours(table, order) for table in tables],
        "checks": [
            {"says": c.says, "outcome": told["outcome"], "evidence": minus(evidence(c, told))} for c, told in checks
        ],
        "live": _live(item, cards),
        "cases": list(item.cases),
    }


def _column(name: str | float, named: Mapping[str, str]) -> str | float:
    """What a column is called: a method as the rows of its entry are, a measure by its words."""
    return name if isinstance(name, int | float) else named.get(name, MEASURES.get(name, TIMES.get(name, name)))


def _printed(told: dict[str, Any], order: list[str]) -> dict[str, Any]:
    rows = [(str(name), [c if isinstance(c, float | int) else None for c in cells]) for name, *cells in told["rows"]]
    drawn = figures.table(told, told["columns"], rows, order).to_plotly_json() if told["drawn"] else None
    numbers = [{"name": name, "cells": [None if c is None else f"{c:g}" for c in cells]} for name, cells in rows]
    return {**_head(told), "rows": numbers, "figure": drawn}


def _ours(told: dict[str, Any], order: list[str]) -> dict[str, Any]:
    scale = 100 if told["percent"] else 1
    if told["form"] == "points":
        shown = [(r["name"], [{"x": p["x"], "y": scaled(p["y"], scale)} for p in r["points"]]) for r in told["rows"]]
        drawn = figures.points(told, shown, order)
        columns: list[Any] = [told["x"] or "x", told["y"]]
        pairs = [(name, p["x"], p["y"]) for name, found in shown for p in found]
        across, up = form(x for _, x, _ in pairs), form(y for _, _, y in pairs)
        rows = [{"name": name, "cells": [_told(x, across), _told(y, up)]} for name, x, y in pairs]
    else:
        cells = [(r["name"], [scaled(cell, scale) for cell in r["cells"]]) for r in told["rows"]]
        drawn = figures.table(told, told["columns"], cells, order)
        columns = told["columns"]
        shape = form(cell for _, each in cells for cell in each)
        rows = [{"name": name, "cells": [_told(cell, shape) for cell in each]} for name, each in cells]
    known = any(cell is not None for row in rows for cell in row["cells"])
    return {**_head(told | {"columns": columns}), "rows": rows, "figure": drawn.to_plotly_json() if known else None}


def _head(told: Mapping[str, Any]) -> dict[str, Any]:
    columns = [f"{c:g}" if isinstance(c, float | int) else c for c in told["columns"]]
    return {"title": told["title"], "x": told["x"], "y": told["y"], "columns": columns}


def _told(cell: Mapping[str, Any] | None, shape: str) -> str | None:
    return None if cell is None else estimate(cell, shape)


def _live(item: Item, cards: Mapping[str, Card]) -> dict[str, Any] | None:
    """What the page runs: the methods on the first held-out problem of the task; None where a method is unknown, or
    nothing is to be run."""
    live, lanes = item.live, []
    if live is None:
        return None
    for method in live.methods:
        name, given = parse_method(method)
        if name not in cards:
            return None
        typed = cards[name].resolve(given)
        lanes.append({"method": name, "knobs": {knob: typed[knob] for knob in given}})
    (problem,) = load_problems(live.task, "heldout", 1)
    return {
        "models": item.pair,
        "lanes": lanes,
        "task": live.task,
        "prompt": problem.prompt,
        "answer": problem.answer if get_task(live.task).textual else "",
        "temperature": live.temperature,
        "max_new_tokens": LIVE_TOKENS,
    }
