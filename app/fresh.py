"""What the embedded models were trained on, and fresh problems of each kind. No gradio, no torch."""

import re
import secrets
from collections.abc import Iterable
from functools import cache
from itertools import islice

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from app.answers import Json, refused
from app.wire.catalogue import Kind, Problem
from engine.errors import ConfigError, LabError
from engine.files.presets import Family, list_presets
from engine.tasks import FAMILIES, JUDGED, SOURCED, get_task, stream

OWN = "assets/"  # models in this repository
MOST_SEED = 2**31 - 1
WORD, QUOTED = re.compile(r"[^\W\d_]+"), re.compile(r"""'[^'\n]*'|"[^"\n]*\"""")
STEADY, MOST = 1000, 6000  # problems without a new word after which all are known, and problems read at most


def routes() -> list[BaseRoute]:
    """One route: a problem that no model was trained on."""
    return [Route("/lab/problem", problem)]


def taught(models: Iterable[str]) -> list[str]:
    """Those of the loadable models that were trained on these kinds of problem: the pairs in this repository."""
    own = {pair.name for pair in list_presets() if pair.kind == "pair" and pair.models["target"].startswith(OWN)}
    return [name for name in models if name in own]


def words_in(prompt: str) -> set[str]:
    """The words of a prompt, in small letters, but for what stands in quotes; the page's `wordsIn` finds the same."""
    return set(WORD.findall(QUOTED.sub("", prompt.lower())))


@cache
def words(family: str) -> list[str]:
    """The words of a family's prompts: of a prompt with others the embedded models know nothing."""
    found, last = set[str](), 0
    for number, one in enumerate(islice(stream(family, "train", 0), MOST)):
        new = words_in(one.prompt) - found
        found |= new
        last = number if new else last
        if number - last >= STEADY:
            break
    return sorted(found)


def kinds() -> list[Kind]:
    """What each family of models learns, in words, and how its prompts begin and end, which tells another prompt."""
    known: dict[Family, tuple[str, ...]] = {"decoder-only": FAMILIES, "encoder-decoder": SOURCED}
    return [
        {
            "task": task.family,
            "about": task.about,
            "opening": task.opening,
            "cue": task.cue,
            "family": family,
            "judged": task.family in JUDGED,
            "words": words(task.family),
        }
        for family, names in known.items()
        for task in map(get_task, names)
    ]


async def problem(request: Request) -> Response:
    """A held-out problem of a family; the same seed gives the same problem, without one it is drawn."""
    try:
        seed = _seed(request.query_params.get("seed", ""))
        body = await run_in_threadpool(drawn, request.query_params.get("task", ""), seed)
    except LabError as error:
        return refused(error)
    return Json(body)


def drawn(family: str, seed: int) -> Problem:
    """A held-out problem: prompt, seed, and the reference answer where texts can be compared (else an empty one).

    Raises:
        ConfigError: an unknown family.
    """
    task = get_task(family)
    (found,) = islice(stream(family, "heldout", seed), 1)
    return {
        "task": family,
        "seed": seed,
        "prompt": found.prompt,
        "answer": found.answer if task.textual else "",
    }


def _seed(given: str) -> int:
    if not given:
        return secrets.randbelow(MOST_SEED)
    digits = given.lstrip("0") or "0"
    if not given.isascii() or not given.isdigit() or len(digits) > 10 or int(digits) > MOST_SEED:
        raise ConfigError(f"seed must be an integer from 0 to {MOST_SEED}, got {given[:40]!r}.")
    return int(digits)
