"""Folders of this repository, and what a preset may name in them."""

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path

from engine.errors import AssetError

ROOT = Path(__file__).resolve().parents[2]
PRESETS = ROOT / "presets"
CONFIG = "config.json"  # what the folder of a model has


def there(path: Path) -> bool:
    """Whether there is a file or folder of that name: none has one that is longer than the system allows."""
    try:
        return path.exists()
    except OSError:
        return False


def near(ref: str) -> str:
    """A question after the folder that may be meant by the name of none: what `~` stands for, or one beside it of the
    nearest name. Empty where none is like it."""
    try:
        place = Path(ref).expanduser()
        beside = [one.name for one in place.parent.iterdir() if one.is_dir()]
    except (OSError, ValueError, RuntimeError):  # no name that a file could have, no such parent, no such home
        return ""
    return "".join(f" Did you mean {place.with_name(name)}?" for name in get_close_matches(place.name, beside, n=1))


def a_file(ref: str, what: str = "a model", has: Sequence[str] = (CONFIG,)) -> str:
    """What is said of a file where the folder of a model (or `what` else) is wanted, which `has` a file of one of these
    names; with the file's own folder where that may be meant. Empty of what is no file."""
    try:
        place = Path(ref).expanduser()
        if not place.is_file():
            return ""
        parent = place.parent if place.parent.name else place.parent.resolve()
        meant = parent if any((parent / name).is_file() for name in has) else f"one that has {' or '.join(has)} in it"
    except (OSError, ValueError, RuntimeError):  # as in `near`
        return ""
    return f"{ref} is a file, and the folder of {what} is wanted: {meant}."


def reachable(ref: str) -> str:
    """A file of this repository as it is opened from the working folder: as it was named, or its absolute path."""
    return ref if there(Path(ref)) else str(ROOT / ref)


def locate(ref: str) -> str:
    """A folder of this repository as an absolute path; anything else (a hub id, a path) unchanged.

    Raises:
        AssetError: it names a folder under assets/ that is not there.
    """
    inside = ROOT / ref
    if there(inside):
        return str(inside)
    if ref.startswith("assets/"):
        beside = inside.parent if there(inside.parent) and inside.parent.is_dir() else ROOT / "assets"
        known = [path.relative_to(ROOT).as_posix() for path in beside.iterdir() if path.is_dir()]
        near = "".join(f" Did you mean {name}?" for name in get_close_matches(ref, known, n=1))
        raise AssetError(f"{ref} is missing.{near} What is shipped is made by `python -m engine.training`.")
    return ref
