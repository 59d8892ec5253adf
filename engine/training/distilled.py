"""Texts to train non-autoregressive systems on: sources with what the target writes for them, greedily.

Such systems learn poorly from texts with several right wordings; one wording from one author is the usual remedy
(sequence-level distillation, Kim and Rush 2016, 1606.07947).
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import islice
from pathlib import Path
from random import Random

from engine.errors import ConfigError, shown
from engine.files.documents import fits
from engine.files.written import append
from engine.tasks import get_task, split_of
from engine.tasks.rows import json_lines, mend
from engine.training.batches import STEPS_A_POOL, Stream, Texts, padded

FAMILY = "translation"
Pair = tuple[list[int], list[int]]  # ids of a source and of its text, each with its end


def distil(
    path: Path, n: int, seed: int, ids: Callable[[str], list[int]], write: Callable[[list[list[int]]], list[list[int]]]
) -> Iterator[int]:
    """Append what `write` makes of the training split's sources until the file has `n` lines; yields how many there
    are. A file that was begun is gone on with, whatever was cut off.

    Raises:
        ConfigError: the file has other sources, or a damaged line.
    """
    rng = Random(f"distilled/{seed}")
    task = get_task(FAMILY)
    problems = (p for p in iter(lambda: task.generate(rng), None) if split_of(p.key) == "train")
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists():
        mend(path)
    begun = [pair for _, pair in json_lines(path)] if path.exists() else []
    done = len(begun)
    last = deque(islice(problems, done), 1)
    if last and (not isinstance(begun[-1], list) or begun[-1][:1] != [ids(last[0].prompt)]):
        raise ConfigError(f"{path} was begun with other sources than those of seed {seed}: name another file.")
    while done < n:
        sources = [ids(problem.prompt) for problem in islice(problems, min(500, n - done))]
        lines = [json.dumps(pair) + "\n" for pair in zip(sources, write(sources), strict=True)]
        append(path, "".join(lines).encode())
        done += len(lines)
        yield done


def read(path: Path) -> list[Pair]:
    """The pairs of a file whose text ended by itself.

    Raises:
        ConfigError: no such file, a line that is no pair of ids, or no such pair at all.
    """
    pairs = list[Pair]()
    for number, pair in json_lines(path):
        if not (fits(pair, list[list[int]]) and len(pair) == 2 and all(pair)):
            raise ConfigError(f"{path}, line {number} is no source with its text: {shown(pair)}.")
        source, target = pair
        if target[-1] == source[-1]:
            pairs.append((source, target))
    if not pairs:
        raise ConfigError(f"{path} holds no text: `python -m engine.training nat-texts` writes some.")
    return pairs


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
