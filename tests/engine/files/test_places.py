"""What is said of a file that is not there: that it is missing, and which one may be meant."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.cli import main
from engine.errors import AssetError, ConfigError, LabError, TraceError
from engine.files.documents import read_object
from engine.files.places import no_file
from engine.tasks.prompts import read_prompts
from engine.trace.store import Trace


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("promts.jsonl", r"There is no file .*promts\.jsonl\. Did you mean .*/own/prompts\.jsonl\?$"),
        ("else", r"There is no file .*else\.$"),
        ("prompts", r"prompts is a folder: name a file in it\.$"),
        ("../owm/prompts.jsonl", r"There is no file .*: there is no folder .*owm\. Did you mean .*/own\?$"),
        ("../else/prompts.jsonl", r"There is no file .*: there is no folder .*else\.$"),
    ],
)
def test_the_file_that_may_be_meant_is_told_whatever_reads_it(tmp_path: Path, name: str, said: str) -> None:
    """Of prompts, traces and JSON alike; a folder of the nearest name is none."""
    folder = tmp_path / "own"
    (folder / "prompts").mkdir(parents=True)
    (folder / "prompts.jsonl").touch()
    (folder / "promts").mkdir()
    kinds: tuple[tuple[type[LabError], Callable[[Path], object]], ...] = (
        (ConfigError, read_prompts),
        (TraceError, Trace.load),
        (AssetError, read_object),
    )
    for kind, read in kinds:
        with pytest.raises(kind, match=said):
            read(folder / name)


def test_names_that_no_file_can_have_are_told_too() -> None:
    assert no_file(Path("a" * 5_000)).startswith("There is no file aaa")
    with pytest.raises(TraceError, match="cannot be read: embedded null byte"):
        Trace.load("a\0b")


@pytest.mark.parametrize("command", ["replay", "pooled", "index", "import", "run ar x --asset", "calibrate --prompts"])
def test_commands_tell_the_file_that_may_be_meant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("runs.jsonl").touch()
    role = "judge=" if command.endswith("--asset") else ""
    assert main([*command.split(), f"{role}run.jsonl"]) == 2
    told = capsys.readouterr()
    assert re.search(r"run\.jsonl[.:].* Did you mean runs\.jsonl\?$", told.err) and not told.out
