"""Which part of some work a process does, and the file of its own beside one that several processes fill together."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Shard:
    """Process `index` of `count`."""

    index: int = 0
    count: int = 1

    @classmethod
    def parse(cls, text: str) -> "Shard":
        """From "i/n", counted from 0.

        Raises:
            ValueError: it is not that.
        """
        index, _, count = text.partition("/")
        if not (index.isdecimal() and count.isdecimal() and int(index) < int(count)):
            raise ValueError(text)
        return cls(int(index), int(count))

    @classmethod
    def of_launcher(cls, environ: Mapping[str, str] = os.environ) -> "Shard":
        """As `accelerate launch` and `torchrun` tell their processes; the only one where nothing is told."""
        try:
            return cls.parse(f"{environ.get('RANK', '0')}/{environ.get('WORLD_SIZE', '1')}")
        except ValueError:
            return cls()

    @property
    def alone(self) -> bool:
        """Whether there is no other process."""
        return self.count == 1

    def takes(self, unit: int) -> bool:
        """Whether a unit is this process's."""
        return unit % self.count == self.index

    def own(self, path: Path) -> Path:
        """The file that this process appends to: the path itself, or one beside it where there are several."""
        return path if self.alone else path.with_name(f"{path.stem}.{self.index}-of-{self.count}{path.suffix}")


def parts(path: Path) -> list[Path]:
    """The file and those of processes beside it, as far as they are there."""
    own = re.compile(re.escape(path.stem) + r"\.\d+-of-\d+" + re.escape(path.suffix))
    beside = sorted(one for one in path.parent.iterdir() if own.fullmatch(one.name)) if path.parent.is_dir() else []
    return [one for one in (path, *beside) if one.is_file()]


MAIN = Shard()
