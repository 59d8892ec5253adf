"""A refactoring leaves these runs as they are: tokens and decisions exactly, numbers to what other processors may differ by."""

import json

import pytest

from engine.lab import Lab
from tests.engine.once import loaded_once
from tests.golden.runs import FOLDER, RUNS, golden, lines


@pytest.fixture(scope="module")
def tiny() -> Lab:
    with loaded_once():
        return Lab.load("tiny", device="cpu")


@pytest.mark.parametrize("name", RUNS)
def test_a_golden_run_is_as_recorded(tiny: Lab, name: str) -> None:
    wanted = [json.loads(line) for line in (FOLDER / f"{name}.jsonl").read_text().splitlines()]
    found = list(lines(golden(tiny, name)))
    assert [line["tokens"] for line in found] == [line["tokens"] for line in wanted]
    for new, old in zip(found, wanted, strict=True):
        assert {**new, "nodes": len(new["nodes"])} == {**old, "nodes": len(old["nodes"])}
        for a, b in zip(new["nodes"], old["nodes"], strict=True):
            assert a == {k: pytest.approx(v, abs=2e-5) if isinstance(v, float) else v for k, v in b.items()}


def test_the_runs_are_worth_keeping() -> None:
    """Between them they accept, reject, veto and branch."""
    rounds = {name: [json.loads(line) for line in (FOLDER / f"{name}.jsonl").read_text().splitlines()] for name in RUNS}
    states = {name: {node["state"] for line in lines for node in line["nodes"]} for name, lines in rounds.items()}
    reasons = {node["reason"] for line in rounds["veto"] for node in line["nodes"]}
    assert {"accepted", "rejected"} <= states["sampled_chain"]
    assert any("veto" in reason for reason in reasons), reasons
    assert (
        any(node["parent"] == 0 for line in rounds["tree"] for node in line["nodes"]) and "accepted" in states["tree"]
    )
