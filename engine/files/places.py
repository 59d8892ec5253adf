"""Folders of this repository, and what a preset may name in them."""

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
        raise AssetError(
            f"{ref} is missing. It is made by `python -m engine.training`; see "
            f"{'/'.join(ref.split('/')[:2])}/README.md."
        )
    return ref
