import gzip
import json
import os
import subprocess
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from engine.errors import ConfigError, TraceError
from engine.trace import Trace
from engine.trace.events import Node, Round, RunEnded, RunStarted, Token


def head(**changed: Any) -> RunStarted:
    given: dict[str, Any] = {
        "id": "a",
        "method": "sd",
        "title": "SD",
        "drafter": "model",
        "shape": "chain",
        "rule": "exact",
        "guarantee": "lossless",
        "knobs": {"gamma": 2, "tau": float("inf")},
        "models": {"target": {"id": "t", "layers": 8}},
        "prompt": "x",
        "prompt_ids": [5],
        "prompt_pieces": ["x"],
        "sampling": {"temperature": 0.0},
        "seed": -1,
        "max_new_tokens": 4,
        "vocab": 9,
        "dtype": "float32",
        "device": "cpu",
        "record": "full",
        "stop": [],
        "chat": False,
        "top_n": 10,
    }
    return RunStarted(**(given | changed))


def round_(index: int = 0, start: int = 0) -> Round:
    nodes = [
        Node(
            1,
            -1,
            1,
            "accepted",
            q=0.5,
            top_draft=[(1, 0.5), (2, 0.25)],
            margin=float("inf"),
            reason={"id": "greedy_match", "choice": 1},
        ),
        Node(2, 0, 2, "rejected", p=1e-9, source={"order": 3}),
    ]
    tokens = [Token(start, 1, "café ", "draft", index, 0), Token(start + 1, 3, "\n", "correction", index, h_target=2.0)]
    return Round(
        index,
        start,
        2,
        3,
        2,
        1,
        2,
        [0],
        1.0,
        2.0,
        0.5,
        extras={"k": 2},
        nodes=nodes,
        tokens=tokens,
        pieces={"1": "café ", "2": "b"},
    )


def whole() -> Trace:
    return Trace([head(), round_(), round_(1, 2), RunEnded("eos", 1.0, 7.5, "café \ncafé \n")])


def lines(trace: Trace | None = None) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (trace or whole()).to_lines()]


def packed(objects: list[Any]) -> bytes:
    return "".join(json.dumps(one) + "\n" for one in objects).encode()


def test_a_trace_knows_its_parts() -> None:
    trace = whole()
    assert trace.head.method == "sd" and len(trace.rounds) == 2 and trace.end is not None
    assert trace.token_ids == [1, 3, 1, 3]
    assert trace.text == "café \ncafé \n"
    assert trace.pieces == {5: "x", 1: "café ", 2: "b"}
    assert trace.metrics()["tokens"] == 4


@pytest.mark.parametrize("events", ["run.jsonl", [5], [None]])
def test_a_trace_is_made_of_events(events: Any) -> None:
    with pytest.raises(TraceError, match=r"A trace is made of events, not of .*; `Trace.load` reads a file"):
        Trace(events)


@pytest.mark.parametrize("events", [5, None, whole()])
def test_what_holds_no_events_is_no_trace(events: Any) -> None:
    with pytest.raises(TraceError, match=r"A trace takes a list of events, not .*; those of another are its `events`"):
        Trace(events)


def test_the_text_of_a_run_that_ended_is_what_it_told_though_it_is_empty() -> None:
    trace = Trace([head(), Round(0, 0, 0, 1, 0, 0, 1, [], 1.0, 1.0, 0.0, tokens=[Token(0, 2, "<eos>", "target", 0)])])
    assert trace.text == "<eos>"
    trace.append(RunEnded("eos", 1.0, 2.0, ""))
    assert trace.text == ""


def test_the_text_of_a_run_that_an_error_ended_is_that_of_its_tokens() -> None:
    trace = Trace([head(), Round(0, 0, 0, 1, 0, 0, 1, [], 1.0, 1.0, 0.0, tokens=[Token(0, 4, "a", "target", 0)])])
    trace.append(RunEnded("error", 1.0, 2.0, "", "no memory"))
    assert trace.text == "a"


@pytest.mark.parametrize("data", [None, 5, Path("run.jsonl"), whole()])
def test_what_is_neither_bytes_nor_text_is_not_read(data: Any) -> None:
    with pytest.raises(TraceError, match=r"the bytes or the text of a file, not .*; `Trace.load` reads"):
        Trace.loads(data)


@pytest.mark.parametrize("kind", [bytearray, memoryview])
def test_bytes_of_any_kind_are_read(kind: Any) -> None:
    assert Trace.loads(kind(whole().to_bytes())).to_bytes() == whole().to_bytes()


