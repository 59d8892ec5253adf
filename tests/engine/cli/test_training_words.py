"""`train` and `eval`: everything after the word reaches `python -m engine.training` as it was typed."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from engine.cli import main
from engine.cli import training as command
from engine.errors import ConfigError
from engine.files.places import ROOT
from engine.training import commands, models
from engine.training.command import main as training
from engine.training.trainer import Trainer


@pytest.mark.parametrize("word", ["train", "eval"])
def test_help_is_that_of_the_command(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main([word, "--help"])
    told = capsys.readouterr().out
    assert left.value.code == 0 and f"usage: python -m engine {word} [-h]" in told
    what = {"train": "Train a model;", "eval": "Measure the pair"}[word]
    assert f"\n\n{what}" in told and "CPU threads (default: 2)" in told
    assert not re.search(r"default:\s+(None|False|\[\])", told), "there is none, and none is told"
    with pytest.raises(SystemExit):
        main([word, "--nonsense"], prog="draftscope")
    assert f"usage: draftscope {word} [-h]" in capsys.readouterr().err


@pytest.mark.parametrize(
    "given",
    [
        ["eval", "--json"],
        ["eval", "--items", "300"],
        ["train", "target", "--steps", "3"],
        ["train", "--steps", "3", "draft", "--mix", "drills=1", "sums=0"],
        ["eval", "--help", "--", "-x"],
        ["train"],
    ],
)
def test_words_are_handed_on(given: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    monkeypatch.setattr(command, "training", lambda words, _: seen.append(words) or 2)
    assert main(given) == 2 and seen == [given]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["eval", "--items", "0"], "--items: must be an integer >= 1, not '0'"),
        (["train", "micro", "--steps", "-1"], "--steps: must be an integer >= 1, not '-1'"),
        (["train", "micro", "--threads", "0"], "--threads: must be an integer >= 1, not '0'"),
        (["train", "micro", "--minutes", "nan"], "--minutes: must be a number > 0, not 'nan'"),
    ],
)
def test_numbers_are_refused_before_anything_is_loaded(
    given: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as left:
        main(given)
    assert left.value.code == 2 and said in capsys.readouterr().err


@pytest.mark.parametrize("words", [["train", "micro"], ["export", "micro"], ["source-train", "source_draft"]])
def test_an_export_replaces_no_folder_of_others(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """All that was in it went."""
    mine = tmp_path / "mine" / "notes.txt"
    mine.parent.mkdir()
    mine.write_text("a year's work")
    for given, said in ((mine.parent, "it is no export that may be replaced"), (mine, "is no folder")):
        with pytest.raises(SystemExit) as left:
            training([*words, "--out", str(given)])
        assert left.value.code == 2 and said in capsys.readouterr().err
    with pytest.raises(ConfigError, match="holds files"):
        models.export(None, None, mine.parent, {})  # type: ignore[arg-type]
    assert mine.read_text() == "a year's work"
    assert models.exportable(tmp_path / "new") and models.exportable(ROOT / "assets/tiny/draft")


def test_a_run_in_json_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    saved: list[int] = []

    def step(self: Trainer) -> float:
        self.progress.step, self.progress.tokens = self.progress.step + 1, self.progress.tokens + 9
        return 0.0

    monkeypatch.setattr(Trainer, "step", step)
    monkeypatch.setattr(commands, "write_state", lambda trainer, folder: saved.append(trainer.progress.step))
    monkeypatch.setattr(commands, "_publish", lambda *_: None)
    small = ["train", "micro", "--steps", "40", "--mix", "arithmetic=1", "functions=1", "sentences=1", "drills=1"]
    assert main([*small, "--work", str(tmp_path), "--device", "cpu", "--threads", "1", "--json"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["step"] for line in lines] == [20, 40] and saved == [40]
    assert lines[1]["done"] == 1.0 and lines[1]["tokens"] > lines[0]["tokens"] > 0 and lines[0]["tokens_per_s"] > 0
    assert main([*small, "--work", str(tmp_path), "--device", "cpu", "--threads", "1"]) == 0
    assert capsys.readouterr().out.startswith("step 20  loss ")
