"""Heads, judges and tables by role: an unknown role or a missing folder is refused with a sentence."""

from pathlib import Path

import pytest

from engine.errors import AssetError, ConfigError, LabError
from engine.lab import Lab
from engine.runs.assets import LOADERS, load_asset


def test_an_unknown_role_is_refused(toy: Lab, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"Unknown asset role 'eagle4'. Did you mean 'eagle[23]'"):
        load_asset("eagle4", str(tmp_path), toy.target)


@pytest.mark.parametrize("role", sorted(LOADERS))
def test_an_empty_folder_is_no_asset(toy: Lab, tmp_path: Path, role: str) -> None:
    """Every loader says in its own words that nothing is there; none lets a bare file error out."""
    with pytest.raises(LabError) as caught:
        load_asset(role, str(tmp_path / "nothing"), toy.target)
    assert len(str(caught.value)) > 20


def test_an_asset_is_read_once(toy: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[Path] = []
    monkeypatch.setitem(LOADERS, "judge", lambda path, target: reads.append(path) or object())
    toy.asset_paths["judge:arithmetic"] = "presets"
    assert toy.asset("judge:arithmetic") is toy.asset("judge:arithmetic") and len(reads) == 1
    toy.asset_paths["judge:functions"] = "assets/none"
    with pytest.raises(AssetError, match="assets/none is missing"):
        toy.asset("judge:functions")