def test_the_text_of_a_file_is_read_as_its_bytes_are() -> None:
    data = whole().to_bytes()
    assert Trace.loads(data.decode()).to_bytes() == Trace.loads(data).to_bytes() == data


def test_a_growing_trace_is_usable() -> None:
    trace = Trace()
    with pytest.raises(TraceError, match="empty"):
        _ = trace.head
    trace.append(head())
    assert trace.text == "" and trace.tokens == []
    trace.append(round_())
    assert trace.text == "café \n" and trace.end is None


def test_lines_are_strict_json_with_kind_and_schema_first() -> None:
    first, second, *_ = whole().to_lines()
    assert first.startswith('{"kind":"run","schema":1,') and second.startswith('{"kind":"round",')
    assert "null" not in second and "NaN" not in first + second
    node = json.loads(second)["nodes"][1]
    assert "q" not in node and "u" not in node and node["p"] == 1e-9
    assert json.loads(first)["knobs"]["tau"] == json.loads(second)["nodes"][0]["margin"] == "Infinity"


@pytest.mark.parametrize("name", ["run.jsonl", "run.jsonl.gz"])
def test_round_trip_on_disk(tmp_path: Path, name: str) -> None:
    path = whole().save(tmp_path / "new" / name)
    assert list(Trace.load(path).events) == list(whole().events)
    assert [p.name for p in path.parent.iterdir()] == [name]
    assert (path.read_bytes()[:2] == b"\x1f\x8b") == name.endswith(".gz")
    again = path.read_bytes()
    whole().save(str(path))
    assert path.read_bytes() == again


def test_a_byte_order_mark_is_no_part_of_a_trace() -> None:
    data = b"\xef\xbb\xbf" + whole().to_bytes()
    assert Trace.loads(data).to_bytes() == whole().to_bytes() == Trace.loads(gzip.compress(data)).to_bytes()


def test_a_failed_save_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = whole().save(tmp_path / "run.jsonl")
    before = path.read_bytes()
    monkeypatch.setattr(Path, "replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        Trace([head()]).save(path)
    with pytest.raises(TraceError, match="The trace is empty"):
        Trace().save(path)
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]


def test_nan_is_unknown_and_half_surrogates_do_not_stop_a_save() -> None:
    trace = Trace([head(prompt="\ud800", knobs={"a": float("nan")}), round_()])
    trace.rounds[0].nodes[0].p = float("nan")
    back = Trace.loads(trace.to_bytes())
    assert back.rounds[0].nodes[0].p is None and back.head.knobs == {"a": None} and back.head.prompt == "?"


def test_a_growing_file_may_end_anywhere() -> None:
    data = whole().to_bytes()
    second = data.index(b"\n") + 1
    for cut in range(second, len(data) - 1, 7):
        trace = Trace.loads(data[:cut])
        assert len(trace.rounds) <= 2 and trace.end is None
    assert Trace.loads(data[:-1]).end is not None  # complete but for its newline
    squeezed = gzip.compress(data)
    assert Trace.loads(squeezed[:-12]).head == whole().head


def test_a_cut_first_line_is_no_trace() -> None:
    for data in (b"", b"\n\n", b'{"kind": "run"', whole().to_bytes()[:50]):
        with pytest.raises(TraceError):
            Trace.loads(data)


def test_what_repeats_a_run_is_kept_and_needed() -> None:
    told = Trace([head(stop=["\n"], chat=True, top_n=3)])
    back = Trace.loads(told.to_bytes()).head
    assert (back.stop, back.chat, back.top_n) == (["\n"], True, 3)
    for name in ("stop", "chat", "top_n"):
        less = lines()
        del less[0][name]
        with pytest.raises(TraceError, match=f"no field '{name}'"):
            Trace.loads(packed(less))


def test_times_that_nobody_measured_stay_unknown() -> None:
    end = RunEnded("error", None, None, "", "The device is out of memory.")
    data = Trace([head(), end]).to_bytes()
    assert b"_ms" not in data and Trace.loads(data).end == end
    assert Trace.loads(data).metrics()["prefill_s"] is None


def test_unknown_fields_are_ignored() -> None:
    found = lines()
    found[0]["weather"] = found[1]["mood"] = found[1]["nodes"][0]["aura"] = {"deep": [1]}
    assert list(Trace.loads(packed(found)).events) == list(whole().events)


