"""The vectors of thresholds are varied enough to tell evaluators apart."""

import json

from engine.rules import THRESHOLDS
from tests.vectors import path


def test_every_threshold_has_vectors_that_differ() -> None:
    cases = json.loads(path("thresholds").read_text(encoding="utf-8"))["cases"]
    assert {case["rule"] for case in cases} == {*THRESHOLDS, "grammar"}
    for rule in THRESHOLDS:
        found = {held for case in cases if case["rule"] == rule for move in case["moves"] for held in move["holds"]}
        assert {True, False} <= found, rule
    firsts = {json.dumps(move["first"]) for case in cases for move in case["moves"] if "first" in move}
    assert len(firsts) > 5 and "null" in firsts
    assert any(None in move["holds"] for case in cases for move in case["moves"])
