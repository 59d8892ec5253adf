"""Long commands that several processes share, with kills; slow."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from engine.cli import main
from engine.files.places import ROOT
from tests.engine.cli.test_judge_commands import mine, mixed
from tests.engine.cli.test_sweep_command import Tell, pair, tell, untimed

__all__ = ["pair", "tell"]


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_two_kills_of_four_processes_leave_the_table_of_one(pair: list[str], tmp_path: Path, tell: Tell) -> None:
    """2,000 prompts (DRAFTSCOPE_SWEEP says how many), three methods: processes killed twice, against one left alone."""
    many = int(os.environ.get("DRAFTSCOPE_SWEEP", "2000"))
    prompts = tmp_path / "prompts.jsonl"
    prompts.write_text("".join(json.dumps({"id": i, "prompt": f"prompt {i}"}) + "\n" for i in range(many)))
    given = ["compare", "--methods", "ar,sd,pld", "--prompts", str(prompts), *pair, "--max-new-tokens", "4", "--json"]
    out = tmp_path / "out"
    command = [sys.executable, "-m", "engine", *given, "--out", str(out), "--threads", "1", "--shard"]

    def begun() -> list[subprocess.Popen[bytes]]:
        quiet = {"cwd": ROOT, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        return [subprocess.Popen([*command, f"{i}/4"], **quiet) for i in range(4)]  # type: ignore[call-overload]

    def done() -> int:
        return sum(path.read_text().count("\n") for path in out.glob("rows-*.ndjson"))

    for share in (0.25, 0.6):
        processes = begun()
        while done() < share * many and any(process.poll() is None for process in processes):
            time.sleep(0.05)
        for process in processes[: 1 if share < 0.5 else 4]:  # one of them, then all
            process.kill()
        if share < 0.5:
            while done() < 0.4 * many and any(process.poll() is None for process in processes):
                time.sleep(0.05)
        for process in processes:
            process.kill()
            process.wait()
        assert 0 < done() < many, "they were to be killed in the middle"
    for process in begun():
        process.wait()
    assert untimed(json.loads((out / "table.json").read_text())) == tell(*given)
    units = [json.loads(line)["unit"] for path in out.glob("rows-*.ndjson") for line in path.open()]
    assert sorted(units) == list(range(many)), "nothing is done twice"


@pytest.mark.slow
def test_processes_share_an_evaluation(pair: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    mined, judge = tmp_path / "mined.jsonl", tmp_path / "judge"
    assert mine(pair, mined, "--items", "12") == 0
    mixed(mined)
    assert main(["judge-train", *pair, "--mined", str(mined), "--out", str(judge), "--split", "folds"]) == 0
    given = ["judge-eval", *pair, "--asset", f"judge:arithmetic={judge}", "--tasks", "arithmetic", "--window", "4"]
    given += ["--limit", "10", "--items", "3", "--out", "results"]
    found = []
    for name, shards in (("one", ["0/1"]), ("shared", ["1/2", "0/2"])):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        for shard in shards:
            assert not Path("results/judge-arithmetic.json").exists()
            assert main([*given, "--shard", shard]) == 0
        found.append(json.loads(Path("results/judge-arithmetic.json").read_text()))
    assert found[0] == found[1] and found[0]["problems"] == 3
