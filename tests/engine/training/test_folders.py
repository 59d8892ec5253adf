"""Where training puts things is looked at before anything is loaded or learnt."""

from argparse import Namespace
from pathlib import Path

import pytest

from engine.files.places import ROOT
from engine.training import prmcommands
from engine.training.command import main
from engine.training.options import ASSETS


@pytest.mark.parametrize(
    "command",
    [
        "tokenizer --out",
        "train micro --work",
        "train micro --out",
        "features --features",
        "head medusa --work",
        "head medusa --out",
        "mtp --out",
        "strata --out",
        "prm --work",
        "prm --out",
        "prm-check --work",
        "source-tokenizer --out",
        "source-train source_micro --work",
        "source-train source_micro --out",
        "nat-train cmlm --work",
        "nat-train cmlm --out",
    ],
)
def test_a_place_below_a_file_is_refused_first(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SystemExit):
        main([*command.split(), str(tmp_path / "file" / "new")])
    assert "file is no folder" in capsys.readouterr().err


def test_texts_go_into_a_file_that_can_be_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["nat-texts", "--texts", str(tmp_path)])
    assert "is no file" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("head medusa", "head.pt"),
        ("train micro", "checkpoint.pt"),
        ("source-train source_micro", "checkpoint.pt"),
        ("nat-train cmlm", "checkpoint.pt"),
    ],
)
def test_a_run_from_the_start_does_not_write_over_another_s_checkpoint(
    command: str, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whoever forgets --resume had lost what was learnt, at the first checkpoint."""
    (tmp_path / name).write_bytes(b"hours")
    assert main([*command.split(), "--work", str(tmp_path)]) == 2
    assert f"{name} is the checkpoint of a run" in capsys.readouterr().err
    assert (tmp_path / name).read_bytes() == b"hours"


def test_the_embedded_pair_is_found_wherever_a_reward_model_is_trained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its folders are named from the repository's, which only the commands of heads and of the pair had known."""
    monkeypatch.chdir(tmp_path)
    read: list[Path] = []
    for name in ("read_shared_words", "read_weights", "revision_of"):
        monkeypatch.setattr(
            prmcommands, name, lambda *given: read.extend(one for one in given if isinstance(one, Path))
        )
    roles = {role: ASSETS / role for role in ("target", "draft")}
    prmcommands._pair(Namespace(**roles))
    prmcommands._revisions(Namespace(**roles))
    assert read == [ROOT / folder for folder in roles.values()] * 3
