"""Folders of this repository, and what a preset may name in them."""

from difflib import get_close_matches
from pathlib import Path

from engine.errors import AssetError

ROOT = Path(__file__).resolve().parents[2]
PRESETS = ROOT / "presets"


def locate(ref: str) -> str:
    """A folder of this repository as an absolute path; anything else (a hub id, a path) unchanged.

    Raises:
        AssetError: it names a folder under assets/ that is not there.
    """
    inside = ROOT / ref
    if inside.exists():
        return str(inside)
    if ref.startswith("assets/"):
        beside = inside.parent if inside.parent.is_dir() else ROOT / "assets"
        there = [path.relative_to(ROOT).as_posix() for path in beside.iterdir() if path.is_dir()]
        near = "".join(f" Did you mean {name}?" for name in get_close_matches(ref, there, n=1))
        raise AssetError(f"{ref} is missing.{near} What is shipped is made by `python -m engine.training`.")
    return ref