def _edit(*path: Any, value: Any) -> list[Any]:
    found: Any = lines()
    at = found
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    return found


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ((0, "schema"), 2, "schema 2; only schema 1"),
        ((0, "schema"), None, "schema None"),
        ((0, "schema"), True, "schema True"),
        ((0, "kind"), "rnu", "Did you mean 'run'"),
        ((0, "kind"), ["run"], "Unknown kind"),
        ((0, "seed"), "1", "run.seed must be an integer, not a text"),
        ((0, "seed"), 2**60, "seed must be from"),
        ((0, "seed"), True, "not a switch"),
        ((0, "vocab"), -1, "vocab must be from 0"),
        ((0, "prompt_ids"), [1, "2"], "run.prompt_ids must be an integer"),
        ((0, "prompt"), 5, "run.prompt must be a text"),
        ((0, "chat"), 1, "run.chat must be true or false, not a number"),
        ((0, "stop"), "ab", "run.stop is a list, not a text"),
        ((0, "method"), None, "no field 'method'"),
        ((0, "models"), {"target": 3}, "is a JSON object, not a number"),
        ((0, "versions"), {"torch": 2}, "must be a text"),
        ((0, "knobs"), [], "run.knobs is a JSON object"),
        ((0, "extras"), {"x": {"y": "\ud800"}}, "surrogate"),
        ((1, "draft_ms"), 10**400, "must be a finite number"),
        ((1, "extras"), {"x": 10**400}, "must be a finite number"),
        ((1, "draft_ms"), "fast", "must be a number, not a text"),
        ((1, "accepted"), 1.0, "must be an integer"),
        ((1, "nodes"), {}, "is a list, not an object"),
        ((1, "nodes", 0), 7, "is a JSON object, not a number"),
        ((1, "nodes", 0, "state"), "acepted", "Did you mean 'accepted'"),
        ((1, "tokens", 0, "origin"), "x" * 500, "tokens.origin: Unknown origin"),
        ((0, "guarantee"), "losless", "run.guarantee: Unknown guarantee 'losless'. Did you mean 'lossless'"),
        ((0, "record"), "whole", "run.record: Unknown record 'whole'. Known: full, light"),
        ((-1, "reason"), "length", "end.reason: Unknown reason 'length'. Known: context, eos, error, limit"),
        ((1, "nodes", 0, "top_draft"), [[1, 0.5, 2]], r"list of \[token id, probability\]"),
        ((1, "nodes", 0, "top_draft"), [["1", 0.5]], "must be an integer"),
        ((1, "nodes", 1, "parent"), 1, "parent 1; a parent comes before"),
        ((1, "nodes", 1, "parent"), -2, "parent must be from"),
        ((1, "nodes", 1, "depth"), 3, "has depth 3; its parent is at depth 1"),
        ((1, "path"), [2], "index 2 points to no node"),
        ((1, "tokens", 0, "node"), 9, "index 9 points to no node"),
        ((1, "path"), [-1], "path must be from"),
        ((1, "index"), 1, "Round 1 comes where round 0 is due"),
        ((2, "index"), 0, "Round 0 comes where round 1 is due"),
        ((2, "start"), 3, "starts at 3, but 2 tokens precede it"),
        ((2, "tokens", 1, "pos"), 2, "position 2 where 3 is due"),
        ((1, "kind"), "run", "schema None"),
        ((3, "total_ms"), "Infinit", "must be a number"),
        ((2,), [], "is a JSON object, not a list"),
        ((2,), None, "is a JSON object, not null"),
    ],
)
def test_wrong_fields_are_named(path: tuple[Any, ...], value: Any, said: str) -> None:
    with pytest.raises(TraceError, match=said) as caught:
        Trace.loads(packed(_edit(*path, value=value)))
    assert len(str(caught.value)) < 300


def test_order_of_events() -> None:
    start, one, two, end = lines()
    for order, said in (
        ([one], "starts with its run"),
        ([start, start], "has its run already"),
        ([start, end, one], "has ended"),
        ([start, two], "round 0 is due"),
        ([start, one, one], "round 1 is due"),
    ):
        with pytest.raises(TraceError, match=said):
            Trace.loads(packed(order))


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b'{"kind": "end", "kind": "end"}', "given twice"),
        (b'{"kind": "end", "total_ms": NaN}', "NaN is not a number"),
        (b'{"kind": "end", "total_ms": -Infinity}', "-Infinity is not a number"),
        (b"[" * 100_000, "nested too deeply|not JSON"),
        (b'{"kind": "end", "x": ' + b"9" * 5000 + b"}", "not JSON"),
        (b"\x89PNG\r", r"^Line 2 is no text in UTF-8, so this is no trace\.$"),
        (b"{} trailing", r"^Line 2 is not JSON, as every line of a trace is \(column 4: Extra data\)\.$"),
    ],
)
def test_wrong_json(line: bytes, said: str) -> None:
    data = whole().to_bytes()
    first = data[: data.index(b"\n") + 1]
    with pytest.raises(TraceError, match=said):
        Trace.loads(first + line + b"\n" + b"{}\n")


