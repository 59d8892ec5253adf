"""Odd values at every endpoint of a real server: a clear sentence, never a status of 500 nor the words of a library."""

import json
import logging
import re
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import httpx
import pytest

from app import calls
from app.calls import Signatures
from engine.errors import ConfigError
from engine.trace.store import event_json
from tests.app.synthetic import events

ODD: list[Any] = [None, True, -1, 2**53 + 1, 10**30, 0.5, 1e308, "", "x", "\ud800", [], {}, [[]], {"a": [None]}]
FOREIGN = re.compile(r"Traceback|pydantic|Input should|Error\(|object has no|unhashable|NoneType|not iterable|<class")
JSON = {"content-type": "application/json"}
SOUND: dict[str, Any] = {
    "run": [["plain"], "Once", "made-up", 4, 0.0, 1.0, 0, 0, False, {}, []],
    "decode": [["plain"], "Once", "made-up", 4, 0.0, 1.0, 0, 0, False, {}, []],
    "methods": ["made-up"],
    "load_trace": ["x"],
    "explain": ["x", 0, None],
    "stop": ["0" * 32],
}


def called(http: httpx.Client, name: str, data: Any) -> str:
    """What a call of the named API says, error or result."""
    body = json.dumps({"data": data})  # escapes what is no Unicode, as a browser does
    joined = http.post(f"/gradio_api/call/{name}", content=body, headers=JSON)
    assert joined.status_code < 500, (name, data, joined.text)
    if joined.status_code != 200:
        return joined.text
    answer = http.get(f"/gradio_api/call/{name}/{joined.json()['event_id']}")
    assert answer.status_code == 200
    return answer.text


def test_odd_calls_of_the_pages_own_functions(base: str, caplog: pytest.LogCaptureFixture, capfd: Any) -> None:
    with httpx.Client(base_url=base, timeout=30) as http:
        parts = http.get("/config").json()["components"]
        (bus,) = (part["id"] for part in parts if part["props"].get("elem_id") == "bus")
        sound = {"component_id": bus, "fn_name": "stop", "session_hash": "x", "data": "0" * 32}
        assert http.post("/gradio_api/component_server", json=sound).text == "false"
        for place in sound:
            for odd in ODD:
                body = json.dumps(sound | {place: odd})
                answer = http.post("/gradio_api/component_server", content=body, headers=JSON)
                assert answer.status_code < 500, (place, odd, answer.text)
                assert not FOREIGN.search(answer.text), (place, odd, answer.text)
        told = http.post("/gradio_api/component_server", json=sound | {"data": 3})
        assert told.status_code == 400 and told.json() == {"error": "A name must be a text, not 3."}
    assert "Traceback" not in caplog.text + capfd.readouterr().err


@pytest.mark.thorough
@pytest.mark.parametrize("name", SOUND)
def test_odd_arguments_of_the_api(base: str, name: str, caplog: pytest.LogCaptureFixture, capfd: Any) -> None:
    caplog.set_level(logging.INFO, "app")
    with httpx.Client(base_url=base, timeout=30) as http:
        for place in range(len(SOUND[name])):
            for odd in ODD if name != "decode" else ODD[place % 3 :: 3]:
                said = called(http, name, [*SOUND[name][:place], odd, *SOUND[name][place + 1 :]])
                assert not FOREIGN.search(said), (name, place, odd, said)
        for data in ([], [None] * 40, SOUND[name][:-1]):
            said = called(http, name, data)
            assert not FOREIGN.search(said), (name, data, said)
    assert "Traceback" not in caplog.text + capfd.readouterr().err
    assert all("\n" not in record.getMessage() for record in caplog.records)


def test_nothing_is_read_or_fetched_that_a_call_names_as_a_file(
    base: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, capfd: Any
) -> None:
    (tmp_path / "own.txt").write_text("of the server")
    monkeypatch.chdir(tmp_path)
    head, *more = map(event_json, events("chain", 4))
    file = {"path": "own.txt", "meta": {"_type": "gradio.FileData"}}
    page = {"path": "http://127.0.0.1:9/asked", "meta": {"_type": "gradio.FileData"}}
    with httpx.Client(base_url=base, timeout=30) as http:
        for odd in (file, page, {"path": "own.txt", "meta": 3}):
            lines = [head | {"extras": {"odd": odd}}, *more]
            said = called(http, "load_trace", ["\n".join(map(json.dumps, lines))])
            assert f'"odd": {json.dumps(odd)}' in said
            assert "A name must be a text" in called(http, "methods", [odd])
    assert "Traceback" not in caplog.text + capfd.readouterr().err


