"""Trajectories over HTTP: what is recorded, live lines, bad requests, and an engine that is free again when the reader leaves."""

import json
from contextlib import ExitStack

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from app import trajectories
from app.rounds import Visitor
from app.several import parse
from engine.errors import ConfigError
from engine.files.presets import list_presets
from tests.app.fakes import FakeLab


@pytest.fixture
def http(service, tmp_path):
    (tmp_path / "one.json").write_text(
        json.dumps({"kind": "trajectories", "command": "python -m engine ...", "methods": []})
    )
    return TestClient(Starlette(routes=trajectories.routes(service, tmp_path, tmp_path / "none.json")))


def ask(**more):
    return {"prompt": "A farmer has 48 apples.", "lanes": ["chain", "wary"], "n": 3, "max_new_tokens": 12, **more}


def test_what_is_recorded_needs_no_model(http, lab):
    body = http.get("/lab/trajectories").json()
    assert body["examples"][0]["name"] == "one" and body["results"] is None and body["most"] == 16
    assert (
        body["reads"]["arithmetic"] == "The answer is the last number of a text." and "functions" not in body["reads"]
    )
    assert {problem["task"] for problem in body["problems"]} <= body["reads"].keys()
    offered = {(problem["family"], problem["prompt"].split()[0]) for problem in body["problems"]}
    assert offered == {("decoder-only", "Question:"), ("encoder-decoder", "Translate:")}
    assert lab.loads == 0


def test_the_shipped_example_is_what_the_drawer_reads():
    found = json.loads((trajectories.EXAMPLES / "arithmetic.json").read_text())
    assert found["command"].startswith("python -m engine trajectories show") and len(found["methods"]) == 5
    for method in found["methods"]:
        assert [row["trajectory"] for row in method["rows"]] == list(range(8))
        for row in method["rows"]:
            assert len(row["pieces"]) == len(row["reused"]) == len(row["times"]) == len(row["first"]) == row["tokens"]
            assert row["tau"] == row["tokens"] / row["rounds"]
        assert not any(method["rows"][0]["reused"]) and any(method["rows"][1]["reused"])


def test_lines_of_a_job_are_whole_rows_methods_in_turn(service):
    lines = list(trajectories.lines(service, parse(trajectories.AskedTrajectories, service, ask())))
    assert [line["kind"] for line in lines[:2]] == ["queued", "begin"] and lines[-1] == {"kind": "done"}
    rows = [line for line in lines if line["kind"] == "row"]
    assert [(row["key"], row["trajectory"]) for row in rows] == [
        (key, i) for i in range(3) for key in ("chain", "wary")
    ]
    assert all(len(row["pieces"]) == row["tokens"] == 12 for row in rows)
    assert rows[-1]["vote"]["n"] == 3 and rows[-1]["right"] is None
    drawn = [line["figure"] for line in lines if line["kind"] == "figure"]
    assert len(drawn) == len(rows), "the figure comes anew with each answer"
    assert [trace["y"] for trace in drawn[-1]["data"]] == [
        [row["tau"] for row in rows if row["key"] == key] for key in ("chain", "wary")
    ]


def test_the_answer_to_an_offered_problem_is_known(service):
    problem = trajectories.offered("decoder-only")[0]
    lines = list(
        trajectories.lines(
            service, parse(trajectories.AskedTrajectories, service, ask(prompt=problem.prompt, n=1, lanes=["plain"]))
        )
    )
    assert lines[1]["answer"] == problem.answer and lines[1]["task"] == "arithmetic"
    assert next(line for line in lines if line["kind"] == "row")["right"] in (True, False)
    assert trajectories.known("Something else") is None


@pytest.mark.parametrize(
    ("family", "prompt", "task"),
    [
        ("encoder-decoder", "", "translation"),
        ("encoder-decoder", "Own words", "translation"),
        ("encoder-decoder", "Summarise: Own words", "summaries"),
        ("decoder-only", "Own words", "arithmetic"),
    ],
)
def test_answers_are_read_as_those_of_the_problem_or_of_what_such_models_answer(service, lab, family, prompt, task):
    lab.family = family
    service.lab("made-up")
    asked = ask(prompt=prompt or trajectories.offered(family)[0].prompt, n=1, lanes=["plain"])
    lines = list(trajectories.lines(service, parse(trajectories.AskedTrajectories, service, asked)))
    assert lines[1]["task"] == task
    assert next(line for line in lines if line["kind"] == "row")["right"] is (None if prompt else False)


