"""Sweeps that stop, go on and are shared give the table of one process that was left alone."""

import argparse
import errno
import json
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engine.analysis.index import NAME, pool, read
from engine.cli import compare, main
from engine.cli.options import add_prompts, prompts
from engine.files.held import hold
from engine.files.places import ROOT
from engine.runs import sweep
from engine.trace.store import Trace
from tests.engine.cli.test_commands import SHORT, refused

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
    assert [one.head.extras["turn"] for one in (first, second)] == [0, 1]
    assert (first.head.seed, second.head.seed) == (1, 10_001), "what drew an answer draws none that reads it"
    assert first.head.extras["conversation"] == second.head.extras["conversation"] != ""
    assert "conversation" not in Trace.load(tmp_path / "0000-ar.jsonl.gz").head.extras
    every = [Trace.load(path).head for path in tmp_path.glob("*.jsonl.gz")]
    assert len({head.seed for head in every}) == len(every) / 2, "one for the runs of a prompt, and of no other"
    assert {one["n"] for one in found["sd"]["intervals"].values()} == {PROMPTS}, "a conversation is drawn as a whole"
    (section,) = pool(read((tmp_path / NAME).read_bytes()))["sections"]
    assert {row["tau"]["n"] for row in section["methods"]} == {PROMPTS}
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


def test_the_last_table_is_the_whole_one(
    given: list[str], tmp_path: Path, tell: Tell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process ends between this one's count and its writing: the table of both stays, not that of one."""
    whole, others, write = tell(*given), list[dict[str, Any]](), compare._Told._write

    def late(self: compare._Told, found: compare._Rows) -> None:
        if found.units == (PROMPTS + 1) // 2 and not others:
            others.append(tell(*given, "--out", str(tmp_path), "--shard", "1/2"))
        write(self, found)

    monkeypatch.setattr(compare._Told, "_write", late)
    assert tell(*given, "--out", str(tmp_path), "--shard", "0/2") == whole == others[0]
    assert untimed(json.loads((tmp_path / "table.json").read_text())) == whole


@pytest.mark.parametrize("mask", [0o022, 0o077])
def test_files_have_the_modes_that_the_umask_leaves(given: list[str], tmp_path: Path, tell: Tell, mask: int) -> None:
    out, before = tmp_path / "out", os.umask(mask)
    try:
        tell(*given, "--items", "1", "--out", str(out))
        (out / "index.parquet").unlink()
        assert main(["index", str(out), "--json"]) == 0
    finally:
        os.umask(before)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in out.iterdir()}
    assert {"0000-ar.jsonl.gz", "table.json", "sweep.json", "index.parquet"} < modes.keys()
    assert set(modes.values()) == {0o666 & ~mask} and stat.S_IMODE(out.stat().st_mode) == 0o777 & ~mask


def test_what_cannot_be_shared(
    given: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], tell: Tell
) -> None:
    assert "--out" in refused(capsys, *given, "--shard", "0/2")
    with pytest.raises(SystemExit):
        main([*given, "--out", str(tmp_path), "--shard", "2/2"])
    assert "i/n with 0 <= i < n" in capsys.readouterr().err
    tell(*given, "--out", str(tmp_path))
    assert "seed" in refused(capsys, *given, "--out", str(tmp_path), "--seed", "1")


@pytest.mark.thorough
def test_edited_rows_are_told_with_their_place(
    given: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], tell: Tell
) -> None:
    command = [*given, "--items", "2", "--out", str(tmp_path)]
    whole = tell(*command)
    path = tmp_path / "rows-0-of-1.ndjson"
    first, second = map(json.loads, path.read_text().splitlines())

    def row(**changed: Any) -> dict[str, Any]:
        return {**second, "runs": {**second["runs"], "sd": [{**second["runs"]["sd"][0], **changed}] * 2}}

    told, sums = second["runs"]["sd"][0]["response"], second["runs"]["sd"][0]["sums"]
    entry = second["index"][0]
    for line, why in (
        ({**second, "unit": 99}, "tells unit 99, and the 2 prompts"),
        ({"unit": 1}, "lacks the runs of ar, sd"),
        ({"unit": 1, "runs": 5}, "lacks the runs"),
        ({"unit": 1, "runs": {}}, "lacks the runs"),
        ({"unit": 1, "left_out": None}, "left_out is a text"),
        ({"unit": 1, "runs": {**second["runs"], "sd": [{}]}}, "it holds no 2 runs of sd"),
        ({"unit": 1, "runs": {**second["runs"], "sd": [{}, {}]}}, "a run has task, category"),
        (row(task=1), "task of a run is a text"),
        (row(sums=[]), "sums of a run is an object"),
        (row(sums={**sums, "tokens": "6"}), "sums.tokens of a run cannot be '6'"),
        (row(sums={**sums, "tokens": -6}), "sums.tokens of a run cannot be -6"),
        (row(sums={**sums, "ended": [1, None]}), "sums.ended of a run cannot be"),
        (row(sums={**sums, "speed": 1}), "sums of a run has no 'speed'"),
        (row(response={**told, "prompt": [[]]}), "response.prompt of a run cannot be"),
        (row(response={k: v for k, v in told.items() if k != "text"}), "response of a run has text"),
        ({**second, "index": 5}, "entries of the index are no list"),
        ({**second, "index": [5]}, "an entry of the index is an object"),
        ({**second, "index": [{**entry, "file": 5}]}, "file in the index is a text, not 5"),
        ({**second, "index": [{**entry, "tokens": "many"}]}, "tokens in the index is a number"),
        ({**second, "index": [{**entry, "draft_ms": None}]}, "draft_ms in the index is a number"),
    ):
        path.write_text(json.dumps(first) + "\n" + json.dumps(line) + "\n")
        said = refused(capsys, *command)
        assert f"{path}, line 2 is damaged: " in said and why in said and "Delete that line" in said, said
    path.write_text(json.dumps(first) + "\n")
    assert tell(*command) == whole


