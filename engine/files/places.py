"""Folders of this repository, and what a preset may name in them."""

from collections.abc import Callable, Sequence
from difflib import get_close_matches
from itertools import islice
from pathlib import Path

from engine.errors import AssetError, ConfigError, LabError, shown

ROOT = Path(__file__).resolve().parents[2]
PRESETS = ROOT / "presets"
CONFIG = "config.json"  # what the folder of a model has
MOST_BESIDE = 2_000  # names of a folder that are compared with one that is not there


def as_path(given: object, wrong: type[LabError] = ConfigError) -> Path:
    """A path that a caller gave, as a text or a path.

    Raises:
        ConfigError, or what `wrong` names: it is neither.
    """
    try:
        return Path(given)  # type: ignore[arg-type]
    except TypeError:
        raise wrong(f"A file or a folder is named by a text or a path, not by {shown(given)}.") from None


def there(path: Path) -> bool:
    """Whether there is a file or folder of that name: none has one that is longer than the system allows."""
    try:
        return path.exists()
    except OSError:
        return False


def near(ref: str, fits: Callable[[Path], bool] = Path.is_dir) -> str:
    """A question after the folder (or what else `fits`) that may be meant by the name of none: what `~` stands for, or
    one beside it of the nearest name. Empty where none is like it."""
    try:
        place = Path(ref).expanduser()
        beside = [one.name for one in islice(place.parent.iterdir(), MOST_BESIDE) if fits(one)]
    except (OSError, ValueError, RuntimeError):  # no name that a file could have, no such parent, no such home
        return ""
    return "".join(f" Did you mean {place.with_name(name)}?" for name in get_close_matches(place.name, beside, n=1))


def no_file(path: Path) -> str:
    """Why there is nothing to read, in a sentence, with the file that may be meant; of a path that is there, why it is
    no file."""
    if there(path):
        if path.is_dir():
            return f"{path} is a folder: name a file in it."
        return f"{path} is no regular file: write what it gives to a file first."  # a pipe of the shell's, a device
    if there(path.parent):
        return f"There is no file {path}.{near(str(path), Path.is_file)}"
    return f"There is no file {path}: there is no folder {path.parent}.{near(str(path.parent))}"


def unreadable(path: Path, error: OSError | ValueError) -> str:
    """Why a file could not be read, in a sentence."""
    if isinstance(error, FileNotFoundError | IsADirectoryError):
        return no_file(path)
    return f"{path} cannot be read: {getattr(error, 'strerror', None) or error}."


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
