"""What the commands of training refuse before anything is loaded."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.training import sourcecommands
from engine.training.command import main


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("train micro --steps 0", "--steps: must be an integer >= 1, not '0'"),
        ("train micro --minutes 0", "--minutes: must be a number > 0, not '0'"),
        ("train micro --matrix-lr inf", "--matrix-lr: must be a number > 0, not 'inf'"),
        ("train micro --threads 0", "--threads: must be an integer >= 1, not '0'"),
        ("eval --items 0", "--items: must be an integer >= 1, not '0'"),
        ("features --texts 0", "--texts: must be an integer >= 1, not '0'"),
        ("features --greedy 2", "--greedy: must be a share from 0 to 1, not '2'"),
        ("head medusa --rows 0", "--rows: must be an integer >= 1, not '0'"),
        ("head blockwise --bottleneck 0", "--bottleneck: must be an integer >= 1, not '0'"),
        ("head-eval eagle3 eagle4", "Unknown kind of head 'eagle4'. Did you mean 'eagle3'?"),
        ("strata --items 0", "--items: must be an integer >= 1, not '0'"),
        ("prm --heldout 0", "--heldout: must be an integer >= 1, not '0'"),
        ("prm-check --temperature -1", "--temperature: must be a number >= 0, not '-1'"),
        ("source-train source_micro --steps -1", "--steps: must be an integer >= 1, not '-1'"),
        ("nat-train cmlm --rows 0", "--rows: must be an integer >= 1, not '0'"),
        ("nat-eval --items 0", "--items: must be an integer >= 1, not '0'"),
        ("train micro --seed x", "--seed: must be an integer, not 'x'"),
    ],
)
def test_numbers_that_cannot_be_are_refused(given: str, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(given.split())
    assert left.value.code == 2 and words in capsys.readouterr().err


@pytest.mark.parametrize("given", ["train micro", "source-train source_micro", "head medusa", "features"])
def test_a_device_that_there_is_not_is_told_and_nothing_is_begun(
    given: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Training of models had ended in torch's own error, and features left an empty folder."""
    monkeypatch.chdir(tmp_path)
    assert main([*given.split(), "--device", "cud"]) == 2
    assert "Unknown device 'cud'. Did you mean 'cuda'? Known: auto, cpu, cuda" in capsys.readouterr().err
    assert not any(tmp_path.iterdir())


def test_a_parallel_drafter_that_cannot_be_read_is_told_before_texts_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sourcecommands, "greedy", lambda *_: pytest.fail("minutes were spent"))
    assert main(["source-eval", "--parallel", str(tmp_path)]) == 2
    assert f"There is no file {tmp_path}/parallel.json." in capsys.readouterr().err


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("sums --folder none", "There is no folder none."),
        ("export micro --work none", "There is no checkpoint none/checkpoint.pt: name the folder of a run, or train"),
        ("prm-check --out .", ". has no card.json, without which no card is written: measure it with --no-cards."),
    ],
)
def test_folders_without_what_a_command_reads_are_told(
    given: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(given.split()) == 2
    assert words in capsys.readouterr().err and not any(tmp_path.iterdir())


def test_a_mix_is_refused_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "micro", "--mix", "driils=1"]) == 2
    assert "Did you mean 'drills'?" in capsys.readouterr().err


@pytest.mark.parametrize(
    "given",
    [
        "eval --no-cards --target",
        "nat-eval --target",
        "nat-texts --target",
        "source-eval --target",
        "train micro --tokenizer",
        "source-train source_micro --tokenizer",
    ],
)
def test_what_is_no_folder_of_a_model_is_said_in_a_line(
    given: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*given.split(), f"{tmp_path}/none"]) == 2
    assert capsys.readouterr().err == f"error: There is no folder {tmp_path}/none.\n"
    assert main([*given.split(), str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"error: The folder {tmp_path} is not a complete model: ") and said.count("\n") == 1
