"""Draft trees, each with what it was chosen from. See `app.wire`."""

from typing import Any, NotRequired, TypedDict

from app.wire.figures import Plot
from engine.config import KnobValue


class InitialTree(TypedDict):
    """The tree that another was chosen from: rounds in which each node was accepted, and the nodes that stay."""

    parents: list[int]
    ranks: list[int]
    profile: list[int]  # nodes at each depth
    counts: list[int]
    kept: list[int]


class TreeSettings(TypedDict):
    """How a tree was counted."""

    target: str
    prompts: str
    method: str
    knobs: dict[str, KnobValue]
    n: int
    temperature: float
    max_new_tokens: int
    seed: int
    nodes: int
    tree: str


class TreeCalibration(TypedDict):
    """On which problems."""

    task: str | None
    prompts: int
    sha256: str
    each: list[str]


class DraftTree(TypedDict):
    """A draft tree: its card, node by node parent and rank, and the tree that it was chosen from (null when grown)."""

    file: str
    name: str
    title: str
    made_by: str
    note: NotRequired[str]
    made: dict[str, float]
    settings: NotRequired[TreeSettings]
    calibration: NotRequired[TreeCalibration]
    usage: NotRequired[dict[str, Any]]
    rounds: NotRequired[int]
    accepted_a_round: NotRequired[float]
    kind: str
    nodes: int
    depth: int
    profile: list[int]
    parents: list[int]
    ranks: list[int]
    initial: InitialTree | None


class Trees(TypedDict):
    """All draft trees, and figures of nodes by depth by the file of an optimised tree: GET /lab/trees."""

    trees: list[DraftTree]
    profiles: dict[str, Plot]
