"""Shared by the tests of the model-free drafters: drafts outside a run, and every draft that STAND can draw."""

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import permutations
from typing import Any, cast

from engine.config import Sampling
from engine.draft import Draft
from engine.drafters.stand import Pen, Stand
from engine.lookup.distributions import MeanDistribution
from engine.methods import get_card
from engine.methods.compose import build
from engine.model import Session
from engine.parts import Context
from engine.runs.running import prepare
from engine.streams import Streams
from engine.trees.template import Template
from tests.engine.toy import toy_lab

NAMES = ("pld", "anpd", "sam", "suffix", "recycle", "sam_recycle", "stand")
SAMPLED = Sampling(temperature=1.0)


def context(
    tokens: Sequence[int],
    prompt: int = 1,
    room: int = 50,
    space: int = 500,
    sampling: Sampling = SAMPLED,
    seed: int = 0,
) -> Context:
    """A round that starts after these tokens."""
    return Context(
        tokens=list(tokens),
        prompt=prompt,
        room=room,
        space=space,
        sampling=sampling,
        streams=Streams(seed),
        target=cast(Session, None),  # a lookup asks nothing of the target
        last=None,
    )


def drafter(name: str, text: Sequence[int], V: int = 64, **knobs: Any) -> tuple[Any, Any]:
    """Drafter and shape of a method that has read `text` as a prompt."""
    method = prepare(toy_lab(2, draft=None), name, **knobs)
    method.drafter.begin(list(text))
    return method.drafter, method.shape


def grow(drafter: Any, tokens: Sequence[int]) -> None:
    """What the history-keeping drafters do after a round that ended with `tokens` (no distributions are shown)."""
    from types import SimpleNamespace

    drafter.observe(SimpleNamespace(tokens=list(tokens)))


class _More(Exception):
    pass


def stand_drafts(
    stand: Stand, tree: Template, at: Context, shared: bool = False, visit: Callable[[list[int]], list[int]] = list
) -> Iterator[tuple[Draft, float]]:
    """Every draft that STAND draws, with its probability. `shared` reuses the first node's noise everywhere (a mutant);
    `visit` reorders siblings (a mutant)."""

    def attempt(plan: list[tuple[int, ...]]) -> "tuple[Draft, float] | tuple[list[tuple[int, float]], int]":
        seen: list[Any] = []
        weight = 1.0

        def draws(mean: MeanDistribution, m: int) -> list[int]:
            nonlocal weight
            entries = mean.distribution
            step = 0 if shared else len(seen)
            if step >= len(plan):
                seen[:] = [entries, min(m, len(entries))]
                raise _More
            order = [i for i in plan[step] if i < len(entries)][:m] if shared else list(plan[step])
            if not (shared and seen):
                left = 1.0
                for i in order:
                    weight *= entries[i][1] / left
                    left -= entries[i][1]
            seen.append(0)
            return visit(order)

        try:
            return Pen(stand, at, draws, True).draft(tree), weight
        except _More:
            return seen[0], seen[1]

    def search(plan: list[tuple[int, ...]]) -> Iterator[tuple[Draft, float]]:
        found = attempt(plan)
        if isinstance(found[0], Draft):
            yield found[0], float(found[1])
            return
        entries, m = found
        for order in permutations(range(len(entries)), int(m)):
            yield from search([*plan, order])

    yield from search([])


__all__ = ["NAMES", "SAMPLED", "build", "context", "drafter", "get_card", "grow", "math", "stand_drafts"]
