"""Long commands that several processes share at the same time, with kills; slow. Nothing here waits for a time."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow.parquet as parquet
import pytest

from engine.cli import main
from engine.files.places import ROOT
from tests.engine.cli.test_judge_commands import mine, mixed
from tests.engine.cli.test_sweep_command import Tell, tell, untimed
from tests.engine.rows import timeless

__all__ = ["tell"]

ENGINE = (sys.executable, "-m", "engine")
LOOK = 0.02  # seconds between two looks at a file that another process writes
THREADS = ("--threads", "1")


def begin(words: Sequence[str], folder: Path, *before: str) -> subprocess.Popen[bytes]:
    """A command of the engine in a process of its own, in that folder; what it says is kept beside."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    with (folder / f"said-{len([*folder.glob('said-*')])}.txt").open("xb") as said:
        command = [*(before or ENGINE), *words]
        return subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=said)


def lines(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


def kill(process: subprocess.Popen[bytes], count: Callable[[], int], rows: float) -> None:
    """Kill a process once it has so many rows; it must still be at work then."""
    while count() < rows:
        with suppress(subprocess.TimeoutExpired):
            pytest.fail(f"ended with {process.wait(LOOK)} before it came so far")
    process.kill()
    assert process.wait() == -9, "it was to be killed at work"


def ended(processes: Sequence[subprocess.Popen[bytes]], folder: Path) -> None:
    found = [process.wait() for process in processes]
    assert not any(found), "\n".join(path.read_text()[-2000:] for path in folder.glob("said-*.txt"))


@contextmanager
def until_the_end(processes: list[subprocess.Popen[bytes]]) -> Iterator[None]:
    """None of these outlives the test."""
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_two_kills_of_four_processes_leave_the_table_of_one(pair: list[str], tmp_path: Path, tell: Tell) -> None:
    """2,000 prompts (DRAFTSCOPE_SWEEP: others), three methods: two of four processes are killed and begun again."""
    many = int(os.environ.get("DRAFTSCOPE_SWEEP", "2000"))
    prompts, out = tmp_path / "prompts.jsonl", tmp_path / "out"
    prompts.write_text("".join(json.dumps({"id": i, "prompt": f"prompt {i}"}) + "\n" for i in range(many)))
    given = ["compare", "--methods", "ar,sd,pld", "--prompts", str(prompts), *pair, *THREADS]
    given += ["--max-new-tokens", "4", "--json"]
    shards = [[*given, "--out", str(out), "--shard", f"{i}/4"] for i in range(4)]
    ranks = [begin(words, tmp_path) for words in shards]
    with until_the_end(ranks):
        for victim, share in ((1, 1 / 3), (2, 2 / 3)):
            own = out / f"rows-{victim}-of-4.ndjson"
            kill(ranks[victim], partial(lines, own), share * many / 4)
            before = own.read_bytes()
            assert 0 < lines(own) < many // 4, "it was to be killed in the middle"
            ranks[victim] = begin(shards[victim], tmp_path)
        ended(ranks, tmp_path)
    assert own.read_bytes().startswith(before[: before.rfind(b"\n") + 1]), "what was done before the kill stays"
    assert untimed(json.loads((out / "table.json").read_text())) == tell(*given)
    units = [json.loads(line)["unit"] for path in out.glob("rows-*.ndjson") for line in path.open()]
    assert sorted(units) == list(range(many)), "nothing is done twice"
    assert parquet.read_metadata(out / "index.parquet").num_rows == 3 * many == len([*out.glob("*.jsonl.gz")])


def mining(folder: Path, pair: list[str]) -> tuple[list[str], Path]:
    return ["mine", *pair, "--task", "arithmetic", "--limit", "8", "--items", "16", "--out", "m.jsonl"], Path("m.jsonl")


def trajectories(folder: Path, pair: list[str]) -> tuple[list[str], Path]:
    words = ["trajectories", "compare", *pair, "--methods", "pld,sam", "--items", "16", "--n", "2"]
    return [*words, "--max-new-tokens", "12", "--json", "--out", "t.jsonl"], Path("t.jsonl")


def reproducing(folder: Path, pair: list[str]) -> tuple[list[str], Path]:
    return ["reproduce", "easd:T3", *pair, "--items", "8", "--keep", "kept", "--out", "p"], Path("p")


def evaluating(folder: Path, pair: list[str]) -> tuple[list[str], Path]:
    mined, judge = folder / "mined.jsonl", folder / "judge"
    if not judge.exists():
        assert mine(pair, mined, "--items", "12") == 0
        mixed(mined)
        assert main(["judge-train", *pair, "--mined", str(mined), "--out", str(judge), "--split", "folds"]) == 0
    words = ["judge-eval", *pair, "--asset", f"judge:arithmetic={judge}", "--tasks", "arithmetic", "--window", "4"]
    return [*words, "--limit", "10", "--items", "12", "--out", "r"], Path("r/judge-arithmetic.json")


def written(path: Path) -> list[Any]:
    """Files of results, without times, dates and the words that they were asked with."""
    paths = sorted(path.iterdir()) if path.is_dir() else [path]
    texts = [path.read_text() for path in paths]
    values = [
        [json.loads(line) for line in text.splitlines()] if path.suffix == ".jsonl" else json.loads(text)
        for path, text in zip(paths, texts, strict=True)
    ]
    return [timeless(value) for value in values]


def rows_of(folder: Path, rank: int, count: int) -> int:
    """Rows (and heads) that a process has written so far, wherever its command keeps them."""
    names = (f"*.{rank}-of-{count}.jsonl", f"kept/*.{rank}-of-{count}.jsonl", f"build/judge/*/rows-{rank}-of-*.ndjson")
    return sum(map(lines, (path for name in names for path in folder.glob(name))))


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("count", [2, 4])
@pytest.mark.parametrize("asked", [mining, trajectories, reproducing, evaluating])
def test_processes_at_work_at_once_and_one_killed(
    pair: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: Any, count: int
) -> None:
    """2 and 4 processes at the same time, the last killed after its first rows and begun again: files as of one."""
    alone, shared = tmp_path / "alone", tmp_path / "shared"
    alone.mkdir()
    shared.mkdir()
    words, result = asked(tmp_path, [*pair, *THREADS])
    monkeypatch.chdir(alone)
    assert main(words) == 0
    ranks = [begin([*words, "--shard", f"{i}/{count}"], shared) for i in range(count)]
    with until_the_end(ranks):
        kill(ranks[-1], partial(rows_of, shared, count - 1, count), 2)
        ranks[-1] = begin([*words, "--shard", f"{count - 1}/{count}"], shared)
        ended(ranks, shared)
    found = written(shared / result)
    assert found == written(alone / result) and found[0]


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("launcher", ["accelerate", "torchrun"])
def test_launchers_share_a_mined_file(
    pair: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, launcher: str
) -> None:
    words, result = mining(tmp_path, [*pair, *THREADS])
    monkeypatch.chdir(tmp_path)
    assert main([*words[:-1], "alone.jsonl"]) == 0
    start = {
        "accelerate": ("accelerate.commands.launch", "--multi_gpu", "--num_processes", "2", "--num_machines", "1"),
        "torchrun": ("torch.distributed.run", "--nproc-per-node", "2"),
    }[launcher]
    more = ("--mixed_precision", "no", "--dynamo_backend", "no") if launcher == "accelerate" else ()
    running = begin(words, tmp_path, sys.executable, "-m", *start, *more, "-m", "engine")
    with until_the_end([running]):
        ended([running], tmp_path)
    assert written(tmp_path / result) == written(tmp_path / "alone.jsonl")
    assert len([*tmp_path.glob("m.*-of-2.jsonl")]) == 2


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_memory_does_not_grow_with_a_sweep(pair: list[str], tmp_path: Path) -> None:
    """Eight times the prompts, a few megabytes: what is held of a run are its counts, not its rounds."""
    peaks = list[float]()
    for many in (250, 2000):
        prompts = tmp_path / f"{many}.jsonl"
        prompts.write_text("".join(json.dumps({"id": i, "prompt": f"prompt {i}"}) + "\n" for i in range(many)))
        words = ["compare", "--methods", "ar,pld", "--prompts", str(prompts), *pair, *THREADS, "--max-new-tokens", "4"]
        process = begin([*words, "--out", str(tmp_path / f"out{many}")], tmp_path)
        with until_the_end([process]):
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 0
        peaks.append(used.ru_maxrss / 1024)
    print(f"peaks of 250 and 2,000 prompts: {peaks[0]:.0f} and {peaks[1]:.0f} MiB")
    assert peaks[1] - peaks[0] < 30
