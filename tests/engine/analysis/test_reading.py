"""The one reader: what it gives is sound, what it refuses it names."""

import ast
import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engine.analysis.reading import draft_tokens, named, read_file, read_run, read_runs, traces_in
from engine.errors import ConfigError, TraceError
from engine.trace import Trace
from engine.trace.metrics import metrics
from engine.trace.sums import Sums
from tests.engine.analysis.made import bush, light, sd


def changed(trace: Trace, edit: Callable[[list[dict[str, Any]]], Any]) -> bytes:
    events = [json.loads(line) for line in trace.to_lines()]
    edit(events)
    return "".join(json.dumps(one) + "\n" for one in events).encode()


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (lambda e: e[1].update(emitted=1), "Round 0: says 1 tokens and emits 2"),
        (lambda e: e[1].update(path=[]), "Round 0: accepts 1 draft tokens on a path of 0"),
        (lambda e: e[1].update(accepted=0), "accepts 0 draft tokens on a path of 1"),
        (
            lambda e: e[1]["nodes"][1].update(state="accepted"),
            r"the accepted draft tokens \[0, 1\] are not the path \[0\]",
        ),
        (lambda e: e[1]["tokens"][0].update(token=5), "the token at 0 is not that of its draft token"),
        (lambda e: e[2].update(tcr=2), "rank 2 of the last accepted draft token is below 3"),
        (lambda e: e[1].update(fed=0), "feeds 0 tokens"),
        (lambda e: e[4].update(text="something else"), "do not make up the text"),
        (lambda e: e[4].update(total_ms=1.0), "The rounds take 45.0 ms of 1.0"),
        (lambda e: (e[1].update(emitted=1), e[2].update(emitted=1)), "And 1 more"),
    ],
)
def test_a_run_that_contradicts_itself_is_refused(edit: Any, said: str, tmp_path: Path) -> None:
    data = changed(sd(), edit)
    with pytest.raises(TraceError, match=said):
        read_runs(data)
    (tmp_path / "x.jsonl").write_bytes(data)
    with pytest.raises(TraceError, match=said):
        read_run(tmp_path / "x.jsonl")


def test_sound_runs_are_read_whole() -> None:
    data = b"".join(trace.to_bytes() for trace in (sd(), bush(), light(sd())))
    assert [len(list(trace.events)) for trace in read_runs(data)] == [5, 3, 5]
    with pytest.raises(TraceError, match="holds 3 runs; at most 2"):
        read_runs(data, max_runs=2)


def test_a_file_holds_one_run_or_several(tmp_path: Path) -> None:
    runs = b"".join(trace.to_bytes() for trace in (sd(), bush(), light(sd())))
    for name, data in (("all.jsonl", runs), ("all.jsonl.gz", gzip.compress(runs))):
        (tmp_path / name).write_bytes(data)
        assert [trace.head.method for trace in read_file(tmp_path / name)] == ["sd", "bush", "sd"]
    (tmp_path / "one.jsonl").write_bytes(sd().to_bytes())
    assert len(read_file(tmp_path / "one.jsonl")) == 1
    (tmp_path / "bad.jsonl").write_bytes(sd().to_bytes() + changed(sd(), lambda e: e[1].update(fed=0)))
    with pytest.raises(TraceError, match="feeds 0 tokens"):
        read_file(tmp_path / "bad.jsonl")
    for name, said in (("none.jsonl", "There is no file"), ("empty.jsonl", "holds no trace")):
        (tmp_path / "empty.jsonl").touch()
        with pytest.raises(TraceError, match=said):
            read_file(tmp_path / name)


