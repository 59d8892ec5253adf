"""Deterministic or stochastic drafting on one text: how likely is the first token accepted? (STAND, 3.2, figure 3)

The table is replayed along recorded trajectories; at each position, before it learns, both probabilities are exact:
p(argmax q) for the most probable token, and the sum of min(p, q) for one drawn from q.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from engine.config import Sampling
from engine.draft import chain
from engine.lab import Lab
from engine.lookup.distributions import DistributionTable, cut
from engine.lookup.room import contexts, free_memory
from engine.sampling import distribution

STORED, ORDERS = 10, 4


@dataclass(frozen=True, slots=True)
class Position:
    """One position where the table had an entry."""

    problem: str
    trajectory: int
    order: int
    count: int
    deterministic: float  # p(argmax q)
    stochastic: float  # sum over tokens of min(p, q)


def replay(
    lab: Lab, prompt: Sequence[int], responses: Sequence[Sequence[int]], sampling: Sampling, problem: str = ""
) -> Iterator[Position]:
    """Every position of the trajectories at which the table, fresh for this problem, knew something."""
    table = DistributionTable(ORDERS, STORED, contexts(ORDERS, STORED, free_memory()))
    for number, response in enumerate(responses):
        session = lab.target.session(len(prompt) + len(response) + 1)
        logits = session.forward(list(prompt), chain(list(response[:-1]))).logits[:, : lab.vocab]
        distributions = distribution(logits, sampling)
        text = [*prompt, *response]
        for i in range(len(response)):
            context, p_V = text[: len(prompt) + i][-ORDERS:], distributions[i]
            if found := table.find(context):
                order, known = found
                yield _measure(problem, number, order, known.count, known.distribution, p_V)
            top = p_V.topk(min(2 * STORED, len(p_V)))
            table.see(context, cut(list(zip(top.indices.tolist(), top.values.tolist(), strict=True)), STORED))


def _measure(
    problem: str, trajectory: int, order: int, count: int, q: list[tuple[int, float]], p_V: torch.Tensor
) -> Position:
    p = p_V[[token for token, _ in q]].tolist()
    both = sum(min(a, b) for a, (_, b) in zip(p, q, strict=True))
    return Position(problem, trajectory, order, count, p[0], both)


def replay_rows(
    lab: Lab, settings: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], prompts: Mapping[str, str]
) -> Iterator[Position]:
    """`replay` of each problem of a series; rows of one method."""
    sampling, chat = Sampling(settings["temperature"]), bool(settings.get("chat"))
    problems = dict.fromkeys(row["problem"] for row in rows)
    for key in problems:
        responses = [
            r["ids"] for r in sorted((r for r in rows if r["problem"] == key), key=lambda r: int(r["trajectory"]))
        ]
        with torch.inference_mode():
            asked = lab.target.tokenizer.encode(prompts[key], chat)
            yield from replay(lab, asked, [r for r in responses if r], sampling, key)
