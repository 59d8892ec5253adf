"""What is being read from disk right now: the models of a pair, one after another, or a head. For whoever shows it."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

WEIGHTS = ("*.safetensors", "*.bin", "*.json.gz")


@dataclass(frozen=True, slots=True)
class Loading:
    """One of several things that are loaded in a row."""

    what: str  # "target Qwen/Qwen3-0.6B"
    step: int  # from 1
    of: int
    size: int | None  # bytes of its weights; None where they are in no folder here
    done: int  # bytes of those before it
    began: float = field(default_factory=time.monotonic)

    @property
    def seconds(self) -> float:
        """Since it began."""
        return time.monotonic() - self.began


_now: list[Loading] = []  # what is being loaded, by this process; the last is told


def now() -> Loading | None:
    """What is being loaded; None where nothing is."""
    return _now[-1] if _now else None


@contextmanager
def loading(what: str, path: str | Path, step: int = 1, of: int = 1, done: int = 0) -> Iterator[None]:
    """Tell that this is being loaded for as long as the block takes."""
    one = Loading(what, step, of, size_of(path), done)
    _now.append(one)
    try:
        yield
    finally:
        _now.remove(one)


def size_of(path: str | Path) -> int | None:
    """Bytes of the weight files of a folder, or of a file; None where there are none."""
    at = Path(path)
    files = [at] if at.is_file() else [found for pattern in WEIGHTS for found in at.glob(pattern)]
    return sum(file.stat().st_size for file in files) or None
