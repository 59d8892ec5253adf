import json
import math
from dataclasses import replace

import pytest

from app import miningjob, trajectories
from app import request as requests
from app.build import AskedPlace
from app.evaluations import Labels
from app.state import Limits
from app.wire.requests import MineRequest, RunRequest
from engine.errors import ConfigError
from tests.app.synthetic import CARDS

GOOD = {"prompt": "Once", "lanes": ["plain", {"method": "chain", "knobs": {"gamma": 6}}], "models": "made-up"}


def parse(**more):
    return requests.parse(json.dumps({**GOOD, **more}), CARDS, ["made-up"], Limits(max_tokens=200))


def test_knobs_are_resolved_and_a_method_may_come_twice():
    request = parse(lanes=["chain", {"method": "chain", "knobs": {"gamma": 2}}])
    assert [lane.key for lane in request.lanes] == ["chain", "chain.2"]
    assert [lane.knobs["gamma"] for lane in request.lanes] == [4, 2]


def test_every_lane_gets_the_same_prompt_and_distribution():
    request = parse(temperature=0.7, top_p=0.9, top_k=5, seed=3)
    first, second = (request.arguments(lane) for lane in request.lanes)
    shared = ("prompt", "temperature", "top_p", "top_k", "seed", "max_new_tokens")
    assert {name: first[name] for name in shared} == {name: second[name] for name in shared}


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"prompt": "  "}, "empty"),
        ({"prompt": "x" * 30_000}, "30000 characters"),
        ({"prompt": 7}, "prompt must be a text, not 7"),
        ({"prompt": None}, "prompt must be a text, not None"),
        ({"prompt": "half \ud83d"}, "'prompt' must be text in Unicode: it holds half a pair of surrogates"),
        ({"lanes": []}, "No method"),
        ({"lanes": "plain"}, "lanes must be a list of methods"),
        ({"lanes": ["chian"]}, "Did you mean 'chain'"),
        ({"lanes": ["chain:gamma=3"]}, "Knobs are given beside the method's name here: 'chain' with gamma='3'"),
        ({"lanes": ["plain"] * 41}, "at most 40"),
        ({"lanes": [{"method": "chain", "knobs": {"gama": 3}}]}, "Did you mean 'gamma'"),
        ({"lanes": [{"method": "chain", "knobs": {"gamma": 99}}]}, "1 to 16"),
        ({"lanes": [{"method": "chain", "knobs": {"gamma": True}}]}, "gamma must be an integer from 1 to 16"),
        ({"lanes": [{"method": "chain", "knobs": 3}]}, "knobs must be an object"),
        ({"lanes": [{"knobs": {}}]}, "A method lacks method: it must be the name"),
        ({"lanes": [{"method": "chain", "knob": {}}]}, "Unknown setting 'knob'. Did you mean 'knobs'"),
        ({"lanes": [7]}, "A method must be a JSON object, not 7"),
        ({"models": "../etc"}, "Unknown models"),
        ({"models": 3}, "models must be the name"),
        ({"max_new_tokens": 201}, "max_new_tokens must be an integer from 1 to 200, not 201"),
        ({"max_new_tokens": 0}, "from 1 to 200"),
        ({"max_new_tokens": "many"}, "must be an integer >= 1, not 'many'"),
        ({"max_new_tokens": True}, "not True"),
        ({"max_new_tokens": 10**400}, "from 1 to 200, not 1000"),
        ({"temperature": -1}, "temperature must be 0 .greedy. or a number from 0.001 to 100, not -1"),
        ({"temperature": "0.5"}, "not '0.5'"),
        ({"temperature": True}, "not True"),
        ({"temperature": math.nan}, "not nan"),
        ({"temperature": math.inf}, "not inf"),
        ({"temperature": 1e-320}, "temperature must be 0"),
        ({"temperature": 10**400}, "temperature must be"),
        ({"top_p": 0}, "top_p must be a number above 0"),
        ({"top_k": -1}, "top_k must be an integer from 0"),
        ({"seed": 0.5}, "seed must be an integer from 0 to 9007199254740991, not 0.5"),
        ({"seed": 2**53}, "not 9007199254740992"),
        ({"seed": -1}, "not -1"),
        ({"seed": "3"}, "not '3'"),
        ({"chat": "false"}, "chat must be true or false, not 'false'"),
        ({"chat": 0}, "chat must be true or false, not 0"),
        (
            {"lanes": [{"method": "chain", "knobs": {"gamma": 10**400}}]},
            "gamma must be an integer from 1 to 16 tokens, not 1000",
        ),
        ({"stop": "end"}, "stop must be a list of at most 8 texts"),
        ({"stop": [1]}, "stop must be a list .*; item 1 is 1"),
        ({"stop": ["x"] * 9}, "at most 8"),
        ({"stop": ["a", "x" * 101]}, "1 to 100 characters each; item 2 is 'xxx"),
        ({"stop": [""]}, "1 to 100 characters"),
        ({"stop": ["\udfff"]}, "Unicode"),
        ({"temprature": 1}, "Unknown setting 'temprature'. Did you mean 'temperature'"),
        ({"id": "x"}, "id must be 32 hexadecimal digits, or empty, not 'x'"),
        ({"visitor": 3}, "visitor must be 32 hexadecimal digits"),
    ],
)
def test_mistakes_are_told(wrong, says):
    with pytest.raises(ConfigError, match=says) as told:
        parse(**wrong)
    assert "pydantic" not in str(told.value) and len(str(told.value)) < 1000
    str(told.value).encode()


def test_the_largest_seed_is_kept_to_the_digit():
    assert parse(seed=2**53 - 1).seed == 9007199254740991


def test_what_is_allowed_is_said_of_every_setting():
    for kind in (
        requests.AskedRun,
        requests.AskedLane,
        trajectories.AskedTrajectories,
        miningjob.Job,
        Labels,
        AskedPlace,
    ):
        assert all(field.description for field in kind.model_fields.values()), kind


def test_the_page_s_type_has_the_fields_that_are_read():
    assert set(RunRequest.__annotations__) == set(requests.AskedRun.model_fields)
    assert set(MineRequest.__annotations__) == set(miningjob.Job.model_fields)


def test_a_run_may_end_at_texts_of_its_own():
    request = parse(stop=["\n\n", "Question:"])
    assert all(request.arguments(lane)["stop"] == ("\n\n", "Question:") for lane in request.lanes)
    assert parse().stop == ()


@pytest.mark.parametrize("text", ["", "[1]", "{", "null", "[" * 100_000])
def test_not_a_request(text):
    with pytest.raises(ConfigError):
        requests.parse(text, CARDS, ["made-up"], Limits())


def test_a_problem_goes_into_the_runs_extras():
    request = parse(task="arithmetic", answer="38")
    assert request.arguments(request.lanes[0])["extras"] == {"task": "arithmetic", "answer": "38", "lanes": 2}
    assert parse().extras == {"lanes": 2}
    assert replace(parse(), lanes=request.lanes[:1]).extras == {}, "one that has the device alone"


@pytest.mark.parametrize(
    "given, words",
    [
        ({"task": "arithmetics"}, "arithmetic"),
        ({"answer": "38"}, "task"),
        ({"task": "arithmetic", "answer": 38}, "text"),
    ],
)
def test_a_problem_that_is_none_is_refused(given, words):
    with pytest.raises(ConfigError, match=words):
        parse(**given)
