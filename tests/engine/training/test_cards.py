"""Cards: what they need is looked at before minutes are spent on what goes into them."""

import json
import shutil
from pathlib import Path

import pytest

from engine.errors import ConfigError
from engine.files.places import ROOT
from engine.training import commands, headcommands, natcommands, nateval, sourcecommands
from engine.training.command import main
from engine.training.options import here


@pytest.fixture
def nothing_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    def measure(*_: object, **__: object) -> None:
        pytest.fail("it was measured first")

    for where, name in ((commands, "Judge"), (headcommands, "evaluate"), (sourcecommands, "load"), (nateval, "load")):
        monkeypatch.setattr(where, name, measure)


@pytest.mark.usefixtures("nothing_measured")
@pytest.mark.parametrize(
    ("command", "without"),
    [
        ("eval --target {0} --draft {0}", "with --no-cards"),
        ("head-eval medusa --folder {1}", "with --no-cards"),
        ("source-eval --target {0} --cards", "without --cards"),
        ("nat-eval --target assets/crossed/source_target --systems {0} --cards", "without --cards"),
    ],
)
def test_a_model_without_its_record_is_refused_before_it_is_measured(
    command: str, without: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "medusa"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    assert main(command.format(folder, tmp_path).split()) == 2
    told = capsys.readouterr().err
    assert f"{folder} has no training.json" in told and without in told


def test_a_folder_without_heads_is_not_one_that_was_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["head-eval", "--folder", str(tmp_path)]) == 2
    assert f"There is no head in {tmp_path}" in capsys.readouterr().err
    assert not any(tmp_path.iterdir())


def test_what_is_shipped_is_measured_from_any_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = list[tuple[Path, ...]]()

    def evaluated(kind: str, target: Path, head: Path, *rest: object) -> dict[str, dict[str, float]]:
        asked.append((target, head))
        return {}

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("engine.training.headcommands.evaluate", evaluated)
    assert main(["head-eval", "medusa", "--no-cards"]) == 0
    assert asked == [(ROOT / "assets" / "tiny" / "target", ROOT / "assets" / "tiny" / "medusa")]


@pytest.mark.usefixtures("nothing_measured")
@pytest.mark.parametrize("command", ["head-eval medusa", "eval", "nat-eval --systems assets/tiny/medusa --cards"])
def test_no_card_is_written_in_this_repository_from_another_folder(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(command.split()) == 2
    assert "is not in this folder, and cards are written beside what they tell of" in capsys.readouterr().err


def test_a_folder_that_is_here_goes_before_one_of_this_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "assets" / "tiny" / "target").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    assert here(Path("assets/tiny/target")) == Path("assets/tiny/target")
    assert here(Path("assets/tiny/draft")) == ROOT / "assets" / "tiny" / "draft"


@pytest.mark.parametrize(
    "command",
    [
        "train micro",
        "export micro",
        "source-train source_micro",
        "source-eval",
        "nat-texts --texts x.jsonl",
        "nat-eval",
    ],
)
def test_the_shipped_tokenizer_is_found_wherever_a_model_is_trained(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stop(folder: Path) -> None:
        raise ConfigError(f"read {folder}")

    monkeypatch.chdir(tmp_path)
    for where in (commands, sourcecommands, natcommands, nateval):
        monkeypatch.setattr(where, "read_words", stop)
    assert main(command.split()) == 2
    assert f"read {ROOT}/assets/" in capsys.readouterr().err


@pytest.mark.thorough
def test_every_shipped_model_of_the_crossed_family_is_found_from_any_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Drafts, parallel drafters, systems to begin with and systems to measure; what is made goes to the working
    folder."""
    monkeypatch.chdir(tmp_path)
    assets = "assets/crossed"
    for command in (
        f"source-eval --items 1 --draft {assets}/source_draft --parallel {assets}/source_parallel",
        "nat-texts --items 2 --texts texts.jsonl",
        f"nat-train cmlm --steps 1 --rows 2 --texts texts.jsonl --begin {assets}/cmlm --out cmlm",
        "nat-export cmlm --texts texts.jsonl",
        f"nat-eval --items 1 --systems {assets}/glat_ctc cmlm",
    ):
        assert main(command.split()) == 0, capsys.readouterr().err
    made = {path.parent.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("model.safetensors")}
    assert made == {"cmlm", f"{assets}/cmlm"}
    begun = f"source-train source_target --steps 1 --encoder {assets}/no_such"
    assert main(begun.split()) == 2
    assert f"{assets}/no_such is missing" in capsys.readouterr().err

    def stop(folder: Path, _: object) -> None:
        raise ConfigError(f"read {folder}")

    monkeypatch.setattr(nateval, "load_nat", stop)
    assert main(["nat-eval"]) == 2
    assert f"read {assets}/cmlm" in capsys.readouterr().err, "of a family that is here those that are here"


@pytest.mark.thorough
def test_a_reward_model_is_checked_from_any_folder_without_its_card(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    shipped = ROOT / "assets" / "tiny" / "prm"
    before = (shipped / "card.json").read_text()
    check = ["prm-check", "--heldout", "4", "--heldout-rollouts", "1", "--threads", "1"]
    assert main(check) == 2
    assert "cards are written beside what they tell of: measure it with --no-cards" in capsys.readouterr().err
    assert not any(tmp_path.iterdir()), "refused before anything is labelled"
    assert main([*check, "--no-cards"]) == 0
    told = capsys.readouterr()
    found = json.loads(told.out)
    assert "prm-check: labels: part 1 of 1, 4 responses" in told.err, "progress is no part of what is printed"
    assert found["draft"]["steps"] and found["both"]["responses"] == 4
    assert (shipped / "card.json").read_text() == before
    assert [path.name for path in tmp_path.iterdir()] == ["build"], "labels alone"
    shutil.copytree(shipped, "own")
    assert main([*check, "--out", "own"]) == 0
    told = capsys.readouterr()
    assert json.loads(told.out) == found and f"writes card in {tmp_path}/own" in told.err
    assert json.loads((tmp_path / "own" / "card.json").read_text())["fresh"]["evaluation"] == found


def test_a_head_of_the_shipped_target_goes_to_the_working_folder_and_it_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stop(*_: object, **__: object) -> None:
        raise ConfigError("far enough")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(headcommands, "load_model", stop)
    assert main(["head", "medusa"]) == 2
    places = f"checkpoint in {tmp_path}/build/medusa, export in {tmp_path}/assets/tiny/medusa"
    assert f"writes {places}\n" in capsys.readouterr().err


def test_a_damaged_card_of_a_reward_model_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "card.json").write_text("{")
    assert main(["prm-check", "--out", str(tmp_path)]) == 2
    assert "card.json cannot be read" in capsys.readouterr().err
