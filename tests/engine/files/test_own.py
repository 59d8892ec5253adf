"""Parts of one's own in a folder that the environment names are found beside those of the lab, and stand in no place of
theirs."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from engine import drafters
from engine.errors import ConfigError
from engine.files.own import PARTS, own_files
from engine.files.places import ROOT
from tests.test_recipes import RECIPES

CODE = (
    "from engine.drafters import DRAFTERS; from engine.shapes import SHAPES; from engine.rules import RULES;"
    "from engine.methods import CARDS; from engine.methods.compose import compose;"
    "assert {'echo', 'sam'} <= {*DRAFTERS} and 'patient' in SHAPES and 'second' in RULES;"
    "print(*(card.name for card in CARDS[-3:]), compose(drafter='echo', shape='patient', rule='second').name)"
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The parts of the recipes in CONTRIBUTING.md, named by the environment."""
    for name, text in RECIPES.items():
        if name.startswith("engine/"):
            path = tmp_path / name.removeprefix("engine/")
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
    monkeypatch.setenv(PARTS, str(tmp_path))
    return tmp_path


def test_the_recipes_run_from_a_folder_outside_the_lab(folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CODE], cwd=ROOT, env=os.environ.copy(), capture_output=True, text=True, check=False
    )
    assert done.stdout.split() == ["echo", "second", "patient", "echo+patient+second"], done.stderr


def test_a_folder_that_has_none_of_the_rooms_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert own_files("drafters", drafters.__path__) == [str(folder / "drafters")]
    monkeypatch.setenv(PARTS, str(folder / "drafters"))
    with pytest.raises(ConfigError, match=f"{PARTS} must name a folder with parts of your own in drafters, .* or"):
        own_files("drafters", drafters.__path__)
    monkeypatch.setenv(PARTS, "")
    assert own_files("drafters", drafters.__path__) == []


def test_a_file_of_ones_own_stands_in_no_place_of_the_labs(folder: Path) -> None:
    (folder / "drafters/sam.py").write_text("")
    with pytest.raises(ConfigError, match=r"sam\.py would stand in place of the lab's own sam\.py"):
        own_files("drafters", drafters.__path__)
    assert own_files("rules", drafters.__path__) == [str(folder / "rules")]
