"""The golden runs: three short ones on the embedded family, and what of them must not change unnoticed."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from engine.lab import Lab
from engine.trace.events import Node, Round
from engine.trace.store import Trace

FOLDER = Path(__file__).parent
PROMPT = "Question: Mia has 34 pens. She buys 3 bags with 12 in each. She sells 25. How many pens does Mia have now?\nAnswer:"
RUNS: dict[str, dict[str, Any]] = {  # name -> method and options
    "sampled_chain": {"method": "sd", "temperature": 1.0, "seed": 3, "gamma": 4},
    "veto": {"method": "easd", "temperature": 0.7, "seed": 1, "gamma": 3, "tau_entropy": 0.4, "tau_overlap": 0.2},
    "tree": {"method": "eagle3", "total_token": 12, "depth": 3, "tree_top_k": 4},
}
NUMBERS = ("p", "q", "u", "h_target", "h_draft", "overlap", "accept_prob")


def golden(lab: Lab, name: str) -> Trace:
    """One of the runs, 24 tokens long."""
    return lab.run(prompt=PROMPT, max_new_tokens=24, **RUNS[name])


def lines(trace: Trace) -> Iterator[dict[str, Any]]:
    """A round a line: every node with its numbers, state and reason, every token with its origin; no times."""
    for event in trace.rounds:
        yield {
            "start": event.start,
            "path": event.path,
            "nodes": _nodes(event),
            "tokens": [[t.token, t.origin] for t in event.tokens],
        }


def _nodes(event: Round) -> list[dict[str, Any]]:
    return [
        {"token": n.token, "parent": n.parent, "state": n.state, "reason": _reason(n)} | _numbers(n)
        for n in event.nodes
    ]


def _reason(node: Node) -> str:
    return str(node.reason["id"]) if node.reason else ""


def _numbers(node: Node) -> dict[str, float]:
    return {name: round(value, 6) for name in NUMBERS if (value := getattr(node, name)) is not None}
