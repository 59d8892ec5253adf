"""The repository's draft trees over HTTP, each optimised one with the tree it was chosen from. No gradio, no torch."""

import json
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from app.endpoint import ZIPPED
from app.figures import trajectories as figures
from engine.trees.template import FOLDER, Template, best_first, load_template


def routes(folder: Path = FOLDER) -> list[BaseRoute]:
    """One route: every tree."""
    return [Route("/lab/trees", partial(trees, folder), middleware=ZIPPED)]


async def trees(folder: Path, _request: Request) -> Response:
    """All trees of a folder, optimised ones with their initial tree."""
    return Response(await run_in_threadpool(_body, folder), media_type="application/json")


def _body(folder: Path) -> bytes:
    found = [{"file": path.stem, **described(load_template(path))} for path in sorted(folder.glob("*.json"))]
    return json.dumps({"trees": found, "profiles": profiles(found)}, ensure_ascii=False, separators=(",", ":")).encode()


def profiles(found: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Nodes by depth, by the file of an optimised tree: that one with its initial tree and those that were grown."""
    grown = [{"name": _title(tree), "profile": tree["profile"]} for tree in found if not tree["initial"]]
    drawn = {"": figures.profiles(grown)}
    for tree in found:
        if tree["initial"]:
            shown = [{"name": _title(tree), "profile": tree["profile"]}, *grown]
            shown.append({"name": "initial", "profile": tree["initial"]["profile"]})
            drawn[tree["file"]] = figures.profiles(shown)
    return {name: figure.to_plotly_json() for name, figure in drawn.items()}


def _title(tree: Mapping[str, Any]) -> str:
    return str(tree["file"]).replace("_", " ")


def described(tree: Template) -> dict[str, Any]:
    """A tree in JSON types. `initial` (null if it was not optimised) has parents, ranks, counts and chosen nodes."""
    return {**tree.to_json(), "initial": _initial(tree)}


def _initial(tree: Template) -> dict[str, Any] | None:
    usage = tree.card.get("usage")
    if not usage:
        return None
    grown = best_first(usage["nodes"], usage["depth"], usage["first"], usage["ratio"], usage["ranks"])
    if len(grown) != len(usage["counts"]):
        return None
    return {
        "parents": list(grown.parents),
        "ranks": list(grown.ranks),
        "profile": list(grown.profile),
        "counts": usage["counts"],
        "kept": usage["kept"],
    }
