"""A comparison asked for several times over, by repetitions and by trajectories. No gradio, no torch."""

from dataclasses import dataclass

from app import request as requests
from app.service import Service
from app.validate import checked


class AskedSeveral(requests.AskedRun):
    """A run, several times; who asks so says how often at least and at most."""

    n: int


@dataclass(frozen=True)
class Job:
    """What a page asks for: methods and sampling as for a run, and how often each."""

    ask: requests.Request
    n: int


def parse(kind: type[AskedSeveral], service: Service, given: object, address: str = "") -> Job:
    """The job in plain values; `address` is where it comes from.

    Raises:
        ConfigError: something is missing, unknown or out of range.
    """
    asked = checked(kind, given)
    return Job(requests.resolved(asked, service.cards, service.models, service.limits, address), asked.n)
