"""Sharing loaded models between tests: the same files are read once, changed ones anew, and labs stay apart."""

from pathlib import Path

from engine.lab import Lab
from tests.engine.once import loaded_once
from tests.engine.zoo import make_model


def test_the_same_files_are_read_once_and_changed_ones_anew(tmp_path: Path) -> None:
    def target() -> Lab:
        with loaded_once():
            return Lab.load(target=make_or_find(tmp_path), device="cpu")

    one, two = target(), target()
    assert one.target.decoder is two.target.decoder and one.target is not two.target
    one.target.context = 7
    assert two.target.context != 7, "what one lab sets is its own"
    assert Lab.load(target=tmp_path, device="cpu").target.decoder is not one.target.decoder, "without the block"
    make_model(tmp_path, seed=1, layers=1, hidden=32)
    assert target().target.decoder is not one.target.decoder
    assert target().target.revision != one.target.revision


def make_or_find(folder: Path) -> Path:
    """A small model's folder."""
    return folder if (folder / "config.json").is_file() else make_model(folder, layers=1, hidden=32)
