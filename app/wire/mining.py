"""Mined sets that are recorded. See `app.wire`."""

from typing import TypedDict


class MinedAbout(TypedDict):
    """A recorded mined set in the list."""

    name: str
    task: str
    naive: bool
    prompts: int
    command: str


class MinedList(TypedDict):
    """The recorded mined sets: GET /lab/mined."""

    sets: list[MinedAbout]
