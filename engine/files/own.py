"""Parts and cards of one's own in a folder outside the lab, which the environment names: what a checkout has as new
files of its own, an installed package has so, too.

The folder mirrors the lab's: `drafters`, `shapes`, `rules` and `methods`, each as far as there is something in it.
"""

import os
from collections.abc import Iterable
from pathlib import Path
from pkgutil import iter_modules

from engine.errors import ConfigError

PARTS = "DRAFTSCOPE_PARTS"
ROOMS = ("drafters", "shapes", "rules", "methods")


def own_files(room: str, taken: Iterable[str]) -> list[str]:
    """The folder of one's own files of a room, to be looked through behind those of the lab (`taken`), or none.

    Raises:
        ConfigError: what the environment names is no such folder, or a file in it has the name of one of the lab's.
    """
    if not (given := os.environ.get(PARTS, "")):
        return []
    folder = Path(given).expanduser().resolve()
    if not any((folder / name).is_dir() for name in ROOMS):
        raise ConfigError(
            f"{PARTS} must name a folder with parts of your own in {', '.join(ROOMS[:-1])} or {ROOMS[-1]}, not {given}."
        )
    here = str(folder / room)
    if twice := {info.name for info in iter_modules([here])} & {info.name for info in iter_modules(taken)}:
        name = min(twice)
        raise ConfigError(
            f"{folder / room / name}.py would stand in place of the lab's own {name}.py: name it otherwise."
        )
    return [here]