def test_a_full_disk_is_told_with_the_file(
    given: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    command = [*given, "--items", "1", "--out", str(tmp_path)]
    assert refused(capsys, *command) == f"error: {tmp_path / 'sweep.json'}: No space left on device\n"
    assert not list(tmp_path.iterdir())
    monkeypatch.undo()
    keep = sweep.Sweep.keep
    monkeypatch.setattr(sweep.Sweep, "keep", lambda *given: monkeypatch.setattr(os, "fsync", full) or keep(*given))
    assert refused(capsys, *command) == f"error: {tmp_path / 'rows-0-of-1.ndjson'}: No space left on device\n"


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


@pytest.mark.slow
def test_all_long_commands_are_shared(pair: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three processes, one after the other in an odd order, and one of them stopped: files as from one process."""
    monkeypatch.chdir(tmp_path)
    models = [*pair, "--threads", "1"]
    mined = ["mine", *models, "--task", "arithmetic", "--limit", "8", "--items", "5"]
    series = ["trajectories", "compare", *models, "--methods", "pld,sam", "--items", "4", "--n", "2", *SHORT, "--json"]
    papers = ["reproduce", "easd:T3", *models, "--items", "4"]
    for command, out, keep in ((mined, "m.jsonl", ()), (series, "t.jsonl", ()), (papers, "p", ("--keep",))):
        found = []
        for name, shards in (("one", ["0/1"]), ("shared", ["2/3", "0/3", "1/3"])):
            folder = tmp_path / name
            folder.mkdir(exist_ok=True)
            kept = [word for option in keep for word in (option, str(folder / "keep"))]
            for shard in shards:
                assert main([*command, "--out", str(folder / out), *kept, "--shard", shard]) == 0
            paths = sorted((folder / out).iterdir()) if (folder / out).is_dir() else [folder / out]
            found.append([_untimed_lines(path) for path in paths])
        assert found[0] == found[1] and found[0][0], command[0]


def _untimed_lines(path: Path) -> list[Any]:
    text = path.read_text()
    rows = [json.loads(line) for line in text.splitlines()] if path.suffix == ".jsonl" else [json.loads(text)]
    return [{name: value for name, value in row.items() if not name.endswith(("_s", "seconds", "ms"))} for row in rows]


def test_rows_of_known_sets_are_prompts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """MT-bench, Spec-Bench, GSM8K, HumanEval, MBPP as published, and data sets by name."""
    rows = [
        {"question_id": 81, "category": "writing", "turns": ["Compose.", "Rewrite."], "reference": []},
        {"prompt_id": 82, "category": "math", "prompt": ["How many?", "And then?"]},
        {"question": "Ann has 3 figs. How many?", "answer": "#### 3"},
        {"task_id": "HumanEval/0", "prompt": "def f():", "entry_point": "f", "canonical_solution": "", "test": ""},
        {"task_id": 2, "text": "Write a function.", "code": "def f(): ...", "test_list": []},
    ]
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    monkeypatch.setattr("engine.tasks.rows._from_datasets", lambda name: ((f"{name}, row", row) for row in rows))
    for source in (str(path), "datasets:some/set:main:test"):
        found = prompts(parser().parse_args(["--prompts", source]))
        assert [one.key for one in found] == ["81", "82", "3", "HumanEval/0", "2"]
        assert [len(one.turns) for one in found] == [2, 2, 1, 1, 1] and found[1].turns == ("How many?", "And then?")
        assert [one.category for one in found][:2] == ["writing", "math"]
    assert [one.problem is not None for one in prompts(parser().parse_args(["--items", "2"]))] == [True, True]


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser()
    add_prompts(made, "arithmetic", 3)
    return made


@pytest.mark.slow
def test_bench_and_trajectories_take_files(
    pair: list[str], file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tell: Tell
) -> None:
    monkeypatch.chdir(tmp_path)
    models = [*pair, "--threads", "1", "--prompts", str(file), *SHORT, "--json"]
    with hold(Path("build/compare.jsonl")):
        assert main(["trajectories", "compare", "--methods", "pld", "--n", "2", *models]) == 2
    series = tell("trajectories", "compare", "--methods", "pld", "--n", "2", *models)
    assert series["settings"]["family"] == "own prompts" and series["accuracy"] == {}
    bench = tell("bench", "--methods", "sd", "--no-transformers", "--no-lookups", "--repetitions", "1", *models)
    assert bench["prompts"] == PROMPTS and bench["task"] == str(file)
    assert main(["bench", "--quality", *models]) == 2