def test_deep_free_json_is_refused() -> None:
    deep: Any = 1
    for _ in range(20):
        deep = {"a": deep}
    with pytest.raises(TraceError, match="nested deeper than 12"):
        Trace.loads(packed(_edit(1, "extras", value=deep)))


def test_limits(tmp_path: Path) -> None:
    data = whole().to_bytes()
    assert Trace.loads(data, max_bytes=len(data), max_nodes=4, max_tokens=4).end
    for limit, said in (
        ({"max_bytes": len(data) - 1}, "larger than"),
        ({"max_nodes": 3}, "3 nodes"),
        ({"max_tokens": 3}, "3 tokens"),
    ):
        with pytest.raises(TraceError, match=said):
            Trace.loads(data, **limit)
        with pytest.raises(TraceError, match=said):
            Trace.load(whole().save(tmp_path / "x.jsonl.gz"), **limit)


def test_a_gzipped_file_beyond_the_limit_is_refused_where_its_content_is_not(tmp_path: Path) -> None:
    """Read up to the limit it would lack its end, as a run that goes on."""
    data, path = whole().to_bytes(), tmp_path / "x.jsonl.gz"
    path.write_bytes(gzip.compress(data, compresslevel=0))
    with pytest.raises(TraceError, match="larger than"):
        Trace.load(path, max_bytes=len(data))
    assert Trace.load(path, max_bytes=path.stat().st_size).end


def test_a_gzip_bomb_costs_little_memory() -> None:
    bomb = gzip.compress(b"0" * 60_000_000, compresslevel=1)
    tracemalloc.start()
    with pytest.raises(TraceError, match="larger than 1 MB"):
        Trace.loads(bomb, max_bytes=1_000_000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10_000_000


def test_gzip_of_several_members_and_damaged_gzip() -> None:
    one, two = whole().to_bytes()[:900], whole().to_bytes()[900:]
    assert list(Trace.loads(gzip.compress(one) + gzip.compress(two)).events) == list(whole().events)
    with pytest.raises(TraceError, match="damaged"):
        Trace.loads(b"\x1f\x8b" + b"\x07" * 40)
    with pytest.raises(TraceError):
        Trace.loads(b"\x1f\x8b")


@pytest.mark.parametrize(
    ("name", "said"),
    [("missing.jsonl", "There is no file"), ("nul\0byte", "cannot be read"), (".", "is a folder: name a file in it")],
)
def test_files_that_cannot_be_read(tmp_path: Path, name: str, said: str) -> None:
    with pytest.raises(TraceError, match=said):
        Trace.load(tmp_path / name)


@pytest.mark.parametrize("module", ["engine.trace", "engine.trace.store"])
def test_reading_a_trace_needs_neither_torch_nor_pandas(module: str) -> None:
    heavy = ("torch", "pandas", "numpy", "gradio", "plotly")
    code = f"import sys, {module}; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("name", [None, 5, b"run.jsonl", ["run.jsonl"], whole()])
def test_a_file_is_named_by_a_text_or_a_path(name: Any) -> None:
    with pytest.raises(TraceError, match=r"named by a text or a path, not by "):
        Trace.load(name)
    with pytest.raises(ConfigError, match=r"named by a text or a path, not by "):
        whole().save(name)


def test_a_trace_is_written_over_files_only(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.jsonl"
    os.mkfifo(pipe)
    link = tmp_path / "link.jsonl"
    link.symlink_to("/dev/null")
    for name in ("bad\0name", "half\ud800name"):
        with pytest.raises(ConfigError, match="cannot be the name of a file"):
            whole().save(name)
    for goal in (Path("/dev/null"), pipe, link, tmp_path):
        with pytest.raises(ConfigError, match="is no file"):
            whole().save(goal)
    assert Path("/dev/null").is_char_device() and pipe.is_fifo() and link.is_symlink()
    file = whole().save(tmp_path / "file.jsonl")
    (tmp_path / "to_file.jsonl").symlink_to(file)
    Trace([head()]).save(tmp_path / "to_file.jsonl")
    assert (tmp_path / "to_file.jsonl").is_symlink() and Trace.load(file).rounds == []
    (tmp_path / "other").mkdir()
    outside = whole().save(tmp_path / "other" / "run.jsonl")
    before = outside.read_bytes()
    (tmp_path / "away.jsonl").symlink_to(outside)
    with pytest.raises(ConfigError, match="a link out of its folder"):
        Trace([head()]).save(tmp_path / "away.jsonl")
    assert outside.read_bytes() == before and not list(tmp_path.glob("*.part"))
