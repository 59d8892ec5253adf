"""Repetitions over HTTP: medians of whole runs, seeds, a fair queue, bad requests, and a reader who leaves."""

import json
from contextlib import ExitStack

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from app import repeats
from app.rounds import Visitor
from app.several import parse


@pytest.fixture
def http(service):
    return TestClient(Starlette(routes=repeats.routes(service)))


def ask(**more):
    return {"prompt": "A farmer has 48 apples.", "lanes": ["plain", "chain"], "n": 3, "max_new_tokens": 24, **more}


def lines(service, **more):
    return list(repeats.lines(service, parse(repeats.AskedRepeats, service, ask(**more))))


def settings(lab, monkeypatch):
    """What the lab was asked for, run by run."""
    seen, stream = [], lab.stream

    def watched(method, **given):
        seen.append((method, given))
        return stream(method, **given)

    monkeypatch.setattr(lab, "stream", watched)
    return seen


def test_each_repetition_ends_with_the_numbers_of_all_so_far(service):
    found = lines(service)
    assert found[0] == {"kind": "queued", "n": 3}
    whole = [line for line in found if line["kind"] == "repeated"]
    assert [line["run"] for line in whole] == [0, 1, 2] and found[-1] is whole[-1]
    chain = whole[-1]["lanes"]["chain"]
    assert chain["runs"] == 3 and chain["tau"]["n"] == chain["speedup"]["n"] == 3
    assert chain["speedup"]["low"] <= chain["speedup"]["median"] <= chain["speedup"]["high"]
    assert (
        "median of 3 runs a side" in chain["verdict"]["line"]
        and "(once" in whole[0]["lanes"]["chain"]["verdict"]["line"]
    )


def test_greedy_runs_keep_the_seed_and_sampled_runs_count_on(service, lab, monkeypatch):
    seen = settings(lab, monkeypatch)
    lines(service, seed=7)
    assert [(method, given["seed"]) for method, given in seen] == [("plain", 7), ("chain", 7)] * 3
    seen.clear()
    lines(service, seed=7, temperature=1.0)
    assert [given["seed"] for _, given in seen] == [7, 7, 8, 8, 9, 9]
    assert {given["record"] for _, given in seen} == {"light"}


def test_a_method_that_cannot_run_is_counted_as_failed_and_the_others_go_on(service):
    last = lines(service, lanes=["plain", "copycat", "chain"])[-1]["lanes"]
    assert (last["copycat"]["runs"], last["copycat"]["failed"], last["copycat"]["verdict"]) == (0, 3, None)
    assert last["chain"]["speedup"]["n"] == 3


def test_the_device_is_given_back_after_each_repetition(service):
    """Somebody who asks during the first repetition comes through after it."""
    kinds = list[str]()
    with ExitStack() as stack:
        for line in repeats.lines(service, parse(repeats.AskedRepeats, service, ask(n=4))):
            if line["kind"] == "running" and "running" not in kinds:
                ticket = stack.enter_context(service.line(Visitor("other")))
                ticket.enqueue()
            if line["kind"] == "queued" and "line" in line:
                assert list(ticket.waits()) == [] and kinds.count("repeated") == 1
                stack.close()
            kinds.append(line["kind"])
    assert kinds.count("repeated") == 4 and kinds.count("queued") == 2


def test_leaving_ends_all_lanes_and_frees_the_engine(service, lab):
    found = repeats.lines(service, parse(repeats.AskedRepeats, service, ask(max_new_tokens=200)))
    for _ in range(2):
        next(found)
    assert lab.open_streams
    found.close()
    assert lab.open_streams == []
    with service.line(Visitor("next")) as ticket:
        assert list(ticket.waits()) == []


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"n": 1}, "from 2 to 20"),
        ({"n": 21}, "from 2 to 20"),
        ({"n": "many"}, "from 2 to 20"),
        ({"prompt": ""}, "empty"),
        ({"lanes": ["chian"]}, "chain"),
    ],
)
def test_bad_requests_are_told(http, more, says):
    answer = http.post("/lab/repeat", json=ask(**more))
    assert answer.status_code == 400 and says in answer.json()["error"]
    for nonsense in (b"nonsense", b"[" * 60_000, b"[]"):
        assert http.post("/lab/repeat", content=nonsense).status_code == 400
    assert http.post("/lab/repeat", content=b"x" * 70_000).status_code == 413


def test_lines_come_over_http(http):
    found = [json.loads(line) for line in http.post("/lab/repeat", json=ask(n=2)).text.splitlines()]
    assert [line["run"] for line in found if line["kind"] == "repeated"] == [0, 1]
