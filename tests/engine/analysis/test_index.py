"""An index of many runs: what it says is what the runs say, and it is opened in seconds."""

import errno
import hashlib
import io
import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

from engine.analysis import index
from engine.analysis.pool import pool
from engine.cli import main
from engine.errors import ConfigError, TraceError
from engine.methods.compose import composed
from engine.trace.events import RunEnded
from engine.trace.store import Trace
from tests.app.synthetic import events
from tests.engine.analysis.made import head, sd
from tests.engine.analysis.made_trees import run as made


def runs() -> list[Trace]:
    return [Trace(events(name, 30, seed=seed)) for name in ("plain", "chain", "bush") for seed in (0, 1)]


def test_an_index_says_what_the_runs_say(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = runs()
    for number, trace in enumerate(made):
        trace.save(tmp_path / "below" / f"{number}.jsonl.gz")
    assert main(["index", str(tmp_path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["runs"] == 6
    data = (tmp_path / index.NAME).read_bytes()
    found, whole = index.pool(index.read(data)), pool(made, {"plain": {}})
    (ours,), (theirs,) = found["sections"], whole["sections"]
    rows = {row["label"]: row for row in ours["methods"]}
    for row in theirs["methods"]:
        mine = rows[row["label"]]
        for name in ("runs", "generated", "calls", "tokens", "draft_s"):
            assert mine[name] == pytest.approx(row[name], rel=1e-4), name
        assert mine["tau"]["mean"] == pytest.approx(row["tau"]["mean"], rel=1e-4)
        if row["speedup"]:
            assert mine["speedup"]["mean"] == pytest.approx(row["speedup"]["mean"], rel=1e-4)
    assert (tmp_path / found["named"][0]["file"]).is_file() and len(found["named"]) == 6


def test_a_folder_may_have_any_name(tmp_path: Path) -> None:
    """One that is no UTF-8 (`os.fsencode`), or that looks like an address."""
    for name in ("\udcc3\udcbc", "s3:runs", "a b ü"):
        (tmp_path / name).mkdir()
        assert index.write(tmp_path / name / index.NAME, []) == 0
        assert [path.name for path in (tmp_path / name).iterdir()] == [index.NAME]


def test_a_file_of_several_runs_has_a_row_for_each(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = tmp_path / "one.jsonl"
    with (tmp_path / "several.jsonl").open("wb") as several:
        for trace in runs():
            trace.save(one)
            several.write(one.read_bytes())
    one.unlink()
    assert main(["index", str(tmp_path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["runs"] == 6
    found = index.read((tmp_path / index.NAME).read_bytes())
    assert set(found["file"]) == {"several.jsonl"} and [*found["method"]] == [trace.head.method for trace in runs()]


def test_composed_methods_are_told_apart_by_their_knobs(tmp_path: Path) -> None:
    name = "eagle2+dynamic_tree+top_k"
    for k in (2, 8):
        made = sd()
        card = composed(name)
        assert card is not None
        knobs = {**card.resolve({}), "accept_k": k}
        _, *rest = made.events
        told = replace(made.head, method=name, title="EAGLE-2 with top-K", knobs=knobs)
        Trace([told, *rest]).save(tmp_path / f"{k}.jsonl")
    assert main(["index", str(tmp_path), "--json"]) == 0
    labels = set(index.read((tmp_path / index.NAME).read_bytes())["label"])
    assert len(labels) == 2 and all(label.startswith("EAGLE-2 with top-K") for label in labels)


def frame(n: int, seed: int = 0) -> pd.DataFrame:
    draw = np.random.default_rng(seed)
    rounds = draw.integers(20, 60, n)
    labels = np.array(["ar", "sd", "pld", "eagle3"])[np.arange(n) % 4]
    prompts = np.arange(n) // 4
    table: dict[str, Any] = {name: [""] * n for name in index.TEXTS}
    table |= {name: np.ones(n, dtype=np.int64) for name in index.COUNTS} | {name: np.zeros(n) for name in index.TIMES}
    table |= {"label": labels, "method": labels, "task": "t", "asked": [f"prompt {p}" for p in prompts]}
    table |= {"rounds": rounds, "tokens": 100, "drafted": np.where(labels == "ar", 0, 200), "fed": 300}
    table |= {"verify_ms": rounds * 2.0, "file": [f"{i}.jsonl.gz" for i in range(n)]}
    return pd.DataFrame(table)


@pytest.mark.thorough
def test_intervals_cover_a_quotient() -> None:
    true, hit = 100 / 39.5, 0
    for seed in range(25):
        (section,) = index.pool(frame(200, seed))["sections"]
        told = section["methods"][1]["tau"]
        hit += told["low"] < true < told["high"]
    assert 20 <= hit <= 25


def test_repeats_of_a_prompt_are_no_prompts_of_their_own() -> None:
    again = pd.concat([frame(40).assign(repeat=number) for number in range(5)], ignore_index=True)
    (one,), (many,) = index.pool(frame(40))["sections"], index.pool(again)["sections"]
    for alone, row in zip(one["methods"], many["methods"], strict=True):
        for name in ("calls_each", "tokens_each", "tau", "speedup"):
            assert row[name] == pytest.approx(alone[name]) and row[name]["n"] == 10, name
        assert row["runs"] == 5 * alone["runs"]


def test_what_a_prompt_takes_is_the_mean_over_prompts_however_often_each_was_asked(tmp_path: Path) -> None:
    """Three runs on one prompt and one on the other: as the same traces read one by one."""
    asked = [("a", 2), ("a", 4), ("a", 6), ("b", 5)]
    traces = [made("eagle", [(1, 1, None)] * calls, prompt=prompt) for prompt, calls in asked]
    path = tmp_path / index.NAME
    index.write(path, (index.entry(trace, f"{place}.jsonl") for place, trace in enumerate(traces)))
    (row,), (same,) = (
        found["sections"][0]["methods"] for found in (index.pool(index.read(path.read_bytes())), pool(traces))
    )
    assert row["calls_each"]["mean"] == 4.5
    for name in ("calls_each", "tokens_each"):
        assert row[name] == pytest.approx(same[name], rel=1e-4), name


def test_turns_of_a_conversation_are_no_prompts_of_their_own(tmp_path: Path) -> None:
    same = pd.concat([frame(40, 0), frame(40, 1)], ignore_index=True)
    turns_of = [f"{name}, turn {row // 40}" for row, name in enumerate(same["asked"])]
    talk = same.assign(conversation=same["asked"], asked=turns_of)
    (turns,), (repeats,) = index.pool(talk)["sections"], index.pool(same)["sections"]
    for row, alike in zip(turns["methods"], repeats["methods"], strict=True):
        assert row["tau"] == alike["tau"] and row["tau"]["n"] == row["speedup"]["n"] == 10
    assert (turns["prompts"], repeats["prompts"]) == (20, 10)
    older = tmp_path / index.NAME
    talk.drop(columns="conversation").to_parquet(older)
    assert index.pool(index.read(older.read_bytes()))["sections"][0]["methods"][0]["tau"]["n"] == 20


@pytest.mark.parametrize("place", index.PLACE)
def test_speeds_are_compared_on_one_device_and_dtype(place: str) -> None:
    slow, far = (
        frame(40).assign(**{place: "a"}),
        frame(40).assign(**{place: "b"}).assign(verify_ms=lambda f: f["verify_ms"] / 9),
    )

    def speedups(runs: pd.DataFrame) -> list[float | None]:
        (section,) = index.pool(runs)["sections"]
        assert section["prompts"] == 10 and section["even"]
        return [row["speedup"] and row["speedup"]["mean"] for row in section["methods"]]

    apart = pd.concat([slow[slow["label"] == "ar"], far[far["label"] != "ar"]], ignore_index=True)
    assert speedups(apart) == [1.0, None, None, None]
    both = pd.concat([slow, far], ignore_index=True)
    assert speedups(both) == pytest.approx(speedups(slow))


@pytest.mark.parametrize("data", [b"", b"PAR1", b"PAR1" * 99, pd.DataFrame({"a": [1]}).to_parquet()])
def test_what_is_no_index_is_told(data: bytes) -> None:
    with pytest.raises(TraceError, match=r"Parquet|no index"):
        index.read(data)


def test_numbers_that_cannot_be_are_told() -> None:
    bad = frame(8).assign(tokens=-1).to_parquet()
    with pytest.raises(TraceError, match="tokens must hold numbers >= 0"):
        index.read(bad)
    with pytest.raises(TraceError, match="names no run"):
        index.pool(frame(0))


@pytest.mark.parametrize("value", [1e308, float("inf")])
def test_numbers_beyond_what_runs_can_have_are_told(value: float) -> None:
    with pytest.raises(TraceError, match="verify_ms must hold numbers >= 0, up to 1e"):
        index.read(frame(8).assign(verify_ms=value).to_parquet())
    with pytest.raises(TraceError, match="rounds must hold numbers >= 0, up to 1e"):
        index.read(frame(8).assign(rounds=2**62).to_parquet())


@pytest.mark.parametrize("column", index.MOST_KINDS)
def test_more_tasks_or_labels_than_a_page_can_show_are_refused(column: str) -> None:
    most = index.MOST_KINDS[column]
    for count in (most, most + 1):
        data = frame(count).assign(**{column: [f"kind {number}" for number in range(count)]}).to_parquet()
        if count == most:
            assert len(index.read(data)) == most
        else:
            with pytest.raises(TraceError, match=f"{count} different values of {column}; at most {most}"):
                index.read(data)


def repeated(n: int, text: str = "") -> bytes:
    """An index in which all rows are alike: it packs to nearly nothing."""
    columns: dict[str, Any] = {
        name: pa.DictionaryArray.from_arrays(np.zeros(n, np.int32), [text]) for name in index.TEXTS
    }
    columns |= {name: np.ones(n, np.int64) for name in index.COUNTS} | {name: np.ones(n) for name in index.TIMES}
    file = io.BytesIO()
    parquet.write_table(pa.table(columns), file, store_schema=False)
    return file.getvalue()


@pytest.mark.thorough
def test_an_index_that_unpacks_to_too_much_is_refused_before_it_does() -> None:
    many, few = repeated(700_000), repeated(300_000)
    assert len(index.read(few)) == 300_000 and len(many) < 1_000_000
    with pytest.raises(TraceError, match="b: more than 1,000,000 runs"):
        index.read_all([("a", many), ("few", few), ("b", few)])
    long = repeated(1000, "x" * 500_000)
    assert len(long) < 1_000_000
    with pytest.raises(TraceError, match=r"long: .* larger than 400 MB"):
        index.read(long, "long")


def test_texts_that_are_no_unicode_are_told() -> None:
    table = parquet.read_table(io.BytesIO(repeated(1)))
    bytes_of = pa.array([b"\xff\xfe"] * table.num_rows, pa.binary()).view(pa.string())
    sink = io.BytesIO()
    parquet.write_table(table.set_column(table.schema.get_field_index("label"), "label", bytes_of), sink)
    with pytest.raises(TraceError, match="no Parquet file that can be read"):
        index.read(sink.getvalue())


def test_columns_of_another_kind_are_told() -> None:
    with pytest.raises(TraceError, match="label must hold texts"):
        index.read(frame(8).assign(label=pd.Series([["x"] * 9] * 8)).to_parquet())
    with pytest.raises(TraceError, match="tokens must hold numbers"):
        index.read(frame(8).assign(tokens="3").to_parquet())


def test_runs_that_were_cut_off_have_no_row(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole, other = runs()[:2]
    whole.save(tmp_path / "whole.jsonl")
    Trace(list(other.events)[:-1]).save(tmp_path / "cut.jsonl")
    Trace([*list(other.events)[:-1], RunEnded("stopped", None, None, other.text)]).save(tmp_path / "stopped.jsonl")
    for command in ("index", "pooled"):
        assert main([command, str(tmp_path)]) == 0
        assert "2 runs left out: cut off, by a stop or a fault." in capsys.readouterr().out
        assert main([command, str(tmp_path), "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["left_out"] == 2
    assert list(index.read((tmp_path / index.NAME).read_bytes())["file"]) == ["whole.jsonl"]


def test_an_index_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), index.Writer(tmp_path / index.NAME) as writer:
        for row in frame(index.GROUP + 1).to_dict("records"):
            writer.add({str(name): value for name, value in row.items()})
        1 / 0
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("fails", ["open", "write", "close", "row"])
def test_an_index_that_cannot_be_written_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails: str
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    rows = [{str(name): value for name, value in row.items()} for row in frame(3).to_dict("records")]
    if fails == "row":
        rows[1]["tokens"] = "many"
        with pytest.raises(pa.ArrowException):
            index.write(tmp_path / index.NAME, rows)
    else:
        opened = parquet.ParquetWriter
        made = (lambda *given, **more: full()) if fails == "open" else (lambda *given, **more: opened(*given, **more))
        monkeypatch.setattr(parquet, "ParquetWriter", made)
        if fails != "open":
            monkeypatch.setattr(opened, {"write": "write_table", "close": "close"}[fails], full)
        with pytest.raises(OSError) as told:
            index.write(tmp_path / index.NAME, rows)
        assert told.value.filename == str(tmp_path / index.NAME)
    assert not list(tmp_path.iterdir())


def test_an_index_goes_into_a_folder(tmp_path: Path) -> None:
    (tmp_path / "run.jsonl").write_text("")
    with (
        pytest.raises(ConfigError, match=r"Nothing can be put in .*run\.jsonl is no folder"),
        index.Writer(tmp_path / "run.jsonl" / index.NAME),
    ):
        pass


@pytest.mark.slow
def test_a_hundred_thousand_runs_are_opened_in_seconds() -> None:
    data = frame(100_000).to_parquet()
    began = time.process_time()
    found = index.pool(index.read(data))
    assert found["runs"] == 100_000 and time.process_time() - began < 10
    assert len(found["named"]) == 4 * 2 * index.SHOWN


def test_a_look_up_that_found_nothing_is_no_plain_decoding(tmp_path: Path) -> None:
    """Nor does its place before `ar` make it one."""
    idle, plain, chain = (Trace(events(name, 30, seed=0)) for name in ("plain", "plain", "chain"))
    idle.head.method, idle.head.title, idle.head.guarantee = "idle", "Idle", "lossless"
    for event in idle.rounds:
        event.verify_ms *= 2
    path = tmp_path / index.NAME
    index.write(path, (index.entry(trace, f"{n}.jsonl") for n, trace in enumerate((idle, plain, chain))))
    (section,) = index.pool(index.read(path.read_bytes()))["sections"]
    rows = {row["label"]: row["speedup"] and row["speedup"]["mean"] for row in section["methods"]}
    assert rows[plain.head.title] in (None, pytest.approx(1.0)) and rows["Idle"] == pytest.approx(0.5, rel=0.2)
    (whole,) = pool([idle, plain, chain], {})["sections"]
    again = {row["label"]: row["speedup"] and row["speedup"]["mean"] for row in whole["methods"]}
    assert again["Idle"] == pytest.approx(rows["Idle"], rel=1e-3)
    assert again[chain.head.title] == pytest.approx(rows[chain.head.title], rel=1e-3)


def test_runs_of_other_settings_are_other_rows(tmp_path: Path) -> None:
    for number, gamma in enumerate((5, 5, 8)):
        trace = Trace(events("chain", 30, seed=number))
        trace.head.method, trace.head.title, trace.head.knobs = "sd", "SD", {"gamma": gamma}
        trace.save(tmp_path / f"{number}.jsonl")
    assert main(["index", str(tmp_path), "--json"]) == 0
    found = index.read((tmp_path / index.NAME).read_bytes())
    assert found["label"].value_counts().to_dict() == {"SD": 2, "SD, gamma 8": 1}


def test_a_damaged_file_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs()[0].save(tmp_path / "good.jsonl")
    (tmp_path / "bad.jsonl").write_bytes(b"\xbc\x00")
    assert main(["index", str(tmp_path)]) == 2
    assert "bad.jsonl: " in capsys.readouterr().err


def test_a_row_says_what_the_run_was_asked_and_took() -> None:
    extras = {"task": "functions", "category": "code", "key": "k7", "repeat": 2, "conversation": "c5"}
    sampling = {"temperature": 0.5, "top_k": 0, "top_p": 1.0}
    trace = Trace(
        [head("sd", prompt="x" * 121, extras=extras, sampling=sampling), *sd().rounds, RunEnded("eos", 0, 0, "")]
    )
    row = index.entry(trace, "a/b.jsonl", "SD, gamma 3")
    assert {name: row[name] for name in ("file", "label", "method", "title", "guarantee")} == {
        **{"file": "a/b.jsonl", "label": "SD, gamma 3", "method": "sd", "title": "SD", "guarantee": "lossless"},
    }
    assert (row["task"], row["category"], row["key"], row["repeat"], row["temperature"]) == (
        "functions",
        "code",
        "k7",
        2,
        0.5,
    )
    assert row["prompt"] == "x" * 120 and row["asked"] == hashlib.blake2b(b"x" * 121, digest_size=8).hexdigest()
    assert (row["target"], row["limit"], row["device"], row["dtype"]) == ("t", 8, "cpu", "float32")
    counts = [row[name] for name in ("tokens", "rounds", "drafting", "drafted", "accepted", "levels", "fed")]
    assert counts == [7, 3, 3, 9, 5, 9, 12] and (row["draft_ms"], row["verify_ms"], row["other_ms"]) == (9.0, 30.0, 6.0)
    bare = index.entry(Trace([head("sd", extras={}, sampling={})]), "a")
    assert (row["conversation"], bare["conversation"]) == ("c5", "")
    assert (bare["label"], bare["category"], bare["key"], bare["repeat"], bare["temperature"]) == ("SD", "", "", 0, 0.0)
    assert set(row) == {*index.TEXTS, *index.COUNTS, *index.TIMES} and index.flaw(row) == index.flaw(bare) == ""


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        ({"task": 3}, "task in the index is a text, not 3"),
        ({"label": None}, ""),
        ({"tokens": -1}, "tokens in the index is a number >= 0"),
        ({"tokens": 1.5}, "tokens in the index is a number >= 0"),
        ({"tokens": True}, "tokens in the index is a number >= 0"),
        ({"draft_ms": 1.1e15}, "draft_ms in the index is a number >= 0, up to 1e+15"),
        ({"draft_ms": 1e15, "tokens": 0}, ""),
        ({"verify_ms": float("nan")}, "verify_ms in the index is a number >= 0"),
        ({"other_ms": None}, "other_ms in the index is a number >= 0"),
    ],
)
def test_what_is_no_row_is_told(spoil: dict[str, Any], told: str) -> None:
    found = index.flaw(index.entry(sd(), "a") | spoil)
    assert found.startswith(told) and bool(found) is bool(told)
    assert index.flaw([]) == "an entry of the index is an object"


def test_rows_are_written_as_they_come(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index, "GROUP", 2)
    rows = [index.entry(sd(), f"{number}") for number in range(5)]
    assert index.write(tmp_path / "new" / index.NAME, rows) == 5
    data = (tmp_path / "new" / index.NAME).read_bytes()
    groups = parquet.ParquetFile(io.BytesIO(data)).metadata
    assert [groups.row_group(number).num_rows for number in range(groups.num_row_groups)] == [2, 2, 1]
    assert index.read(data)["file"].tolist() == ["0", "1", "2", "3", "4"]


def test_limits_are_for_all_indexes_together(monkeypatch: pytest.MonkeyPatch) -> None:
    data = frame(8).to_parquet()
    packed = parquet.ParquetFile(io.BytesIO(data)).metadata.row_group(0).total_byte_size
    room = index._table(data, "a", 8, 10**9)[1] + packed  # of the first as it is unpacked, and the second as it says
    assert len(index.read_all([("a", data), ("b", data)])) == 16
    for runs, most, told in ((16, room, ""), (15, room, "b: more than 15 runs"), (16, room - 1, "b: once unpacked")):
        monkeypatch.setattr(index, "MOST_RUNS", runs)
        monkeypatch.setattr(index, "MOST_BYTES", most)
        if told:
            with pytest.raises(TraceError, match=told):
                index.read_all([("a", data), ("b", data)])
        else:
            assert len(index.read_all([("a", data), ("b", data)])) == 16


def test_figures_of_an_index_by_hand() -> None:
    """Three prompts of two methods: calls, verified tokens and tokens of each, and times in milliseconds."""
    table = frame(6).assign(
        label=["ar", "sd"] * 3,
        method=["ar", "sd"] * 3,
        asked=["a", "a", "b", "b", "c", "c"],
        task=["t"] * 4 + ["u"] * 2,
    )
    table = table.assign(tokens=[10, 10, 20, 20, 30, 30], rounds=[10, 4, 20, 6, 30, 10], fed=[10, 20, 20, 36, 30, 60])
    table = table.assign(drafted=[0, 16, 0, 30, 0, 50], verify_ms=[10.0, 5.0, 20.0, 10.0, 30.0, 15.0], draft_ms=1.0)
    every, first, _ = index.pool(table)["sections"]
    assert [section["task"] for section in index.pool(table)["sections"]] == ["all tasks", "t", "u"]
    assert (every["prompts"], every["even"], first["prompts"]) == (3, True, 2)
    sd_row = every["methods"][1]
    assert (sd_row["runs"], sd_row["generated"], sd_row["calls"], sd_row["tokens"]) == (3, 60, 20, 116)
    assert sd_row["tau"]["mean"] == pytest.approx(3.0) and sd_row["calls_each"]["mean"] == pytest.approx(20 / 3)
    assert sd_row["tokens_each"]["mean"] == pytest.approx(116 / 3)
    assert sd_row["tokens_per_s"] == pytest.approx(60 / 0.033) and sd_row["verify_s"] == pytest.approx(0.03)
    assert sd_row["draft_s"] == pytest.approx(0.003) and sd_row["other_s"] == 0.0
    assert sd_row["speedup"]["mean"] == pytest.approx((60 / 33) / (60 / 63)) and sd_row["speedup"]["n"] == 3
    alone = index.pool(table[table["label"] == "sd"])["sections"][0]["methods"][0]
    assert alone["speedup"] is None
    uneven = index.pool(table.iloc[:5])["sections"][0]
    assert not uneven["even"]
    others = table.assign(asked=["a", "b", "b", "c", "c", "d"])
    assert not index.pool(others)["sections"][0]["even"], "as many prompts, and not the same"


def test_the_fewest_and_the_most_tokens_a_call_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index, "SHOWN", 1)
    table = frame(4).assign(label="sd", method="sd", asked=list("abcd"), rounds=[10, 5, 20, 0])
    named = index.pool(table)["named"]
    assert [(row["file"], row["tau"], row["calls"]) for row in named] == [
        ("2.jsonl.gz", 5.0, 20),
        ("1.jsonl.gz", 20.0, 5),
    ]
