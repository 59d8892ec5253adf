"""Sweeps that stop, go on and are shared give the table of one process that was left alone."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engine.cli import main
from engine.files.places import ROOT
from engine.runs import sweep
from engine.trace.store import Trace
from tests.engine.cli.test_commands import SHORT, refused
from tests.engine.zoo import Zoo

TIMES = (
    "tokens_per_s",
    "speedup",
    "speedup_perprompt_mean",
    "cost_ratio",
    "draft_s",
    "verify_s",
    "other_s",
    "prefill_s",
)
PROMPTS = 7


@pytest.fixture(scope="module")
def pair(zoo: Zoo) -> list[str]:
    target = zoo.path("llama", layers=2, hidden=32)
    return ["--target", str(target), "--draft", str(zoo.draft_path(target, "noise", sigma=0.3)), "--device", "cpu"]


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("prompts") / "prompts.jsonl"
    rows = [
        {"question_id": 80 + i, "category": ("abc", "xyz")[i % 2], "turns": [f"turn {i}", "and then?"][: 1 + i % 2]}
        for i in range(PROMPTS)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def given(pair: list[str], file: Path) -> list[str]:
    return ["compare", "--methods", "ar,sd", "--prompts", str(file), *pair, *SHORT, "--json"]


@pytest.fixture
def tell(capsys: pytest.CaptureFixture[str]) -> Callable[..., dict[str, Any]]:
    def run(*words: str) -> dict[str, Any]:
        assert main(list(words)) == 0
        said = capsys.readouterr().out
        return untimed(json.loads(said)) if said else {}

    return run


def untimed(table: Any) -> Any:
    if isinstance(table, dict):
        return {name: untimed(value) for name, value in table.items() if name not in TIMES}
    return table


Tell = Callable[..., dict[str, Any]]


def test_all_rows_turns_and_categories_are_taken(given: list[str], tmp_path: Path, tell: Tell) -> None:
    found = tell(*given, "--out", str(tmp_path))
    assert found["ar"]["prompts"] == PROMPTS + PROMPTS // 2, "a row a turn"
    assert {name: line["prompts"] for name, line in found["sd"]["categories"].items()} == {"abc": 4, "xyz": 6}
    first, second = (Trace.load(tmp_path / f"0001-turn{i}-ar.jsonl.gz") for i in (1, 2))
    assert second.head.prompt.startswith("turn 1") and second.head.prompt.endswith("and then?")
    assert len(second.head.prompt_ids) > len(first.head.prompt_ids) + len(first.token_ids)
    assert first.head.extras["key"] == "81" and first.head.extras["category"] == "xyz"
    assert json.loads((tmp_path / "table.json").read_text())["sd"]["tokens"] == found["sd"]["tokens"]


def test_processes_share_a_sweep(given: list[str], tmp_path: Path, tell: Tell) -> None:
    alone = tell(*given)
    parts = [tell(*given, "--out", str(tmp_path), "--shard", f"{i}/3") for i in (2, 0, 1)]
    assert parts == [{}, {}, alone], "the last one tells the table"
    names = sorted(path.name for path in tmp_path.glob("*-sd.jsonl.gz"))
    assert len(names) == PROMPTS + PROMPTS // 2


def test_a_sweep_that_was_stopped_goes_on(
    given: list[str], tmp_path: Path, tell: Tell, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, done, keep = tell(*given), list[int](), sweep.Sweep.keep

    def stopped(self: sweep.Sweep, unit: int, found: Any) -> None:
        if len(done) == 3:
            raise KeyboardInterrupt
        done.append(unit)
        keep(self, unit, found)

    with monkeypatch.context() as patch:
        patch.setattr(sweep.Sweep, "keep", stopped)
        assert main([*given, "--out", str(tmp_path)]) == 130
    times = {path.name: path.stat().st_mtime_ns for path in tmp_path.glob("000[012]*.gz")}
    assert tell(*given, "--out", str(tmp_path)) == whole
    assert len(times) >= 8 and all((tmp_path / name).stat().st_mtime_ns == at for name, at in times.items())


def test_what_cannot_be_shared(
    given: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], tell: Tell
) -> None:
    assert "--out" in refused(capsys, *given, "--shard", "0/2")
    with pytest.raises(SystemExit):
        main([*given, "--out", str(tmp_path), "--shard", "2/2"])
    assert "i/n with 0 <= i < n" in capsys.readouterr().err
    tell(*given, "--out", str(tmp_path))
    assert "seed" in refused(capsys, *given, "--out", str(tmp_path), "--seed", "1")


@pytest.mark.slow
def test_killed_processes_under_a_launcher(given: list[str], tmp_path: Path, tell: Tell) -> None:
    """Four ranks of `torchrun`, of which one is killed in the middle; begun again they end with the same table."""
    whole = tell(*given)
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "4", "-m", "engine", *given]
    command += ["--out", str(tmp_path), "--threads", "1"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    first = subprocess.Popen(command, cwd=ROOT, env=environment, start_new_session=True, stdout=subprocess.DEVNULL)
    until = time.monotonic() + 120
    while not list(tmp_path.glob("rows-*.ndjson")) and time.monotonic() < until:
        time.sleep(0.01)
    os.killpg(first.pid, signal.SIGKILL)
    first.wait()
    subprocess.run(["pkill", "-9", "-f", str(tmp_path)], check=False)
    begun = sum(path.read_text().count("\n") for path in tmp_path.glob("rows-*.ndjson"))
    assert 0 < begun < PROMPTS, "it was to be killed in the middle"
    subprocess.run(command, cwd=ROOT, env=environment, check=True, stdout=subprocess.DEVNULL, timeout=300)
    assert untimed(json.loads((tmp_path / "table.json").read_text())) == whole
    units = [json.loads(line)["unit"] for path in tmp_path.glob("rows-*.ndjson") for line in path.open()]
    assert sorted(units) == list(range(PROMPTS)), "nothing is done twice"
