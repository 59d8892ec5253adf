"""The published schema is current, takes every recorded line, and refuses what the reader refuses of a line."""

import copy
import gzip
import json
import random

import pytest
from jsonschema import Draft202012Validator

from engine.cli.schema import text
from engine.errors import TraceError
from engine.files.places import PRESETS, ROOT
from engine.trace.codec import event_from_json
from engine.trace.schema import schema

FILES = sorted((PRESETS / "traces").glob("*.jsonl.gz"))


def lines(path) -> list[dict]:
    return [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]


@pytest.fixture(scope="module")
def validator() -> Draft202012Validator:
    found = schema()
    Draft202012Validator.check_schema(found)
    return Draft202012Validator(found)


def test_the_published_schema_is_current():
    assert (ROOT / "docs/trace.schema.json").read_text() == text(), (
        "run `python -m engine schema > docs/trace.schema.json`"
    )


@pytest.mark.thorough
def test_it_takes_what_was_recorded(validator):
    one_a_method = {path.name.split("-", 2)[2]: path for path in FILES}
    assert len(one_a_method) >= 24
    for path in one_a_method.values():
        events = lines(path)
        for event in [events[0], *random.Random(1).sample(events[1:-1], min(4, len(events) - 2)), events[-1]]:
            error = next(validator.iter_errors(event), None)
            assert error is None, f"{path.name}: {error}"


WRONG = [
    ("run", "seed", "0"),
    ("run", "seed", 2**60),
    ("run", "vocab", -1),
    ("run", "prompt_ids", [1, -2]),
    ("run", "schema", 2),
    ("run", "chat", 1),
    ("run", "stop", "x"),
    ("round", "accepted", 1.5),
    ("round", "draft_ms", "fast"),
    ("round", "kind", "rounds"),
    ("round", "path", [-1]),
    ("round", "nodes", {}),
    ("end", "reason", 3),
]


@pytest.mark.parametrize(("kind", "name", "value"), WRONG)
def test_it_refuses_what_the_reader_refuses(validator, kind, name, value):
    event = copy.deepcopy(next(event for event in lines(FILES[0]) if event["kind"] == kind))
    event_from_json(event)
    assert validator.is_valid(event)
    event[name] = value
    with pytest.raises(TraceError):
        event_from_json(event)
    assert not validator.is_valid(event)


@pytest.mark.parametrize("name", ["token", "parent", "depth"])
def test_a_node_without_what_it_needs_is_refused_by_both(validator, name):
    path = next(path for path in FILES if "-sd." in path.name)
    event = copy.deepcopy(next(event for event in lines(path) if event.get("nodes")))
    assert validator.is_valid(event)
    del event["nodes"][0][name]
    with pytest.raises(TraceError):
        event_from_json(event)
    assert not validator.is_valid(event)
    event["nodes"][0][name] = -5
    with pytest.raises(TraceError):
        event_from_json(event)
    assert not validator.is_valid(event)
