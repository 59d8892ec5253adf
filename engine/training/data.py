"""What the decoder-only models learn from: problems with their solutions, and drills."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

import torch
from transformers import PreTrainedTokenizerBase

from engine.tasks import Problem
from engine.training.batches import Lines, ProblemStream, padded
from engine.training.drills import DRILLS

PROMPT_WEIGHT = 0.1


@dataclass(frozen=True, slots=True)
class Mix:
    """How many problems of each family, and how many drills and sums, one step holds; and what tokens weigh.

    `choice_weight` is the loss weight of a free choice, which is soon learnt and then only noise;
    `result_weight` that of the result of an equation, `operand_weight` that of what it starts from, which
    must be found in the story. Other tokens of a solution weigh 1. `accent` rotates the preferred wordings.
    """

    arithmetic: int = 14
    functions: int = 4
    sentences: int = 8
    drills: int = 8
    sums: int = 0
    choice_weight: float = 1.0
    result_weight: float = 1.0
    operand_weight: float = 1.0
    accent: int = 0


_EQUATION = re.compile(r"(\d+) ([-+*/] \d+) = (\d+)")
Row = tuple[list[int], list[float]]


class Corpus(ProblemStream[Row, Lines]):
    """Problems of the decoder-only families, drills and sums."""

    FAMILIES = ("arithmetic", "functions", "sentences", "drills", "sums")

    def __init__(self, tokenizer: PreTrainedTokenizerBase, mix: Mix, seed: int) -> None:
        super().__init__(tokenizer, mix, seed)
        self.mix = mix

    def rows(self, family: str, rng: Random) -> Iterator[Row]:
        if family not in DRILLS:
            yield from super().rows(family, rng)
        while True:
            yield self._drill_row(DRILLS[family](rng))

    def row(self, problem: Problem, rng: Random) -> Row:
        return encode(self.tokenizer, problem, self.mix)

    def collate(self, rows: list[Row]) -> Lines:
        return Lines(padded([ids for ids, _ in rows]), padded([weights for _, weights in rows], torch.float))

    def _drill_row(self, parts: list[tuple[str, float]]) -> Row:
        ids, weights = list(self.tokenizer("").input_ids), [0.0]
        for text, weight in parts:
            piece = self.tokenizer(text, add_special_tokens=False).input_ids
            ids += piece
            weights += [weight if weight < 1 else self.mix.result_weight] * len(piece)
        return [*ids, self.tokenizer.eos_token_id], [*weights, 0.1]


def encode(tokenizer: PreTrainedTokenizerBase, problem: Problem, mix: Mix) -> Row:
    """Ids and weights of one problem: bos, prompt, solution, eos."""
    prompt: list[int] = tokenizer(problem.prompt).input_ids
    solution = tokenizer(problem.solution, add_special_tokens=False, return_offsets_mapping=True)
    spans = [(a, b, mix.choice_weight) for a, b in problem.choices]
    for found in _EQUATION.finditer(problem.solution):
        spans += [(*found.span(group), mix.operand_weight) for group in (1, 2)] + [(*found.span(3), mix.result_weight)]
    weights = [PROMPT_WEIGHT] * len(prompt)
    for start, end in solution.offset_mapping:
        weights.append(next((w for a, b, w in spans if start < b and a < end), 1.0))
    return [*prompt, *solution.input_ids, tokenizer.eos_token_id], [*weights, 1.0]