def test_the_answer_to_the_recorded_examples_problem_is_known_as_long_as_it_is_that(service):
    example = json.loads((trajectories.EXAMPLES / "arithmetic.json").read_text())
    told = {
        prompt: next(
            line
            for line in trajectories.lines(
                service, parse(trajectories.AskedTrajectories, service, ask(prompt=prompt, n=1))
            )
            if line["kind"] == "begin"
        )["answer"]
        for prompt in (example["prompt"], example["prompt"].replace("95", "96"))
    }
    assert list(told.values()) == [example["answer"], None]


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"n": 17}, "from 1 to 16"),
        ({"n": 0}, "from 1 to 16"),
        ({"prompt": " "}, "empty"),
        ({"lanes": ["chian"]}, "chain"),
        ({"lanes": []}, "No method"),
    ],
)
def test_bad_requests_are_told(http, more, says):
    answer = http.post("/lab/trajectories/live", json=ask(**more))
    assert answer.status_code == 400 and says in answer.json()["error"]
    for nonsense in (b"nonsense", b"[" * 60_000):
        assert http.post("/lab/trajectories/live", content=nonsense).status_code == 400
    assert http.post("/lab/trajectories/live", content=b"x" * 70_000).status_code == 413


def test_a_method_that_cannot_run_ends_the_lines_with_its_reason(http):
    lines = [
        json.loads(line) for line in http.post("/lab/trajectories/live", json=ask(lanes=["copycat"])).text.splitlines()
    ]
    assert lines[-1]["kind"] == "error" and "longer prompt" in lines[-1]["error"]


def test_leaving_frees_the_engine_within_a_round(service, lab: FakeLab):
    lines = trajectories.lines(service, parse(trajectories.AskedTrajectories, service, ask(max_new_tokens=200)))
    for _ in range(6):
        next(lines)
    assert lab.open_streams
    lines.close()
    assert lab.open_streams == []
    with service.line(Visitor("next")) as ticket:
        assert list(ticket.waits()) == []


def test_the_device_is_given_back_after_each_trajectory(service):
    """Somebody who asks during the first row comes through after it; the lines say that they wait for it."""
    kinds = list[str]()
    with ExitStack() as stack:
        for line in trajectories.lines(service, parse(trajectories.AskedTrajectories, service, ask(n=2))):
            if line["kind"] == "row" and kinds.count("row") == 0:
                ticket = stack.enter_context(service.line(Visitor("other")))
                ticket.enqueue()
            if line["kind"] == "queued" and "line" in line:
                assert list(ticket.waits()) == [] and kinds.count("row") == 1
                stack.close()
            kinds.append(line["kind"])
    assert kinds.count("row") == 4 and kinds.count("queued") == 2


def test_failures_of_the_engine_are_rows_with_a_message(service, lab):
    lab.fail_at = 3
    with pytest.raises(ConfigError, match="context"):
        list(trajectories.lines(service, parse(trajectories.AskedTrajectories, service, ask())))


def test_a_prompt_of_a_case_or_an_example_is_known_with_its_answer():
    cases = [case for case in list_presets() if case.task and case.answer]
    assert cases
    for case in cases:
        found = trajectories.known(case.prompt)
        assert found and (found.family, found.answer) == (case.task, case.answer), case.name
    offered = [problem for family in trajectories.FAMILIES for problem in trajectories.offered(family)]
    for problem in (*offered, *trajectories.shipped()):
        found = trajectories.known(problem.prompt)
        assert found and (found.family, found.answer) == (problem.family, problem.answer)
    assert trajectories.known("Why is the sky blue?") is None


def test_a_label_of_results_is_called_by_the_title_and_the_values_of_its_knobs(service):
    assert trajectories._named(service, "chain:gamma=4:mode=most_probable") == "Chain of candidates, 4, most probable"
    assert trajectories._named(service, "unknown") == "unknown"
