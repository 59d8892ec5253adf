"""Toy pairs whose responses are written by hand: a table of one-step rules, run by the real sessions."""

from collections.abc import Mapping

import torch
from torch import Tensor

from engine.judge.continuation import DraftView, LocalTarget
from engine.judge.criterion import SameAnswer
from engine.judge.gumbel import Chooser
from engine.judge.search import Prompt, Search
from engine.model import Model
from engine.tasks.problem import Problem
from tests.engine.toy import toy_model, toy_table

STOP = 7  # "h"


def rules(steps: Mapping[str, str], V: int = 8) -> Tensor:
    """Logits of a model that follows `steps`: "a" -> "b", or "ab" -> "c" where the token before matters; else stops."""
    table = torch.zeros(2, V + 1, V, V, dtype=torch.float64)
    table[..., STOP] = 1.0
    for key in sorted(steps, key=len):
        at = ord(key[-1]) - 97
        before = slice(None) if len(key) == 1 else ord(key[0]) - 97
        table[:, before, at] = 0.0
        table[:, before, at, ord(steps[key]) - 97] = 5.0
    return table


def models(target: Tensor, draft: Tensor) -> tuple[Model, Model]:
    return toy_model(target, "target", [STOP]), toy_model(draft, "draft", [STOP])


def search(target: Model, draft: Model, extract, limit: int = 20, chooser: Chooser | None = None, **options) -> Search:
    """A search over a toy pair whose answers are compared as text."""
    chooser = chooser or Chooser()
    same = SameAnswer(extract, lambda a, b: a == b)
    return Search(
        LocalTarget(target, 64, chooser), DraftView(draft, 64, chooser), same, target.tokenizer, limit, **options
    )


def prompt(text: str = "a", name: str = "p0") -> Prompt:
    return Prompt(name, Problem("toy", name, text, "", ""), [ord(c) - 97 for c in text])


def random_pair(seed: int, V: int = 8) -> tuple[Model, Model]:
    """Two random tables that agree often; the last letter ends a text."""
    target = toy_table(V, seed)
    return models(target, toy_table(V, seed + 1000, near=target))


def planted_search(criterion) -> tuple[Search, Prompt]:
    """Two swaps on the way: g for c, then f for e; judged by the given criterion."""
    target = rules({"a": "b", "b": "c", "c": "d", "d": "e", "g": "d"})
    draft = rules({"a": "b", "b": "g", "c": "d", "d": "f", "g": "d"})
    t, d = models(target, draft)
    return Search(LocalTarget(t, 64, Chooser()), DraftView(d, 64, Chooser()), criterion, t.tokenizer, 20), prompt()