@pytest.mark.parametrize("odd", [b"[]," * 100_000 + b"0", b'\\"' * 500_000, b'"a' * 500_000, b'"' + b"\\" * 999_999])
def test_a_body_of_very_many_values_is_refused_before_it_is_read(odd: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    read = list[bytes]()
    monkeypatch.setattr(calls, "parsed", read.append)
    began = time.perf_counter()
    with pytest.raises(ConfigError, match="values" if b"," in odd else "JSON object"):
        Signatures({}, {}, {}, {}).check("/gradio_api/call/load_trace", b'{"data": [' + odd + b"]}")
    assert len(read) == (b"," not in odd) and time.perf_counter() - began < 0.5


def test_values_may_be_named_where_the_endpoint_has_such_a_name_and_none_is_lacking() -> None:
    signatures = Signatures({"explain": ("text", "round_index", "node")}, {"explain": ("text", "round_index")}, {}, {})
    for given, wrong in [
        ({"text": "x", "round_index": 0}, ""),
        ({"text": "x", "round_index": 0, "node": None}, ""),
        ({"text": "x", "round_index": 0, "nod": 1}, "Did you mean 'node'"),
        ({"text": "x"}, "explain lacks round_index"),
    ]:
        with pytest.raises(ConfigError, match=wrong) if wrong else nullcontext():
            signatures.check("/gradio_api/call/v2/explain", json.dumps(given).encode())
    with pytest.raises(ConfigError, match="Did you mean 'explain'"):
        signatures.check("/gradio_api/call/v2/explian", b"{}")


def test_a_function_is_called_by_a_name_and_a_component_that_there_are() -> None:
    signatures = Signatures({}, {}, {}, {3: ("stop",)})
    sound: dict[str, Any] = {"component_id": 3, "fn_name": "stop", "session_hash": "x"}
    odd: list[tuple[dict[str, Any], str]] = [
        ({}, ""),
        ({"fn_name": "stp"}, "Did you mean 'stop'"),
        ({"component_id": 4}, "number of a component with functions, not 4"),
        ({"component_id": True}, "number of a component with functions, not True"),
        ({"session_hash": None}, "session_hash must be a text"),
    ]
    for given, wrong in odd:
        with pytest.raises(ConfigError, match=wrong) if wrong else nullcontext():
            signatures.check(calls.SERVER, json.dumps(sound | given).encode())


def test_a_long_text_is_one_value(base: str) -> None:
    with httpx.Client(base_url=base, timeout=30) as http:
        assert "is not JSON" in called(http, "load_trace", ['{"a": [1, 2, "b\\"]}, ' * 5000])


def test_an_event_that_the_server_has_no_function_for_cannot_be_called(base: str) -> None:
    with httpx.Client(base_url=base, timeout=30) as http:
        events = http.get("/config").json()["dependencies"]
        (number,) = (event["id"] for event in events if event["cancels"])
        sent = {"data": [], "fn_index": number, "session_hash": "x"}
        said = http.post("/gradio_api/queue/join", json=sent)
        assert said.status_code == 400 and said.json()["error"].startswith("fn_index must be the number of an event")


POSTS = ("/lab/mine", "/lab/mine/kept", "/lab/trajectories/live", "/lab/judged", "/lab/open", "/lab/pooled")
GRADIO = ("queue/join", "call/run", "call/nothing", "component_server", "cancel", "reset")
GETS = (
    *("/lab/catalogue?models=", "/lab/trace?name=", "/lab/problem?seed=1&task=", "/lab/problem?task=arithmetic&seed="),
    *(
        "/lab/compose?drafter=",
        "/lab/compose?shape=chain&rule=",
        "/lab/mined?name=",
        "/lab/page?name=",
        "/lab/gallery?",
    ),
    *("/lab/evaluations?", "/lab/pooled?", "/lab/trees?", "/lab/lessons?", "/lab/glossary?", "/lab/pages?"),
)


@pytest.mark.thorough
def test_odd_bodies_and_queries(base: str, caplog: pytest.LogCaptureFixture, capfd: Any) -> None:
    kinds = {"/lab/open": "application/octet-stream", "/lab/pooled": "application/octet-stream"}
    bodies = [json.dumps(odd).encode() for odd in ODD] + [b"", b"{", b"[" * 50_000, b"\xff\xfe\x00", b"9" * 5000]
    bodies += [json.dumps({name: odd}).encode() for odd in ODD for name in ("prompt", "lanes", "key", "scores", "data")]
    with httpx.Client(base_url=base, timeout=30) as http:
        for path in (*POSTS, *(f"/gradio_api/{name}" for name in GRADIO)):
            for body in bodies:
                answer = http.post(path, content=body, headers={"content-type": kinds.get(path, "application/json")})
                assert answer.status_code < 500 and not FOREIGN.search(answer.text), (
                    path,
                    body[:80],
                    answer.text[:300],
                )
        for path in GETS:
            for odd in ("", "%ff", "%00", "../etc/passwd", "%ed%a0%80", "9" * 4000, "1e9", "-1", "%7B%7D"):
                answer = http.get(path + odd)
                assert answer.status_code < 500 and not FOREIGN.search(answer.text), (path, odd, answer.text[:300])
        for odd in [*ODD, *({"request": odd} for odd in ODD)]:
            event = json.dumps({"data": [], "fn_index": 0, "session_hash": "odd", "event_data": odd})
            assert http.post("/gradio_api/queue/join", content=event, headers=JSON).status_code == 200
            told = http.get("/gradio_api/queue/data?session_hash=odd").text
            assert '"done": true' in told.replace("\\", "") and not FOREIGN.search(told), (odd, told)
    assert "Traceback" not in caplog.text + capfd.readouterr().err
