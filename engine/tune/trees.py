"""Which nodes of a large tree earn their place? Count how often each lies on the accepted path, keep the best, compact.

STAND, section 4.2 and App. A.1; docs/methods/stand.md, register S5, S6, S13.
"""

import hashlib
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from engine.draft import Draft
from engine.errors import ConfigError
from engine.lab import Lab
from engine.methods import CARDS, get_card
from engine.parts import Outcome
from engine.runs.running import prepare
from engine.trace.store import sound
from engine.trees.template import Template, prefix_closed
from engine.tune.series import watch

COPIES = (
    "sam_recycle",
)  # drafters that fill the template in some rounds only; other drafts would be counted as its nodes


class Usage:
    """How often each node of a template was accepted."""

    def __init__(self, tree: Template) -> None:
        self.tree = tree
        self.counts = [0] * len(tree)
        self.rounds = 0

    def see(self, draft: Draft, path: Sequence[int]) -> None:
        """Count the template's nodes on an accepted path. A draft's j-th child fills the template's j-th child."""
        at, above = -1, -1
        self.rounds += 1
        for node in path:
            at = self.tree.kids[at + 1][draft.kids[above + 1].index(node)]
            above = node
            self.counts[at] += 1

    def kept(self, nodes: int) -> list[int]:
        """The most used nodes (ties: shallower, then earlier). Prefix-closed because counts only fall along a path."""
        order = sorted(range(len(self.tree)), key=lambda i: (-self.counts[i], self.tree.depths[i], i))
        kept = sorted(order[:nodes])
        if not prefix_closed(self.tree.parents, kept):
            raise AssertionError("counts rise along a path: the tree was counted wrongly")
        return kept

    def best(self, nodes: int) -> Template:
        """The kept nodes as a tree, compacted."""
        return self.tree.keep(self.kept(nodes)).compact()


def count_usage(
    lab: Lab,
    method: str,
    prompts: Sequence[str],
    n: int,
    usage: Usage,
    *,
    temperature: float = 0.6,
    max_new_tokens: int = 256,
    seed: int = 0,
    minutes: float = 0.0,
    start: int = 0,
    **knobs: Any,
) -> Iterator[int]:
    """Draw n trajectories of each prompt with the large tree; yields the number of each finished prompt.

    Raises:
        EngineFault: a run failed.
    """
    deadline = time.monotonic() + 60 * minutes if minutes else float("inf")
    for number, prompt in enumerate(prompts):
        if number < start:
            continue
        if time.monotonic() > deadline:
            return
        living = prepare(lab, method, **knobs)
        living.shape.tree = usage.tree

        def seen(outcome: Outcome) -> None:
            usage.see(outcome.draft, outcome.verdict.path)

        watch(living, seen)
        traces = lab.trajectories(
            method,
            prompt,
            n,
            temperature=temperature,
            max_new_tokens=max_new_tokens,
            seed=seed + number,
            keep=living,
            **knobs,
        )
        for trace in traces:
            sound(trace, method)
        yield number


def require_countable(method: str) -> None:
    """Nothing when every draft of a method fills a static tree.

    Raises:
        ConfigError: it does not, and which methods do.
    """
    able = [card.name for card in CARDS if card.shape == "static_tree" and card.drafter not in COPIES]
    if get_card(method).name not in able:
        raise ConfigError(
            f"The drafts of {method!r} do not all fill a static tree. A tree is optimised for: {', '.join(able)}."
        )


def tree_mark(tree: Template) -> str:
    """Sixteen hexadecimal digits that name the shape of a tree."""
    return hashlib.sha256(json.dumps([tree.parents, tree.ranks]).encode()).hexdigest()[:16]


def prompts_mark(prompts: Sequence[str]) -> str:
    """Sixteen hexadecimal digits that name a set of prompts; a tree is never judged on what it was made from (S13)."""
    return hashlib.sha256("\0".join(prompts).encode()).hexdigest()[:16]


def with_card(tree: Template, **card: Any) -> Template:
    """The tree with these fields in its card."""
    return replace(tree, card={**tree.card, **card})


def prompt_marks(prompts: Sequence[str]) -> list[str]:
    """Twelve hexadecimal digits for each prompt, so that one that is met again is known."""
    return [hashlib.sha256(prompt.encode()).hexdigest()[:12] for prompt in prompts]


def met_again(tree: Template, prompts: Sequence[str]) -> int:
    """How many of these prompts a tree was optimised on (S13); 0 for one that was grown, or whose file names none."""
    calibration = tree.card.get("calibration")
    each = calibration.get("each", ()) if isinstance(calibration, dict) else ()
    return len(set(each) & set(prompt_marks(prompts))) if isinstance(each, list) else 0
