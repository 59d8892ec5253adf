"""The shown methods several times more on the same prompt, for the spread of their numbers. No gradio, no torch."""

import time
from dataclasses import asdict, replace
from functools import partial

from pydantic import Field
from starlette.routing import BaseRoute

from app import request as requests
from app.endpoint import streamed
from app.ndjson import Lines
from app.service import Service
from app.several import AskedSeveral, Job, parse
from app.turns import ended
from engine.analysis.repeats import repeated
from engine.trace.events import RunStarted
from engine.trace.store import Trace

LEAST, MOST = 2, 20  # runs a lane
EVERY = 0.25  # seconds between messages within a run: a reader who leaves is noticed at the next


class AskedRepeats(AskedSeveral):
    """A run, several times."""

    n: int = Field(5, ge=LEAST, le=MOST, description=f"an integer from {LEAST} to {MOST}")


def routes(service: Service) -> list[BaseRoute]:
    """One route: repetitions as JSON lines."""
    return [streamed("/lab/repeat", partial(parse, AskedRepeats, service), partial(lines, service))]


def _run(ask: requests.Request, index: int) -> requests.Request:
    """The comparison of one repetition: its own seed where anything is drawn, recorded lightly."""
    seed = ask.seed if ask.sampling.greedy else (ask.seed + index) % (requests.MOST_SEED + 1)
    return replace(ask, seed=seed, record="light")


def lines(service: Service, job: Job) -> Lines:
    """The messages, as `app.wire.runs.RepeatMessage`. After each repetition the device is given back for others."""
    lanes: dict[str, list[Trace]] = {lane.key: [] for lane in job.ask.lanes}
    yield {"kind": "queued", "n": job.n}
    with service.line(job.ask.visitor) as ticket:
        for _ in service.comes(job.ask.models):
            yield {"kind": "queued", "n": job.n}
        lab = service.lab(job.ask.models)
        for index in range(job.n):
            if index:
                ticket.again()
            for spot in ticket.waits():
                yield {"kind": "queued", "n": job.n, "run": index, "line": spot}
            ask, due, rounds = _run(job.ask, index), time.monotonic(), 0
            with ended(service.turns(lab, ask)) as turns:
                for key, event in turns:
                    if isinstance(event, RunStarted):
                        lanes[key].append(Trace())
                    if len(lanes[key]) > index:  # a lane that could not start has only an end
                        lanes[key][index].append(event)
                    rounds += event.kind == "round"
                    if time.monotonic() >= due:
                        yield {"kind": "running", "run": index, "n": job.n, "rounds": rounds}
                        due = time.monotonic() + EVERY
            for runs in lanes.values():
                runs += [Trace()] * (index + 1 - len(runs))
            found = {key: asdict(one) for key, one in repeated(lanes).items()}
            yield {"kind": "repeated", "run": index, "n": job.n, "lanes": found}