def test_a_gzipped_file_of_runs_beyond_the_limit_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read up to the limit it would lack its last run, or the end of it."""
    data, path = b"".join(trace.to_bytes() for trace in (sd(), bush())), tmp_path / "x.jsonl.gz"
    path.write_bytes(gzip.compress(data, compresslevel=0))
    monkeypatch.setattr("engine.analysis.reading.MAX_FILE", len(data))
    with pytest.raises(TraceError, match="larger than"):
        read_file(path)
    monkeypatch.setattr("engine.analysis.reading.MAX_FILE", path.stat().st_size)
    assert len(read_file(path)) == 2


@pytest.mark.thorough
def test_the_recorded_cases_are_sound() -> None:
    for path in sorted(Path("presets/traces").glob("*.jsonl.gz")):
        assert read_run(path).end is not None


def test_acceptance_by_depth_takes_one_pass() -> None:
    """Its work is rounds + levels: a light file may hold 100,000 rounds of which one claims 50,000 levels."""
    (first, *_), deep = light(sd()).rounds, light(sd()).rounds[0]
    deep.drafted = deep.levels = 50_000
    found = Sums.of_rounds([first] * 20_000 + [deep]).by_depth()
    assert found["accepted"][:3] == [20_001, 0, 0] and len(found["depth"]) == 50_000
    assert found["tested"][:3] == [20_001, 20_001, 0]
    assert metrics(sd())["accept_by_depth"]["conditional"] == [1.0, 0.5, 1.0]


@pytest.mark.thorough
def test_everybody_reads_through_it() -> None:
    """`Trace.load` checks types and bounds, not contradictions, so nothing that shows a file's numbers calls it.

    `replay` does: to name contradictions is its purpose.
    """
    for path in (*Path("app").rglob("*.py"), *Path("engine").rglob("*.py")):
        if path in (Path("engine/analysis/reading.py"), Path("engine/cli/replay.py")) or path.parent == Path(
            "engine/trace"
        ):
            continue
        calls = [node.func for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
        found = [f.attr for f in calls if isinstance(f, ast.Attribute) and ast.unparse(f.value) == "Trace"]
        assert not {"load", "loads"} & set(found), path


def test_limits_are_for_all_runs_of_a_file_together() -> None:
    """Nine draft tokens a run: two runs fit in 18, and not in 17."""
    data = sd().to_bytes() * 2
    assert draft_tokens(sd()) == 9 and len(read_runs(data, max_nodes=18, max_runs=2)) == 2
    with pytest.raises(TraceError, match="more than 17 nodes together"):
        read_runs(data, max_nodes=17)
    with pytest.raises(TraceError, match="holds 2 runs; at most 1"):
        read_runs(data, max_runs=1)


def test_what_is_wrong_is_told_briefly() -> None:
    def both(events: list[dict[str, Any]]) -> None:
        events[0]["method"] = "m" * 41
        events[1]["emitted"] = 1

    with pytest.raises(TraceError) as refused:
        read_runs(changed(sd(), both))
    assert f"The run of {'m' * 40!r} contradicts itself." in str(refused.value) and "more" not in str(refused.value)

    with pytest.raises(TraceError, match=r"contradicts itself\. The pieces of the tokens do not make up the text\.$"):
        read_runs(changed(sd(), lambda events: events[-1].update(text="another")))


def test_the_traces_of_a_folder_are_those_below_it_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("b.jsonl", "a/z.jsonl.gz", "a/c.jsonl", "note.txt", "d.json"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    found = [tmp_path / name for name in ("a/c.jsonl", "a/z.jsonl.gz", "b.jsonl")]
    assert traces_in(tmp_path) == found and named([tmp_path, tmp_path / "d.json"]) == [*found, tmp_path / "d.json"]
    assert traces_in(tmp_path / "note.txt") == [tmp_path / "note.txt"], "a file stands for itself"
    assert traces_in(str(tmp_path)) == named(str(tmp_path)) == named(tmp_path) == named([str(tmp_path)]) == found
    for wrong in (None, 5, [5], [b"run.jsonl"]):
        with pytest.raises(ConfigError, match="named by a text or a path, not by"):
            named(wrong)  # type: ignore[arg-type]
    for read in (read_file, read_run):
        with pytest.raises(TraceError, match="named by a text or a path, not by 5"):
            read(5)  # type: ignore[arg-type]
    listing = os.scandir

    def closed(path: str | Path) -> Any:
        if Path(path).name == "a":
            raise PermissionError(13, "Permission denied", str(path))
        return listing(path)

    with monkeypatch.context() as patch:
        patch.setattr(os, "scandir", closed)
        for folder in (tmp_path, tmp_path / "a"):
            with pytest.raises(PermissionError, match=r"a'$"):  # not the others alone, as though they were all
                traces_in(folder)
    (tmp_path / "none").mkdir()
    for nothing, said in (
        (tmp_path / "none", f"no traces in {tmp_path / 'none'}"),
        (tmp_path / "missing", f"no file or folder {tmp_path / 'missing'}"),
    ):
        with pytest.raises(ConfigError, match=said):
            traces_in(nothing)
