"""Any drafter, any shape, any rule: which fit, what the result promises, and its knobs. No gradio."""

from collections.abc import Mapping
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from app.answers import Json, refused
from app.knobs import card_json, fitted
from app.service import Service
from engine.drafters import DRAFTERS
from engine.errors import ConfigError, LabError
from engine.methods.compose import compose, parts, titled
from engine.rules import RULES
from engine.shapes import SHAPES


def routes(service: Service) -> list[BaseRoute]:
    """One route: what three choices give."""

    async def composed(request: Request) -> Response:
        query = request.query_params
        drafter, shape, rule, models = (query.get(name, "") for name in ("drafter", "shape", "rule", "models"))
        try:
            body = await run_in_threadpool(described, service, drafter, shape, rule, models)
        except LabError as error:
            return refused(error)
        return Json(body)

    return [Route("/lab/compose", composed)]


def described(service: Service, drafter: str, shape: str, rule: str, models: str = "") -> dict[str, Any]:
    """The three menus, each entry with what speaks against it beside the other two, and the card where all fit.

    Raises:
        ConfigError: a name that no part has.
    """
    chosen = {"drafter": drafter, "shape": shape, "rule": rule}
    known: dict[str, Mapping[str, type[Any]]] = {"drafter": DRAFTERS, "shape": SHAPES, "rule": RULES}
    menus = {
        part: [
            {"name": name, "title": titled(one), "against": against(**{**chosen, part: name})}
            for name, one in known[part].items()
        ]
        for part in known
    }
    title = titled(DRAFTERS[drafter], SHAPES[shape], RULES[rule])
    reason = against(drafter, shape, rule)
    if reason:
        return {"menus": menus, "title": title, "reason": reason, "card": None}
    card = fitted(compose(drafter=drafter, shape=shape, rule=rule), models or service.first)
    told = card_json(card, service.hindrance(card, models), service.otherwise(card, models))
    return {"menus": menus, "title": title, "reason": "", "card": told}


def against(drafter: str, shape: str, rule: str) -> str:
    """Why the three parts do not fit, which are called as in the menus; empty when they do.

    Raises:
        ConfigError: a name that no part has.
    """
    for names, name in ((DRAFTERS, drafter), (SHAPES, shape), (RULES, rule)):
        if name not in names:
            parts(drafter, shape, rule)  # says which, and the nearest right one
    try:
        parts(drafter, shape, rule, titled)
    except ConfigError as error:
        return str(error)
    return ""
