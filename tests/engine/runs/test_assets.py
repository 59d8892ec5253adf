"""Heads, judges and tables by role: an unknown role or a missing folder is refused with a sentence."""

import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engine.errors import AssetError, ConfigError, LabError
from engine.heads.parallel import ParallelModel
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


def test_threads_that_want_an_asset_at_once_read_it_once(toy: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twice it would take twice the memory, and a head that transformers loads changes its target meanwhile."""
    reads, found = list[Path](), list[object]()

    def slow(path: Path, _target: object) -> object:
        reads.append(path)
        time.sleep(0.2)
        return object()

    monkeypatch.setitem(LOADERS, "judge", slow)
    toy.asset_paths["judge:arithmetic"] = "presets"
    threads = [threading.Thread(target=lambda: found.append(toy.asset("judge:arithmetic"))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(reads) == 1 and found == [toy.asset("judge:arithmetic")] * 3


def test_an_asset_may_come_while_models_are_put_behind_other_decoders(
    toy: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As for a batch; another thread may want a head that no row needs."""

    def beside(thing: Any, **changes: Any) -> Any:
        toy._assets["medusa"] = object()
        return replace(thing, **changes)

    toy._assets["parallel"] = ParallelModel(toy.models["draft"], 0, 1)
    monkeypatch.setattr("engine.runs.pair.replace", beside)
    assert toy.through({"target": toy.target, "parallel": toy.target})._assets["parallel"].model is toy.target
