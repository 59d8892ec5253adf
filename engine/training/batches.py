"""What a training step reads: ids padded with 0 on the right, and endless streams of such batches.

What a stream holds is a pure function of its settings and the step, so a run can resume anywhere.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from itertools import islice
from random import Random
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

import torch
import torch.nn.functional as F
from torch import Tensor
from transformers import PreTrainedTokenizerBase

from engine.errors import ConfigError
from engine.tasks import Problem, get_task, split_of
from engine.tasks.problem import accent

STEPS_A_POOL = 16  # steps that share one pool of rows, sorted by length to save padding


def padded(rows: Sequence[Sequence[float]], dtype: torch.dtype = torch.long) -> Tensor:
    """Ids, or weights of another dtype [B, longest], padded with 0 on the right."""
    made = torch.zeros(len(rows), max(map(len, rows)), dtype=dtype)
    for i, row in enumerate(rows):
        made[i, : len(row)] = torch.tensor(row)
    return made


@dataclass(frozen=True, slots=True)
class Batch(ABC):
    """Rows of a step that are read together. Its fields are tensors, as its stream's digest takes them."""

    @property
    @abstractmethod
    def total(self) -> float:
        """Weight of all that is predicted."""

    @property
    @abstractmethod
    def tokens(self) -> int:
        """Tokens that are learnt from."""

    @property
    @abstractmethod
    def size(self) -> int:
        """Places, padding included."""

    @abstractmethod
    def loss(self, model: Any) -> Tensor:
        """Sum of the losses of all that is predicted."""

    def tensors(self) -> list[Tensor]:
        """All fields."""
        return [getattr(self, field.name) for field in fields(self)]

    def to(self, device: str) -> Self:
        """The batch on a device."""
        return type(self)(*(x.to(device) for x in self.tensors()))


@dataclass(frozen=True, slots=True)
class Lines(Batch):
    """Token ids (B, T) of prompts with their solutions, and the weight of predicting each of them (B, T)."""

    ids: Tensor
    weights: Tensor

    @property
    def total(self) -> float:
        return float(self.weights[:, 1:].sum())

    @property
    def tokens(self) -> int:
        return int((self.weights > 0).sum())

    @property
    def size(self) -> int:
        return self.ids.numel()

    def loss(self, model: Any) -> Tensor:
        """Sum of weight times cross-entropy; causal, so right padding needs no mask."""
        with torch.autocast(self.ids.device.type, torch.bfloat16, enabled=self.ids.is_cuda):
            logits = model(input_ids=self.ids, use_cache=False).logits
        return _weighed(logits[:, :-1], self.ids[:, 1:], self.weights[:, 1:])


class Sourced(Batch):
    """Sources (B, Z), and the texts (B, T) to be written for them."""

    __slots__ = ()
    source: Tensor
    target: Tensor

    @property
    def tokens(self) -> int:
        """Tokens read and written."""
        return int((self.source > 0).sum() + (self.target > 0).sum())

    @property
    def size(self) -> int:
        return self.source.numel() + self.target.numel()


@dataclass(frozen=True, slots=True)
class Texts(Sourced):
    """For systems that know their own loss."""

    source: Tensor
    target: Tensor

    @property
    def total(self) -> float:
        """Tokens to be written."""
        return float((self.target > 0).sum())

    def loss(self, model: Any) -> Tensor:
        """What the system wants made small."""
        given: Tensor = model.loss(self.source, self.target)
        return given


@dataclass(frozen=True, slots=True)
class Pairs(Sourced):
    """With what a decoder reads while it writes (B, T), and the weight of each token (B, T) that is written."""

    source: Tensor
    read: Tensor
    target: Tensor
    weights: Tensor

    @property
    def total(self) -> float:
        return float(self.weights.sum())

    def loss(self, model: Any) -> Tensor:
        """Sum of weight times cross-entropy. The decoder is causal, so its padding needs no mask."""
        with torch.autocast(self.source.device.type, torch.bfloat16, enabled=self.source.is_cuda):
            logits = model(
                input_ids=self.source,
                attention_mask=(self.source > 0).long(),
                decoder_input_ids=self.read,
                use_cache=False,
            ).logits
        return _weighed(logits, self.target, self.weights)


def _weighed(logits_BTV: Tensor, goal_BT: Tensor, weights_BT: Tensor) -> Tensor:
    each = F.cross_entropy(logits_BTV.float().flatten(0, 1), goal_BT.flatten(), reduction="none")
    return (each * weights_BT.flatten()).sum()


B = TypeVar("B", bound=Batch)
Row = TypeVar("Row", bound="tuple[Any, ...]")


class Stream(ABC, Generic[B]):
    """An endless training stream: `batches(step)` are one step's batches."""

    def __init__(self) -> None:
        self._pool = lru_cache(maxsize=1)(self.pool)

    @abstractmethod
    def pool(self, number: int) -> list[list[B]]:
        """The batches of each of `STEPS_A_POOL` steps."""

    def batches(self, step: int) -> list[B]:
        """The batches of this step."""
        pool, place = divmod(step, STEPS_A_POOL)
        return self._pool(pool)[place]

    def digest(self) -> str:
        """sha256 over all ids and weights of the first steps."""
        total = hashlib.sha256()
        for step in range(STEPS_A_POOL):
            for batch in self.batches(step):
                for x in batch.tensors():
                    total.update(x.numpy().tobytes())
        return total.hexdigest()


class FamilyMix(Protocol):
    """What a step holds: a field for each family, with its number of rows."""

    @property
    def accent(self) -> int:
        """How far the preferred wordings are rotated."""


class ProblemStream(Stream[B], Generic[Row, B]):
    """Problems of the training split, one batch a family and step. The first item of a row is the one whose length
    counts."""

    FAMILIES: ClassVar[tuple[str, ...]]

    def __init__(self, tokenizer: PreTrainedTokenizerBase, mix: FamilyMix, seed: int) -> None:
        """The stream of a mix.

        Raises:
            ConfigError: it holds nothing.
        """
        super().__init__()
        if not any(getattr(mix, family) for family in self.FAMILIES):
            raise ConfigError(f"A step of this mix holds nothing: give some of {', '.join(self.FAMILIES)}.")
        self.tokenizer, self.seed, self._mix = tokenizer, seed, mix

    @abstractmethod
    def row(self, problem: Problem, rng: Random) -> Row:
        """A problem's row."""

    @abstractmethod
    def collate(self, rows: list[Row]) -> B:
        """Rows as a batch; padding weighs nothing."""

    def rows(self, family: str, rng: Random) -> Iterator[Row]:
        """A family's rows, without end."""
        while True:
            with accent(self._mix.accent):
                problem = get_task(family).generate(rng)
            if split_of(problem.key) == "train":
                yield self.row(problem, rng)

    def pool(self, number: int) -> list[list[B]]:
        steps: list[list[B]] = [[] for _ in range(STEPS_A_POOL)]
        for family in self.FAMILIES:
            n: int = getattr(self._mix, family)
            if n == 0:
                continue
            rng = Random(f"pool/{self.seed}/{family}/{number}")
            rows = sorted(islice(self.rows(family, rng), n * STEPS_A_POOL), key=lambda row: len(row[0]))
            chunks = [rows[i : i + n] for i in range(0, len(rows), n)]
            rng.shuffle(chunks)
            for step, chunk in zip(steps, chunks, strict=True):
                step.append(self.collate(chunk))
        return steps
