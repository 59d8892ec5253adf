"""A folder that processes share: who does what, what survives a stop, what is refused."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from engine.errors import ConfigError
from engine.files.shards import Shard
from engine.files.shards import parts as shard_files
from engine.runs import sweep
from engine.runs.sweep import Kept, Sweep

SETTINGS = {"methods": ["ar", "sd"], "seed": 0}


@pytest.mark.parametrize("text", ["1/1", "-1/2", "a/2", "1", "", "1/2/3", "0/0"])
def test_shards_that_are_none(text: str) -> None:
    with pytest.raises(ValueError):
        Shard.parse(text)


def test_every_unit_is_one_process_s() -> None:
    shards = [Shard.parse(f"{i}/3") for i in range(3)]
    assert all(sum(shard.takes(unit) for shard in shards) == 1 for unit in range(20))


def test_launchers_tell_the_shard() -> None:
    assert Shard.of_launcher({}) == Shard(0, 1)
    assert Shard.of_launcher({"RANK": "2", "WORLD_SIZE": "4"}) == Shard(2, 4)
    assert Shard.of_launcher({"RANK": "x", "WORLD_SIZE": "4"}) == Shard(0, 1)


@pytest.mark.parametrize("stem", ["run", "run[1]", "a*b", "x.big"])
def test_only_files_of_the_same_name_are_those_of_other_processes(stem: str, tmp_path: Path) -> None:
    own = [Shard(i, 2).own(tmp_path / f"{stem}.jsonl") for i in range(2)]
    others = [tmp_path / f"{stem}.big.0-of-2.jsonl", tmp_path / f"{stem}.a-of-2.jsonl", tmp_path / "run1.0-of-2.jsonl"]
    for path in (*own, *others):
        path.write_text("")
    assert shard_files(tmp_path / f"{stem}.jsonl") == own


def test_processes_meet_in_the_folder(tmp_path: Path) -> None:
    one, two = (Sweep(tmp_path, SETTINGS, Shard(i, 2)) for i in range(2))
    two.keep(1, {"text": "b"})
    one.keep(0, {"text": "a\u2028"})
    assert one.done() == two.done() == {0, 1}
    assert [unit["text"] for unit in one.found()] == ["a\u2028", "b"]
    del one, two
    assert Sweep(tmp_path, SETTINGS, Shard()).done() == {0, 1}, "another number of processes goes on as well"


def test_a_line_that_was_cut_off_is_not_done(tmp_path: Path) -> None:
    for shard in (Shard(), Shard(1, 2)):
        Sweep(tmp_path, SETTINGS, shard).keep(shard.count, {"text": "a"})
        with next(tmp_path.glob(f"rows-{shard.index}-of-{shard.count}.ndjson")).open("a") as file:
            file.write('{"unit": 7, "te')
    again = Sweep(tmp_path, SETTINGS, Shard())
    assert again.done() == {1, 2}
    again.keep(7, {"text": "b"})
    assert [unit["unit"] for unit in again.found()] == [1, 2, 7]


def test_another_sweep_is_refused_with_what_differs(tmp_path: Path) -> None:
    Sweep(tmp_path, SETTINGS, Shard()).keep(0, {})
    with pytest.raises(ConfigError, match="seed is 0 there, 1 here"):
        Sweep(tmp_path, {**SETTINGS, "seed": 1}, Shard())
    assert not list(tmp_path.glob("*.part"))


def test_of_a_long_setting_the_part_that_differs_is_told(tmp_path: Path) -> None:
    methods = [f"sd:gamma={n}" for n in range(1, 20)]
    settings = {"methods": methods, "models": {"target": "a", "draft": "b"}}
    Sweep(tmp_path, settings, Shard())
    with pytest.raises(ConfigError, match=r"sweep: methods\[18\] is 'sd:gamma=19' there, 'ar' here\. Name"):
        Sweep(tmp_path, {**settings, "methods": [*methods[:-1], "ar"]}, Shard())
    with pytest.raises(ConfigError, match=r"sweep: models\.draft is 'b' there, 'c' here\. Name"):
        Sweep(tmp_path, {**settings, "models": {"target": "a", "draft": "c"}}, Shard())
    with pytest.raises(ConfigError, match=r"models is \{.*\} there, 'a' here"):
        Sweep(tmp_path, {**settings, "models": "a"}, Shard())
    with pytest.raises(ConfigError, match=r"methods is \['sd:gamma=1', .*\] there, \{'all': True\} here"):
        Sweep(tmp_path, {**settings, "methods": {"all": True}}, Shard())
    with pytest.raises(ConfigError, match=r"methods is \['sd:gamma=1', .*\] there, None here"):
        Sweep(tmp_path, {"models": settings["models"]}, Shard())


def test_rows_without_their_head_are_of_an_unknown_sweep(tmp_path: Path) -> None:
    Sweep(tmp_path, SETTINGS, Shard(1, 2)).keep(0, {})
    (tmp_path / "sweep.json").unlink()
    for settings in (SETTINGS, {**SETTINGS, "seed": 1}):
        with pytest.raises(ConfigError, match=r"holds rows-1-of-2\.ndjson without sweep\.json, .* Name another folder"):
            Sweep(tmp_path, settings, Shard())
    assert [path.name for path in tmp_path.iterdir()] == ["rows-1-of-2.ndjson"]
    (tmp_path / "rows-1-of-2.ndjson").write_text("")
    assert Sweep(tmp_path, SETTINGS, Shard()).done() == set()


def test_damaged_lines_are_told_with_their_place(tmp_path: Path) -> None:
    def flaw(unit: Mapping[str, Any]) -> str:
        return "" if unit["unit"] < 9 and "text" in unit else "it has no text"

    with pytest.raises(ConfigError, match=r"rows-0-of-1\.ndjson, line 2 is damaged: it has no text\. Delete that line"):
        sweep = Sweep(tmp_path, SETTINGS, Shard(), flaw)
        sweep.keep(0, {"text": "a"})
        sweep.keep(1, {})
        sweep.done()
    del sweep
    rows = tmp_path / "rows-0-of-1.ndjson"
    sound = '{"unit": 0, "text": "a"}\n'
    for line in (
        "[]",
        "{}",
        '{"unit": "0"}',
        '{"unit": true, "text": ""}',
        '{"unit": -1, "text": ""}',
        '{"unit": 0.0}',
    ):
        rows.write_text(sound + line + "\n" + sound)
        with pytest.raises(
            ConfigError, match=r"ndjson, line 2 is damaged: it is no line of a sweep, .* Delete that line"
        ):
            list(Sweep(tmp_path, SETTINGS, Shard(), flaw).found())
    rows.write_text(sound + '{"unit": \n')
    with pytest.raises(ConfigError, match=r"ndjson, line 2 is not JSON in UTF-8: .* Delete that line, and the same"):
        Sweep(tmp_path, SETTINGS, Shard(), flaw).done()
    rows.write_text(sound)
    going = Sweep(tmp_path, SETTINGS, Shard(0, 2), flaw)
    assert going.done() == {0}
    Sweep(tmp_path, SETTINGS, Shard(1, 2)).keep(9, {"text": ""})
    with pytest.raises(ConfigError, match=r"rows-1-of-2\.ndjson, line 1 is damaged"):
        going.done()


def test_a_shard_is_one_process_s_at_a_time(tmp_path: Path) -> None:
    one, other = Sweep(tmp_path, SETTINGS, Shard(0, 2)), Sweep(tmp_path, SETTINGS, Shard(1, 2))
    one.keep(0, {"text": "a"})
    own = tmp_path / "rows-0-of-2.ndjson"
    with own.open("a") as file:
        file.write('{"unit": 1, "te')  # what the first is about to write whole
    with pytest.raises(ConfigError, match=rf"ndjson is being written by process {os.getpid()} on .*--shard I/N"):
        Sweep(tmp_path, SETTINGS, Shard(0, 2))
    assert own.read_text().endswith('"te'), "nobody mends it meanwhile"
    del one
    assert Sweep(tmp_path, SETTINGS, Shard(0, 2)).done() == other.done() == {0}
    assert own.read_text().endswith("}\n") and not list(tmp_path.glob("rows-0-of-2.*.lock"))


def test_another_number_of_processes_waits_for_those_at_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole and as a shard at once, units were done twice. A lock that a killed process left is none."""
    monkeypatch.setattr(sweep, "MOMENT", 0.0)
    one = Sweep(tmp_path, SETTINGS, Shard(0, 2))
    for shard in (Shard(), Shard(0, 4)):
        with pytest.raises(ConfigError, match=r"rows-0-of-2\.ndjson is being written by process .* and one N\."):
            Sweep(tmp_path, SETTINGS, shard)
    one.keep(0, {"text": "a"})
    del one
    (tmp_path / "rows-0-of-2.ndjson.lock").write_text("process 1 on elsewhere\n")
    assert Sweep(tmp_path, SETTINGS, Shard()).done() == {0}
    assert not list(tmp_path.glob("*.lock"))


@pytest.mark.parametrize("name, text", [("sweep.json", "x"), ("sweep.json", "[]"), ("rows-0-of-1.ndjson", "[]\n")])
def test_files_that_are_no_sweep(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(ConfigError, match="sweep"):
        Sweep(tmp_path, SETTINGS, Shard()).done()


def test_without_a_folder_it_is_in_memory() -> None:
    kept = Kept()
    kept.keep(3, {"text": "b"})
    kept.keep(1, {"text": "a"})
    assert kept.done() == {1, 3} and [unit["text"] for unit in kept.found()] == ["a", "b"]
    assert json.dumps(list(kept.found()))
