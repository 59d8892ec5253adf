"""mine, judge-train and judge-eval end to end on a random pair: files, resume, refusals, results."""

import json
from pathlib import Path

import pytest

from engine.cli import main
from engine.judge.store import read_mined
from engine.judge.weights import load_judge
from tests.engine.zoo import Zoo


@pytest.fixture(scope="module")
def pair(zoo: Zoo) -> list[str]:
    target = zoo.path("llama", layers=2, hidden=32)
    return ["--target", str(target), "--draft", str(zoo.draft_path(target, "noise", sigma=0.3)), "--device", "cpu"]


def mine(pair: list[str], out: Path, *more: str) -> int:
    return main(["mine", *pair, "--task", "arithmetic", "--limit", "12", "--out", str(out), *more])


def test_from_a_task_to_results(
    pair: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.chdir(tmp_path)
    mined = tmp_path / "mined.jsonl"
    assert mine(pair, mined, "--items", "4") == 0 and "finished: 4 of 4 prompts" in capsys.readouterr().out
    assert mine(pair, mined, "--items", "12", "--json") == 0
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert (events[0]["kind"], events[0]["done"], events[-1]["done"]) == ("started", 4, 12)
    head, prompts = read_mined(mined)
    assert head["task"] == "arithmetic" and len(prompts) == 12 and sum(len(p.labels) for p in prompts) > 12
    assert mine(pair, mined, "--items", "12", "--seed", "1") == 2 and "other settings" in capsys.readouterr().err

    lines = [json.loads(line) for line in mined.read_text().splitlines()]
    for i, line in enumerate(lines[1:]):
        for label in line["labels"]:
            label["important"] = bool((label["t"] + i) % 3)  # a random pair gives no answer: labels of both kinds by hand
    mined.write_text("".join(json.dumps(line) + "\n" for line in lines))
    judge = tmp_path / "judge"
    assert main(["judge-train", *pair, "--mined", str(mined), "--out", str(judge), "--split", "folds", "--ablations"]) == 0
    card = capsys.readouterr().out
    assert "# Judge for arithmetic" in card and "| forest |" in card and "prev token, target model" in card
    made = load_judge(judge)
    assert made.meta["labels"] == sum(len(p.labels) for p in prompts) and 0 <= made.threshold <= 1

    asset = ["--asset", f"judge:arithmetic={judge}"]
    options = ["--tasks", "arithmetic", "--window", "4", "--limit", "10", "--out", str(tmp_path / "results")]
    assert main(["judge-eval", *pair, *asset, *options, "--items", "2"]) == 0
    assert main(["judge-eval", *pair, *asset, *options, "--items", "3", "--json"]) == 0
    found = json.loads((tmp_path / "results" / "judge-arithmetic.json").read_text())
    assert (
        found["problems"] == 3
        and found["rows"][0]["name"] == "sd"
        and "AutoJudge" in (tmp_path / "results" / "judge-arithmetic.md").read_text()
    )
    assert main(["judge-eval", *pair, "--asset", f"judge={judge}", *options, "--tasks", "functions", "--items", "1"]) == 2
    assert "trained for arithmetic" in capsys.readouterr().err


def test_refusals_are_sentences(pair: list[str], tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    assert mine(pair[:2], tmp_path / "a.jsonl") == 2 and "needs a draft" in capsys.readouterr().err
    assert main(["mine", *pair, "--task", "arithmetik", "--out", str(tmp_path / "b.jsonl")]) == 2
    assert "Did you mean 'arithmetic'" in capsys.readouterr().err
    assert main(["mine", *pair, "--task", "gsm8k", "--source", "nowhere.jsonl"]) == 2
    assert mine(pair, tmp_path / "c.jsonl", "--endpoint", "http://127.0.0.1:1/v1", "--temperature", "1") == 2
    assert mine(pair, tmp_path / "d.jsonl", "--items", "1") == 0
    assert main(["judge-train", *pair, "--mined", str(tmp_path / "d.jsonl"), "--out", str(tmp_path / "j")]) == 2
    assert "too few to learn from" in capsys.readouterr().err
    assert main(["judge-eval", *pair, "--tasks", "arithmetic"]) == 2
    assert "No judge for arithmetic" in capsys.readouterr().err
