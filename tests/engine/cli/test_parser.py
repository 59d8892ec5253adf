"""What a command line does not know is refused by the command that lacks it, with the nearest name."""

import pytest

from app import command
from engine.cli import main
from engine.training.command import main as training


@pytest.mark.parametrize(
    ("argv", "usage", "said"),
    [
        (["run", "sd", "a", "--max-new-tokns=3", "--sed", "1"], "engine run", "did you mean --max-new-tokens --seed?"),
        (["run", "sd", "a", "b"], "engine run", "unrecognized arguments: b\n"),
        (["run", "sd", "a", "--record", "lite"], "engine run", "Unknown choice 'lite'. Did you mean 'light'?"),
        (["run", "sd", "a", "--seed", "1.5"], "engine run", "argument --seed: must be an integer, not '1.5'\n"),
        (["run", "sd", "a", "--top-p", "x"], "engine run", "argument --top-p: must be a number, not 'x'\n"),
        (
            ["trajectories", "results", "--replay=-1"],
            "engine trajectories results",
            "--replay: must be an integer >= 0, not '-1'\n",
        ),
        (["tree", "shwo", "x"], "engine tree", "Unknown action 'shwo'. Did you mean 'show'?"),
        (["replay", ""], "engine replay", "argument TRACE: must name a file or folder, not ''\n"),
        (["compare", "--out", ""], "engine compare", "argument --out: must name a file or folder, not ''\n"),
        (["mine", "--out", ""], "engine mine", "argument --out: must name a file or folder, not ''\n"),
        (["benhc"], "engine", "Unknown command 'benhc'. Did you mean 'bench'?"),
    ],
)
def test_the_nearest_name_is_told(argv: list[str], usage: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(argv)
    assert left.value.code == 2
    told = capsys.readouterr().err
    assert told.startswith(f"usage: python -m {usage} [-h]") and said in told


def test_abbreviations_and_options_behind_words_are_taken(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["methods", "sd", "--js"]) == 0
    assert capsys.readouterr().out.startswith("[")


def test_training_and_the_page_tell_it_too(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        training(["sums", "--floder", "x"])
    assert "did you mean --folder?" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        command.main(["page", "--cse", "x"])
    assert "did you mean --case?" in capsys.readouterr().err
