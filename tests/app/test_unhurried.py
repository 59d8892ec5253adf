"""Others do not wait while files are read: no search for cycles meanwhile, and answers are written in pieces."""

import errno
import gc
import json
from typing import Any

import httpx
import pytest

from app import pooled, routes
from app.answers import DEEP, Json, fault_words, lacking, pieces
from engine.errors import TraceError
from engine.files import marks
from engine.trace.store import Trace
from tests.app.synthetic import events

PLAIN = {"content-type": "application/octet-stream"}
VALUES: list[Any] = [
    *(None, True, 1.5, "a\nb", "\u20ac", [], {}, [[]], {"a": {}}, [{}, [1, 2, {"b": [3, {"c": [4, [5]]}]}]]),
    {
        "lanes": [{"key": "x", "events": [{"kind": "run", "odd": '"'}, {"kind": "end"}]}],
        'a "b"\n': {1: 2, None: [True]},
    },
]


@pytest.mark.parametrize("value", VALUES)
def test_pieces_are_what_json_writes(value: Any) -> None:
    usual = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for deep in range(7):
        assert "".join(pieces(value, deep)) == usual
    assert Json(value).body == usual.encode()


def test_an_event_is_a_piece() -> None:
    lane = {"key": "x", "events": [{"kind": "round", "nodes": [{"token": 1}]}] * 50}
    assert max(map(len, pieces({"lanes": [lane] * 3}, DEEP))) < 50


@pytest.mark.parametrize("path", ["open", "pooled"])
def test_files_are_read_unhurried(base: str, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    where, name = {"open": (routes, "open_traces"), "pooled": (pooled, "pooled")}[path]
    usual, seen = getattr(where, name), list[bool]()

    def noted(*given: Any) -> Any:
        seen.append(gc.isenabled())
        return usual(*given)

    monkeypatch.setattr(where, name, noted)
    run = Trace(events("plain", 3)).to_bytes()
    body = b'{"file":"x","bytes":%d}\n' % len(run) + run
    assert httpx.post(f"{base}/lab/{path}", content=body, headers=PLAIN).status_code == 200
    assert seen == [False] and gc.isenabled()


def test_the_limit_is_for_all_files_together(service: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    run = Trace(events("plain", 3)).to_bytes()
    body = b'{"file":"x","bytes":%d}\n' % len(run) + run
    monkeypatch.setattr(marks, "MOST", marks.count(run) + 10)
    assert routes.open_traces(service, None, body)["lanes"]
    for read in (lambda: routes.open_traces(service, None, body * 2), lambda: pooled.pooled(service, body * 2)):
        with pytest.raises(TraceError, match="These files have more than"):
            read()


def test_what_the_machine_lacks_is_told_and_a_fault_of_the_lab_is_not_blamed_on_it() -> None:
    full = OSError(errno.ENOSPC, "No space left on device", "visitors")
    assert lacking(full) == "The server's machine says: No space left on device (visitors)."
    assert lacking(OSError(errno.ENOSPC, "No space left on device")) == (
        "The server's machine says: No space left on device."
    )
    for fault in (OSError(errno.ENOENT, "No such file or directory", "x"), ValueError("x")):
        assert lacking(fault) == ""
        assert fault_words(fault) == (
            f"The lab failed ({type(fault).__name__}). This is a fault of the lab; the server's log says more."
        )
