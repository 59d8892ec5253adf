"""How much JSON is read: counted in its bytes, before anything is made of them."""

import gzip
import json
from pathlib import Path

import pytest

from engine.analysis.reading import read_runs
from engine.errors import TraceError
from engine.files import marks
from engine.served import reading
from engine.trace import store
from engine.trace.store import MAX_BYTES, Trace
from tests.app.synthetic import events

RECORDED = sorted(Path("presets/traces").glob("*.jsonl.gz"))
LISTS = b"[" + b"[]," * 200 + b"0]"


@pytest.fixture
def run() -> bytes:
    return Trace(events("plain", 3)).to_bytes()


@pytest.fixture
def unread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing may be read."""
    monkeypatch.setattr(store, "_parse", None)
    monkeypatch.setattr(json, "loads", None)


def test_a_file_as_long_as_any_holds_what_recorded_traces_do() -> None:
    assert len(RECORDED) > 50
    for path in RECORDED:
        plain = gzip.decompress(path.read_bytes())
        full = MAX_BYTES / len(plain)
        assert marks.count(plain) * full < 0.8 * marks.MOST
        assert sum(map(plain.count, marks.LISTS)) * full < 0.5 * marks.MOST_LISTS
        assert max(map(marks.count, plain.split(b"\n"))) < 0.1 * marks.MOST_AT_ONCE


def test_a_long_prompt_is_a_line_that_is_read() -> None:
    ids, pieces = b"1234," * 131_072, b'", ",' * 131_072  # a context of 128k, where every other piece holds a comma
    assert marks.at_once(b'{"prompt_ids":[' + ids + b'],"prompt_pieces":[' + pieces + b"]}")


@pytest.mark.usefixtures("unread")
@pytest.mark.parametrize("most", ["MOST", "MOST_LISTS", "MOST_AT_ONCE"])
def test_more_than_any_honest_trace_has_is_not_read(run: bytes, most: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(marks, most, 150)
    with pytest.raises(TraceError, match=r"more than 150 .*, which is the limit"):
        Trace.loads(b'{"odd":' + LISTS + b"," + run[1:])


def test_the_limit_is_for_all_runs_of_a_file_together(run: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(marks, "MOST", marks.count(run) + 10)
    assert len(read_runs(run)) == 1
    with pytest.raises(TraceError, match="The file has more than"):
        read_runs(run * 2)


@pytest.mark.usefixtures("unread")
@pytest.mark.parametrize("most", ["MOST", "MOST_LISTS", "MOST_AT_ONCE"])
def test_reports_have_the_limits_of_traces(most: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(marks, most, 150)
    with pytest.raises(TraceError, match=r"x.* has more than 150 .*, which is the limit"):
        reading.read_reports(b'{"timings": ' + LISTS + b"}", "x")


def test_many_reports_are_read_line_by_line(monkeypatch: pytest.MonkeyPatch) -> None:
    line = b'{"timings": {"predicted_n": 9, "draft_n": 12, "draft_n_accepted": 6}}\n'
    alone = reading.read_reports(line * 40, "x")
    monkeypatch.setattr(marks, "MOST_AT_ONCE", 100)
    assert reading.read_reports(line * 40, "x") == alone and len(alone) == 40


def test_a_log_is_no_json_and_may_have_as_many_commas_as_it_likes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(marks, "MOST", 10)
    line = b"Decode batch, #running-req: 1, #token: 12, accept len: 2.50, accept rate: 0.50, cuda graph: True\n"
    assert len(reading.read_reports(line * 5, "x")) == 5
