"""Folders of this repository, and what a preset may name in them."""

from difflib import get_close_matches
from pathlib import Path

from engine.errors import AssetError

ROOT = Path(__file__).resolve().parents[2]
PRESETS = ROOT / "presets"


def there(path: Path) -> bool:
    """Whether there is a file or folder of that name: none has one that is longer than the system allows."""
    try:
        return path.exists()
    except OSError:
        return False


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
