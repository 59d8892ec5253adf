"""Another text: a run that goes on from a forced beginning, "what if it had written this". No gradio, no torch."""

import time
from dataclasses import replace
from functools import partial

from pydantic import Field
from starlette.routing import BaseRoute

from app import request as requests
from app.endpoint import streamed
from app.ndjson import Lines
from app.recorded import Narrator, Sentence
from app.service import EVERY, Service
from app.turns import ended
from app.validate import checked
from engine.errors import ConfigError

MOST_IDS = 20_000  # tokens of a prompt and of a beginning
IDS = f"a list of 1 to {MOST_IDS} token ids"
MAX_BODY = 400_000


class AskedContinuation(requests.AskedRun):
    """A run of one method. Its tokens are given: nothing is read anew from text, nor through a chat template."""

    prompt_ids: list[int] = Field(
        min_length=1,
        max_length=MOST_IDS,
        description=f"a list of 1 to {MOST_IDS} token ids, as a trace's head has them",
    )
    forced: list[int] = Field(
        min_length=1,
        max_length=MOST_IDS,
        description=f"a list of 1 to {MOST_IDS} token ids that the response begins with",
    )


def routes(service: Service, sentence: Sentence | None) -> list[BaseRoute]:
    """One route: a lane as JSON lines."""
    return [streamed("/lab/continue", partial(parse, service), partial(lines, service, sentence), MAX_BODY)]


def parse(service: Service, given: object, address: str = "") -> requests.Request:
    """The request in plain values; `address` is where it comes from. The seed that is given is that of the run
    which is continued; what is drawn behind it has another.

    Raises:
        ConfigError: something is missing, unknown or out of range; or several methods.
    """
    asked = checked(AskedContinuation, given)
    ask = requests.resolved(asked, service.cards, service.models, service.limits, address)
    if len(ask.lanes) != 1:
        raise ConfigError(f"lanes must name one method, not {len(ask.lanes)}: one text is continued at a time.")
    if ask.chat:
        raise ConfigError("chat must be false: the ids of the prompt already hold the chat template.")
    return replace(ask, seed=_seed(ask, asked), prompt_ids=tuple(asked.prompt_ids), forced=tuple(asked.forced))


def _seed(ask: requests.Request, asked: AskedContinuation) -> int:
    """Another one than drew the beginning, where anything is drawn. A beginning is longer than the one that it goes on
    from, so that its seed is none of those that drew a part of it."""
    return ask.seed if ask.sampling.greedy else (ask.seed + len(asked.forced)) % (requests.MOST_SEED + 1)


def lines(service: Service, sentence: Sentence | None, ask: requests.Request) -> Lines:
    """The messages of a run, as `app.wire.runs.ContinueMessage`: the lane, then its events as they come."""
    yield {"kind": "queued"}
    narrator = Narrator(sentence)
    with service.line(ask.visitor) as ticket:
        for _ in service.comes(ask.models):
            yield {"kind": "queued"}
        lab = service.lab(ask.models)
        for spot in ticket.waits():
            yield {"kind": "queued", "line": spot}
        yield {"kind": "begin", "card": ask.lanes[0].card.to_json()}
        events, due = [], time.monotonic()
        with ended(service.turns(lab, ask)) as turns:
            for _key, event in turns:
                events.append(narrator.message(event))
                if time.monotonic() >= due:
                    yield {"kind": "events", "events": events}
                    events, due = [], time.monotonic() + EVERY
        yield {"kind": "events", "events": events}
