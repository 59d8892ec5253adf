"""Moving a threshold on a recorded trace must foretell the first token that a real run with that threshold changes."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from engine.trace.store import event_json

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
SCRIPT = """
import { readFileSync } from "node:fs";
import { createStore } from "./app/static/store.js";
import { replay } from "./app/static/thresholds.js";
const { lane, moves } = JSON.parse(readFileSync(0, "utf-8"));
const store = createStore();
store.load([lane]);
const run = store.runs.get(lane.key);
const told = moves.map((moved) => replay(run, { ...run.head.knobs, ...moved }).changed?.pos ?? null);
console.log(JSON.stringify(told));
"""
PROMPT = "Once upon a time there was a small lighthouse. "
MOVES: tuple[tuple[str, dict[str, float], tuple[dict[str, float], ...]], ...] = (
    (
        "easd",
        {"tau_entropy": 1.0, "tau_overlap": 0.4},
        ({"tau_entropy": 1.4}, {"tau_entropy": 0.5}, {"tau_overlap": 0.6}),
    ),
    ("specdec", {}, ({"top_beta": 2}, {"tau_base": 0.5}, {"tau_base": 6.0})),
    ("cm_asd", {}, ({"tau_gamma": 0.3}, {"top_beta": 1})),
    ("topk_lossy", {}, ({"accept_k": 2}, {"accept_k": 1}, {"accept_k": 9})),
)


@pytest.fixture(scope="module")
def lab() -> Any:
    if not Path("assets/tiny/target/config.json").is_file():
        pytest.skip("the embedded pair is not there")
    from engine.lab import Lab

    return Lab.load("tiny")


@pytest.mark.thorough
@pytest.mark.parametrize(("method", "knobs", "moves"), MOVES)
def test_the_first_change_is_foretold(
    lab: Any, method: str, knobs: dict[str, Any], moves: tuple[dict[str, Any], ...]
) -> None:
    def run(**values: Any) -> Any:
        return lab.run(method, PROMPT, max_new_tokens=40, **{**knobs, **values})

    trace = run()
    card = next(card for card in lab.methods() if card.name == method)
    lane = {"key": method, "card": card.to_json(), "events": [event_json(event) for event in trace.events]}
    done = subprocess.run(
        ["node", "--input-type=module", "-e", SCRIPT],
        input=json.dumps({"lane": lane, "moves": moves}),
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[2],
        timeout=60,
    )
    for moved, told in zip(moves, json.loads(done.stdout), strict=True):
        other = run(**moved)
        pairs = zip([token.token for token in trace.tokens], [token.token for token in other.tokens], strict=False)
        seen = next((pos for pos, (one, two) in enumerate(pairs) if one != two), None)
        if seen is None and len(trace.tokens) != len(other.tokens):
            seen = min(len(trace.tokens), len(other.tokens))
        assert told == seen, moved
