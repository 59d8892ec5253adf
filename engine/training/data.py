"""Training batches: a pure function of the seed and the step, so a run can resume anywhere."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from random import Random
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from transformers import PreTrainedTokenizerBase

from engine.tasks import Problem, get_task, split_of
from engine.tasks.problem import accent
from engine.training.drills import DRILLS

STEPS_A_POOL = 16  # steps that share one pool of problems, sorted by length to save padding
PROMPT_WEIGHT = 0.1
IGNORED = 0  # the pad id


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


@dataclass(frozen=True, slots=True)
class Batch:
    """Token ids (B, T), right-padded, and the weight of predicting each of them (B, T)."""

    ids: Tensor
    weights: Tensor

    @property
    def total(self) -> float:
        """Weight of all that is predicted."""
        return float(self.weights[:, 1:].sum())

    @property
    def tokens(self) -> int:
        """Tokens that weigh anything."""
        return int((self.weights > 0).sum())

    @property
    def size(self) -> int:
        """Places, padding included."""
        return self.ids.numel()

    def to(self, device: str) -> Batch:
        """The batch on a device."""
        return Batch(self.ids.to(device), self.weights.to(device))

    def loss(self, model: Any) -> Tensor:
        """Sum of weight times cross-entropy; causal, so right padding needs no mask."""
        with torch.autocast(self.ids.device.type, torch.bfloat16, enabled=self.ids.is_cuda):
            logits = model(input_ids=self.ids, use_cache=False).logits
        each = F.cross_entropy(logits[:, :-1].float().flatten(0, 1), self.ids[:, 1:].flatten(), reduction="none")
        return (each * self.weights[:, 1:].flatten()).sum()


_EQUATION = re.compile(r"(\d+) ([-+*/] \d+) = (\d+)")
Row = tuple[list[int], list[float]]


class Corpus:
    """The endless training stream of a seed: `corpus.batches(step)` are one step's batches."""

    def __init__(self, tokenizer: PreTrainedTokenizerBase, mix: Mix, seed: int) -> None:
        self.tokenizer, self.mix, self.seed = tokenizer, mix, seed
        self._pool = lru_cache(maxsize=1)(self._make_pool)

    def batches(self, step: int) -> list[Batch]:
        """One batch a family for this step."""
        pool, place = divmod(step, STEPS_A_POOL)
        return self._pool(pool)[place]

    def _make_pool(self, pool: int) -> list[list[Batch]]:
        steps: list[list[Batch]] = [[] for _ in range(STEPS_A_POOL)]
        for family in ("arithmetic", "functions", "sentences", "drills", "sums"):
            n: int = getattr(self.mix, family)
            if n == 0:
                continue
            rng = Random(f"pool/{self.seed}/{family}/{pool}")
            rows = sorted(islice(self._rows(family, rng), n * STEPS_A_POOL), key=lambda row: len(row[0]))
            chunks = [rows[i : i + n] for i in range(0, len(rows), n)]
            rng.shuffle(chunks)
            for step, chunk in zip(steps, chunks, strict=True):
                step.append(collate(chunk))
        return steps

    def _rows(self, family: str, rng: Random) -> Iterator[Row]:
        while True:
            if family in DRILLS:
                yield self._drill_row(DRILLS[family](rng))
                continue
            with accent(self.mix.accent):
                problem = get_task(family).generate(rng)
            if split_of(problem.key) == "train":
                yield encode(self.tokenizer, problem, self.mix)

    def _drill_row(self, parts: list[tuple[str, float]]) -> Row:
        ids, weights = list(self.tokenizer("").input_ids), [0.0]
        for text, weight in parts:
            piece = self.tokenizer(text, add_special_tokens=False).input_ids
            ids += piece
            weights += [weight if weight < 1 else self.mix.result_weight] * len(piece)
        return [*ids, self.tokenizer.eos_token_id], [*weights, 0.1]


def digest(tokenizer: PreTrainedTokenizerBase, mix: Mix, seed: int, steps: int = STEPS_A_POOL) -> str:
    """sha256 over ids and weights of the first `steps` steps: generator, tokenizer, mix and seed."""
    corpus, total = Corpus(tokenizer, mix, seed), hashlib.sha256()
    for step in range(steps):
        for batch in corpus.batches(step):
            total.update(batch.ids.numpy().tobytes())
            total.update(batch.weights.numpy().tobytes())
    return total.hexdigest()


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


def collate(rows: list[Row]) -> Batch:
    """Pad rows on the right; padding weighs nothing."""
    length = max(len(ids) for ids, _ in rows)
    ids = torch.full((len(rows), length), IGNORED)
    weights = torch.zeros(len(rows), length)
    for i, (row, row_weights) in enumerate(rows):
        ids[i, : len(row)] = torch.tensor(row)
        weights[i, : len(row)] = torch.tensor(row_weights)
    return Batch(ids, weights)
