"""A run that goes on from a forced beginning: what the lab is asked for, its lines, bad requests."""

import json

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from app import continuing
from app import request as requests
from engine.lab import Lab
from tests.app.fakes import sentence
from tests.engine.once import loaded_once


@pytest.fixture
def http(service):
    return TestClient(Starlette(routes=continuing.routes(service, sentence)))


def ask(**more):
    return {
        "prompt": "A farmer",
        "prompt_ids": [5, 6, 7],
        "forced": [8, 9],
        "lanes": ["chain"],
        "max_new_tokens": 12,
    } | more


def test_the_lab_reads_prompt_and_beginning_as_tokens_and_the_trace_notes_them(service, lab, monkeypatch):
    seen, stream = [], lab.stream

    def watched(method, **given):
        seen.append((method, given))
        return stream(method, **given)

    monkeypatch.setattr(lab, "stream", watched)
    found = list(continuing.lines(service, sentence, continuing.parse(service, ask(seed=3, task="arithmetic"))))
    assert [line["kind"] for line in found][:2] == ["queued", "begin"] and found[1]["card"]["name"] == "chain"
    events = [event for line in found if line["kind"] == "events" for event in line["events"]]
    assert [event["kind"] for event in (events[0], events[-1])] == ["run", "end"]
    assert any(node.get("why") for event in events if event["kind"] == "round" for node in event["nodes"])
    ((method, given),) = seen
    assert method == "chain" and given["prompt"] == [5, 6, 7, 8, 9] and given["seed"] == 3
    assert given["extras"] == {"task": "arithmetic", "forced": 2}


def test_a_sampled_text_goes_on_with_uniforms_that_did_not_draw_its_beginning(service):
    """With the same ones again what follows would hang on what they drew before, and be no draw from the target."""
    last = requests.MOST_SEED
    for seed, forced, then in ((3, [8, 9], 5), (5, [8, 9, 4], 8), (last, [8, 9], 1)):
        asked = ask(seed=seed, forced=forced)
        assert continuing.parse(service, asked | {"temperature": 1.0}).seed == then
        assert continuing.parse(service, asked).seed == seed  # greedy: nothing is drawn


def test_leaving_ends_the_run_and_frees_the_engine(service, lab):
    found = continuing.lines(service, sentence, continuing.parse(service, ask(max_new_tokens=200)))
    while next(found)["kind"] != "events":
        pass
    assert lab.open_streams
    found.close()
    assert lab.open_streams == []


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"prompt_ids": []}, "prompt_ids must be a list of 1 to"),
        ({"forced": ["a"]}, "forced must be a list of 1 to"),
        ({"forced": [1] * 20_001}, "forced must be a list of 1 to"),
        ({"lanes": ["chain", "plain"]}, "one method"),
        ({"chat": True}, "chat must be false"),
        ({"lanes": ["chian"]}, "chain"),
    ],
)
def test_bad_requests_are_told(http, more, says):
    answer = http.post("/lab/continue", json=ask(**more))
    assert answer.status_code == 400 and says in answer.json()["error"]


def test_a_real_pair_goes_on_as_if_it_had_written_the_beginning_itself() -> None:
    """Forced to begin as it did, a greedy run ends as it did; forced otherwise, it goes on from there."""
    with loaded_once():
        lab = Lab.load("tiny", device="cpu")
    prompt = lab.run("ar", "Question: Emma has 3 coins.", max_new_tokens=16)
    whole = [token.token for token in prompt.tokens]
    ids = list(prompt.head.prompt_ids)
    same = lab.run("sd", [*ids, *whole[:5]], max_new_tokens=11, extras={"forced": 5})
    assert [token.token for token in same.tokens] == whole[5:]
    assert same.head.prompt_ids == [*ids, *whole[:5]] and same.head.extras["forced"] == 5


def test_an_id_that_the_models_do_not_have_ends_the_lines_with_its_reason(service, http, lab, monkeypatch):
    from engine.errors import ConfigError

    def refuse(method, **given):
        raise ConfigError("Token ids must be from 0 to 99, the vocabulary, not 99999.")

    monkeypatch.setattr(lab, "stream", refuse)
    last = json.loads(http.post("/lab/continue", json=ask(forced=[99999])).text.splitlines()[-1])
    assert last["kind"] == "error" and "the vocabulary, not 99999" in last["error"]
