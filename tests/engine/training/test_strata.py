"""The command that learns bins: its card tells what they were learnt from."""

import json
from pathlib import Path
from typing import Any

import pytest

from engine.lab import Lab
from engine.tasks import load_problems
from engine.training.command import main
from tests.engine.once import loaded_once


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Runs of the shipped pair: greedy ones of EAGLE-3, a warm one, and one of HeteroSpec along the cumulative path."""
    folder = tmp_path_factory.mktemp("traces")
    with loaded_once():
        lab = Lab.load("tiny", device="cpu", threads=1)
    prompts = [problem.prompt for problem in load_problems("arithmetic", "train", 2, 7)]

    def save(name: str, method: str, prompt: str, **options: Any) -> Path:
        return lab.run(method, prompt, max_new_tokens=120, **options).save(folder / f"{name}.jsonl")

    return {
        "a": save("a", "eagle3", prompts[0]),
        "b": save("b", "eagle3", prompts[1]),
        "warm": save("warm", "eagle3", prompts[1], temperature=0.8),
        "cumulative": save("cumulative", "heterospec", prompts[0], meta_path="cumulative"),
    }


def learnt(out: Path, *more: str) -> dict[str, Any]:
    given = ["strata", "--train-filter", "all", "--min-leaf", "2", "--threads", "1", "--out", str(out), *more]
    assert main(given) == 0
    found: dict[str, Any] = json.loads((out / "strata.json").read_text())
    return found


@pytest.mark.thorough
def test_bins_of_saved_runs_name_these(saved: dict[str, Path], tmp_path: Path) -> None:
    told = learnt(tmp_path, "--traces", str(saved["a"]), str(saved["b"]))
    assert f"strata --traces {saved['a']} {saved['b']} --layers 3" in told["command"]
    assert (told["runs"], told["greedy"], told["meta_path"]) == (2, True, "local")
    assert not learnt(tmp_path, "--traces", str(saved["a"]), str(saved["warm"]))["greedy"]
    along = learnt(tmp_path, "--traces", str(saved["cumulative"]), "--meta-path", "cumulative")
    assert along["meta_path"] == "cumulative"


def test_traces_that_are_none_are_not_fresh_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["strata", "--out", str(tmp_path), "--traces"])
    assert "--traces: expected at least one argument" in capsys.readouterr().err


def test_runs_that_do_not_go_together_teach_nothing(
    saved: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other.jsonl"
    other.write_text(saved["a"].read_text().replace("assets/tiny/target", "assets/tiny/other"))
    for traces, words in (
        (
            [saved["a"], saved["cumulative"]],
            "Some runs sum the entropy of the cumulative path: --meta-path says local.",
        ),
        ([saved["a"], other], "These runs are of different targets"),
    ):
        assert main(["strata", "--out", str(tmp_path), "--traces", *map(str, traces)]) == 2
        assert words in capsys.readouterr().err
    assert not (tmp_path / "strata.json").exists()


@pytest.mark.thorough
def test_bins_of_fresh_runs_tell_how_these_were_made(tmp_path: Path) -> None:
    told = learnt(tmp_path, "--items", "1", "--max-new-tokens", "40")
    assert "strata --items 1 --max-new-tokens 40 --layers 3" in told["command"] and told["runs"] == 3
    told = learnt(tmp_path, "--items", "2", "--tasks", "functions")
    assert "strata --items 2 --tasks functions --layers 3" in told["command"] and told["runs"] == 2
