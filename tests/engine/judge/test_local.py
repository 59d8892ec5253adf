"""Mining through the lab: its settings decide, and only known ones are taken."""

from pathlib import Path

import pytest

from engine.errors import ConfigError
from engine.judge.store import read_mined
from engine.lab import Lab
from engine.tasks import load_problems
from tests.engine.crossed import Crossed


def responses(lab: Lab, file: Path, **settings: object) -> list[list[int]]:
    for _ in lab.mine("arithmetic", load_problems("arithmetic", "train", 2), file, limit=12, **settings):
        pass
    return [prompt.first for prompt in read_mined(file)[1]]


def test_sampling_settings_reach_the_search(lab: Lab, tmp_path: Path) -> None:
    greedy = responses(lab, tmp_path / "greedy.jsonl")
    drawn = responses(lab, tmp_path / "drawn.jsonl", temperature=1.5, seed=1)
    assert drawn != greedy and drawn == responses(lab, tmp_path / "again.jsonl", temperature=1.5, seed=1)
    assert drawn != responses(lab, tmp_path / "other.jsonl", temperature=1.5, seed=2)


def test_an_equivalence_other_than_by_answer_is_recorded(crossed: Crossed, tmp_path: Path) -> None:
    lab, found = crossed.lab("bart", 0.05), load_problems("translation", "train", 1)
    for equivalence, kept in (("answer", None), ("bleu", "bleu:5")):
        file = tmp_path / f"{equivalence}.jsonl"
        assert list(lab.mine("translation", found, file, limit=4, equivalence=equivalence))
        assert read_mined(file)[0].get("equivalence") == kept
    with pytest.raises(ConfigError, match="measures summaries"):
        next(lab.mine("translation", found, tmp_path / "none.jsonl", equivalence="rouge"))
    assert not (tmp_path / "none.jsonl").exists(), "no file is begun in vain"


def test_a_file_of_other_prompts_is_not_resumed(lab: Lab, tmp_path: Path) -> None:
    """The numbers of its prompts had been taken for these, and nothing was mined."""
    file = tmp_path / "mined.jsonl"
    assert responses(lab, file) == responses(lab, file)
    kept = file.read_bytes()
    with pytest.raises(ConfigError, match="holds another prompt as arithmetic:0"):
        list(lab.mine("arithmetic", load_problems("arithmetic", "train", 2, 1), file, limit=12))
    assert file.read_bytes() == kept


def test_unknown_settings_are_refused(lab: Lab, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="temperature"):
        responses(lab, tmp_path / "none.jsonl", temprature=1.5)
