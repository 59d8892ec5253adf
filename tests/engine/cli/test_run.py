"""`run` and `compare`: stop texts, and knobs that bear the names of other arguments."""

import json
from pathlib import Path

import pytest

from engine.cli import main
from engine.trace.store import Trace
from tests.engine.zoo import Zoo

SHORT = ("--max-new-tokens", "12")


@pytest.fixture(scope="module")
def pair(zoo: Zoo) -> list[str]:
    target = zoo.path("llama", layers=2, hidden=32)
    return ["--target", str(target), "--draft", str(zoo.draft_path(target, "noise", sigma=0.3)), "--device", "cpu"]


@pytest.mark.parametrize(
    "given", ["prompt=x", "method=ar", "extras=1", "reuse=1", "self=1", "max_new_tokens=3", "record=light"]
)
def test_a_knob_is_a_knob_of_the_card(pair: list[str], given: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "sd", "abc", *pair, *SHORT, "--set", given]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: Unknown knob of sd") and error.count("\n") == 1


def test_the_response_ends_at_a_stop_text(pair: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "run.jsonl"
    assert main(["run", "sd", "abc", *pair, *SHORT, "--save", str(file)]) == 0
    whole = Trace.load(file)
    assert whole.head.stop == [] and len(whole.tokens) == 12
    mark = whole.tokens[4].piece
    assert main(["run", "sd", "abc", *pair, *SHORT, "--stop", "never", "--stop", mark, "--save", str(file)]) == 0
    cut = Trace.load(file)
    assert cut.head.stop == ["never", mark] and cut.end is not None and cut.end.reason == "stop" and mark in cut.text
    assert len(cut.tokens) <= 5
    capsys.readouterr()
    assert main(["compare", "--methods", "ar,sd", "--prompt", "abc", *pair, *SHORT, "--stop", mark, "--json"]) == 0
    assert {row["tokens"] for row in json.loads(capsys.readouterr().out).values()} == {len(cut.tokens)}
    assert main(["calibrate", "--prompt", "abc", *pair, *SHORT, "--stop", mark, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["positions"] == len(cut.tokens)
