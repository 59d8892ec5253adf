"""What the commands share: the options of a run of training and what they mean, and lines that are told at once."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

from engine.errors import ConfigError, unknown
from engine.files.places import locate, there
from engine.kinds import ABOVE, COUNT, LEAST, SIZE
from engine.training.trainer import Settings

Mix = TypeVar("Mix")
ASSETS = Path("assets/tiny")  # the embedded pair and what was made for it


def add_budget(parser: argparse.ArgumentParser, seed: str) -> None:
    """How long and how fast a model is trained; `seed` says of what."""
    parser.add_argument("--minutes", type=ABOVE, default=5.0, help="wall-clock budget, minutes")
    parser.add_argument("--steps", type=COUNT, help="budget in steps, instead of minutes")
    parser.add_argument("--seed", type=int, default=0, help=seed)
    parser.add_argument("--matrix-lr", type=ABOVE, default=0.02, help="peak learning rate of Muon")


def settings_of(shape: str, options: argparse.Namespace, mix: object) -> Settings:
    """The settings that the options of `add_budget` ask for."""
    return Settings(shape, options.minutes, options.steps, options.seed, options.matrix_lr, mix=mix)


def parse_mix(words: list[str], kind: type[Mix]) -> Mix:
    """A mix of a dataclass from words like `drills=16`; what is not named keeps its default.

    Raises:
        ConfigError: no such name, or no number >= 0.
    """
    kinds = get_type_hints(kind)
    values: dict[str, Any] = {}
    for word in words:
        name, _, value = word.partition("=")
        if name not in kinds:
            raise ConfigError(unknown("part of a mix", name, kinds))
        wanted = SIZE if kinds[name] is int else LEAST
        try:
            values[name] = wanted(value)
        except argparse.ArgumentTypeError as error:
            raise ConfigError(f"--mix {word}: {name} {error}.") from None
    return kind(**values)


def here(folder: Path) -> Path:
    """A folder as it is named; one that is not there is that of this repository, wherever the command is given."""
    return folder if there(folder) else Path(locate(str(folder)))


def folders_told(options: argparse.Namespace) -> str:
    """The pair of `--target` and `--draft` as options, each where it is not the embedded one's."""
    given = {name: Path(getattr(options, name)) for name in ("target", "draft")}
    return "".join(f" --{name} {folder}" for name, folder in given.items() if folder != ASSETS / name)


def say_where(**places: Path) -> None:
    """Write on standard error which folders a command writes, as absolute paths."""
    told = ", ".join(f"{what} in {folder.resolve()}" for what, folder in places.items())
    print(f"writes {told}", file=sys.stderr, flush=True)


def say_meanwhile(text: str) -> None:
    """Write a line of progress to standard error, where a command's numbers are what it writes to standard output."""
    print(text, file=sys.stderr, flush=True)


def say(text: str) -> None:
    """Write a line to standard output at once."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()
