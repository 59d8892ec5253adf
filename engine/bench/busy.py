"""The same contenders alone and beside another process that never waits: what a busy machine costs."""

import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from time import sleep

from engine.bench.contest import Contender, Spread, contest


@contextmanager
def busy() -> Iterator[None]:
    """One other process that computes without pause."""
    other = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        sleep(0.2)  # until it is at it
        yield
    finally:
        other.kill()
        other.wait()


def beside(
    contenders: Mapping[str, Contender], prompts: Sequence[Sequence[int]], repetitions: int
) -> dict[str, Spread]:
    """Per contender its tokens per second beside a busy process over those alone, repetition by repetition in turns."""
    shares: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(repetitions):
        alone = contest(dict(contenders), prompts, 1)
        with busy():
            crowded = contest(dict(contenders), prompts, 1)
        for name, found in shares.items():
            found.append(crowded.speed(name).median / alone.speed(name).median)
    return {name: Spread.of(found) for name, found in shares.items()}
