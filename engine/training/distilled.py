"""Texts to train non-autoregressive systems on: sources with what the target writes for them, greedily.

Such systems learn poorly from texts with several right wordings; one wording from one author is the usual remedy
(sequence-level distillation, Kim and Rush 2016, 1606.07947).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import islice
from pathlib import Path
from random import Random

from engine.tasks import get_task, split_of
from engine.training.batches import STEPS_A_POOL, Stream, Texts, padded

FAMILY = "translation"
Pair = tuple[list[int], list[int]]  # ids of a source and of its text, each with its end


def distil(
    path: Path, n: int, seed: int, ids: Callable[[str], list[int]], write: Callable[[list[list[int]]], list[list[int]]]
) -> Iterator[int]:
    """Append what `write` makes of the training split's sources until the file has `n` lines; yields how many there
    are. A file that was begun is gone on with."""
    rng = Random(f"distilled/{seed}")
    task = get_task(FAMILY)
    problems = (p for p in iter(lambda: task.generate(rng), None) if split_of(p.key) == "train")
    path.parent.mkdir(parents=True, exist_ok=True)
    done = sum(1 for _ in path.open()) if path.exists() else 0
    next(islice(problems, done, done), None)
    while done < n:
        sources = [ids(problem.prompt) for problem in islice(problems, min(500, n - done))]
        lines = [json.dumps(pair) + "\n" for pair in zip(sources, write(sources), strict=True)]
        with path.open("a") as file:
            file.writelines(lines)
        done += len(lines)
        yield done


def read(path: Path) -> list[Pair]:
    """The pairs of a file whose text ended by itself."""
    pairs = [json.loads(line) for line in path.open()]
    return [(source, target) for source, target in pairs if target[-1] == source[-1]]


class Distilled(Stream[Texts]):
    """The pairs of a file, one batch a step; each passage is in another order."""

    def __init__(self, path: Path, rows: int, seed: int) -> None:
        """`rows`: texts a step."""
        super().__init__()
        self.pairs, self.rows, self.seed = read(path), rows, seed
        self._order = lru_cache(maxsize=2)(self._make_order)

    def _make_order(self, epoch: int) -> list[int]:
        order = list(range(len(self.pairs)))
        Random(f"epoch/{self.seed}/{epoch}").shuffle(order)
        return order

    def pool(self, number: int) -> list[list[Texts]]:
        n = self.rows * STEPS_A_POOL
        chosen: list[Pair] = []
        for i in range(number * n, (number + 1) * n):
            epoch, place = divmod(i, len(self.pairs))
            chosen.append(self.pairs[self._order(epoch)[place]])
        chosen.sort(key=lambda pair: len(pair[1]))
        chunks = [chosen[i : i + self.rows] for i in range(0, n, self.rows)]
        Random(f"pool/{self.seed}/{number}").shuffle(chunks)
        return [[Texts(padded([s for s, _ in chunk]), padded([t for _, t in chunk]))] for chunk in chunks]
