import json

import pytest

from app import request as requests
from app.state import Limits
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
        ({"lanes": []}, "No method"),
        ({"lanes": ["chian"]}, "Did you mean 'chain'"),
        ({"lanes": ["plain"] * 33}, "at most 32"),
        ({"lanes": [{"method": "chain", "knobs": {"gama": 3}}]}, "Did you mean 'gamma'"),
        ({"lanes": [{"method": "chain", "knobs": {"gamma": 99}}]}, "1 to 16"),
        ({"lanes": [{"method": "chain", "knobs": 3}]}, "knobs"),
        ({"lanes": [7]}, "name"),
        ({"models": "../etc"}, "Unknown models"),
        ({"max_new_tokens": 201}, "1 to 200"),
        ({"max_new_tokens": "many"}, "is a number"),
        ({"temperature": -1}, "out of range"),
        ({"top_p": 0}, "out of range"),
        ({"seed": 0.5}, "whole number"),
        ({"max_new_tokens": 10**400}, "too large"),
        ({"temperature": 10**400}, "too large"),
        ({"lanes": [{"method": "chain", "knobs": {"gamma": 10**400}}]}, "too large"),
        ({"stop": "end"}, "list of texts"),
        ({"stop": [1]}, "list of texts"),
        ({"stop": ["x"] * 9}, "at most 8"),
        ({"stop": ["x" * 101]}, "1 to 100 characters"),
        ({"stop": [""]}, "1 to 100 characters"),
    ],
)
def test_mistakes_are_told(wrong, says):
    with pytest.raises(ConfigError, match=says):
        parse(**wrong)


def test_a_run_may_end_at_texts_of_its_own():
    request = parse(stop=["\n\n", "Question:"])
    assert all(request.arguments(lane)["stop"] == ("\n\n", "Question:") for lane in request.lanes)
    assert parse(stop=None).stop == parse().stop == ()


@pytest.mark.parametrize("text", ["", "[1]", "{", "null", "[" * 100_000])
def test_not_a_request(text):
    with pytest.raises(ConfigError):
        requests.parse(text, CARDS, ["made-up"], Limits())


def test_a_problem_goes_into_the_runs_extras():
    request = parse(task="arithmetic", answer="38")
    assert request.arguments(request.lanes[0])["extras"] == {"task": "arithmetic", "answer": "38"}
    assert parse().extras == {}


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
