"""No number of a file is believed beyond what the file holds."""

import json
import time
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from engine.errors import TraceError
from engine.trace import Trace
from tests.engine.analysis.made import bush, light, sd

LARGE = 10**8


def lines(trace: Trace) -> list[dict[str, Any]]:
    return [json.loads(line) for line in trace.to_lines()]


def edited(trace: Trace, *path: Any, value: Any) -> bytes:
    """The file with one field set to another value."""
    events = deepcopy(lines(trace))
    at: Any = events
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = value
    return "".join(json.dumps(one) + "\n" for one in events).encode()


@pytest.mark.parametrize("name", ["drafted", "fed", "levels", "accepted", "emitted", "tcr"])
@pytest.mark.parametrize("recorded", ["full", "light"])
@pytest.mark.parametrize("claimed", [LARGE, 2**53, 10])
def test_counts_are_those_of_the_round(name: str, recorded: str, claimed: int) -> None:
    trace = sd() if recorded == "full" else light(sd())
    if recorded == "light" and name == "drafted" and claimed == 10:
        pytest.skip("ten draft tokens may have been drafted: lightly recorded rounds do not hold them")
    with pytest.raises(TraceError, match=f"Line 2: round 0: {name}"):
        Trace.loads(edited(trace, 1, name, value=claimed))


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ((0, "vocab"), 0, "run.vocab must be from 1 to .*, not 0"),
        ((0, "vocab"), 2**40, "run.vocab"),
        ((0, "vocab"), 2, "h_draft must be from 0 to 0.69.*, not 1"),
        ((0, "prompt_ids"), [8], "run.prompt_ids must be from 0 to 7, not 8"),
        ((0, "prompt_pieces"), ["a", "b"], "one text for each of the 1 ids, not 2"),
        ((0, "max_new_tokens"), 6, "position 6: pos must be from 0 to 5, not 6"),
        ((0, "sampling"), {"temperature": "hot"}, "run.sampling.temperature must be a number, not a text"),
        ((0, "sampling"), {"temperature": -1}, "run.sampling.temperature must be .* not -1"),
        ((0, "sampling"), {"new": [1]}, "run.sampling.new must be a number, a text or a switch, not a list"),
        ((0, "knobs"), {"new": {}}, "run.knobs.new must be a number, a text or a switch, not an object"),
        ((0, "knobs"), {"tau_entropy": "1"}, "run.knobs.tau_entropy must be a number"),
        ((0, "knobs"), {"overlap_n": 0}, "run.knobs.overlap_n must be .* not 0"),
        ((0, "knobs"), {"ded": 1}, "run.knobs.ded must be true or false, not an integer"),
        ((0, "models"), {"target": {"id": 5}}, "run.models.target.id must be a text"),
        ((0, "extras"), {"earlier": [["a"], [1]]}, "run.extras.earlier must be a text"),
        ((0, "extras"), {"trajectory": LARGE}, "run.extras.trajectory"),
        ((1, "draft_ms"), -1.0, "draft_ms must be .* not -1"),
        ((1, "verify_ms"), 1e12, "verify_ms must be .* not 1e\\+12"),
        ((1, "other_ms"), "Infinity", "other_ms must be .* not inf"),
        ((1, "path"), [3], "index 3 points to no node"),
        ((1, "extras"), {"bin": LARGE}, "extras.bin must be .* not 1e\\+08"),
        ((1, "extras"), {"bin": "x"}, "extras.bin must be an integer, not a text"),
        ((1, "extras"), {"phi": "Infinity"}, "extras.phi must be .* not inf"),
        ((1, "extras"), {"meta_path": 5}, "extras.meta_path must be a list"),
        ((1, "extras"), {str(i): i for i in range(101)}, "more than 100 names"),
        ((1, "pieces"), {"x": "a"}, "round 0: pieces"),
        ((1, "pieces"), {"9" * 5000: "a"}, "round 0: pieces"),
        ((1, "pieces"), {"8": "a"}, "pieces must be from 0 to 7, not 8"),
        ((1, "pruned"), [{"token": 1, "parent": 3}], "pruned.parent must be from -1 to 2, not 3"),
        ((1, "nodes", 0, "token"), 8, "round 0, node 0: token must be from 0 to 7, not 8"),
        ((1, "nodes", 0, "rank"), 4, "rank must be from 1 to 3, not 4"),
        ((1, "nodes", 0, "q"), 1.01, "q must be from 0 to 1, not 1.01"),
        ((1, "nodes", 0, "p"), -0.1, "p must be .* not -0.1"),
        ((1, "nodes", 0, "u"), "Infinity", "u must be .* not inf"),
        ((1, "nodes", 0, "h_target"), 2.2, "h_target must be from 0 to 2.08.*, not 2.2"),
        ((1, "nodes", 0, "score"), 1, "score must be .* not 1"),
        ((1, "nodes", 0, "margin"), -1, "margin must be .* not -1"),
        ((1, "nodes", 0, "top_target"), [[8, 0.5]], "top_target must be .* not 8"),
        ((1, "nodes", 0, "law_draft"), [[7, 5.0]], "law_draft must be .* not 5"),
        ((1, "nodes", 0, "reason"), {"rank": "first"}, "reason.rank must be an integer"),
        ((1, "nodes", 0, "reason"), {"rank": True}, "reason.rank must be an integer, not a switch"),
        ((1, "nodes", 0, "reason"), {"choice": 8}, "reason.choice must be .* not 8"),
        ((1, "nodes", 0, "reason"), {"overlap": "Infinity"}, "reason.overlap must be .* not inf"),
        ((1, "nodes", 0, "reason"), {"after": 3}, "reason.after must be .* not 3"),
        ((1, "nodes", 0, "source"), {"step": 2**50}, "source.step"),
        ((1, "nodes", 0, "source"), {"passage": [1, 8]}, "source.passage must be .* not 8"),
        ((1, "tokens", 0, "token"), 8, "position 0: token must be .* not 8"),
        ((1, "tokens", 0, "round"), 1, "position 0: round must be 0, not 1"),
        ((1, "tokens", 1, "h_target"), 50, "position 1: h_target must be .* not 50"),
        ((4, "total_ms"), 1e300, "end.total_ms"),
        ((4, "prefill_ms"), -1, "end.prefill_ms"),
    ],
)
def test_each_number_has_its_bound(path: tuple[Any, ...], value: Any, said: str) -> None:
    with pytest.raises(TraceError, match=said) as caught:
        Trace.loads(edited(sd(), *path, value=value))
    assert str(caught.value).startswith(f"Line {path[0] + 1}: ") or path == (0, "vocab") or path[1] == "max_new_tokens"
    assert len(str(caught.value)) < 300


def test_an_index_of_a_round_that_was_recorded_lightly() -> None:
    with pytest.raises(TraceError, match="path must be from 0 to 2, not 3"):
        Trace.loads(edited(light(sd()), 1, "path", value=[3]))
    with pytest.raises(TraceError, match="node must be from 0 to 2, not 7"):
        Trace.loads(edited(light(sd()), 1, "tokens", 0, "node", value=7))


def test_sound_traces_pass() -> None:
    for trace in (sd(), bush(), light(sd()), light(bush())):
        assert list(Trace.loads(trace.to_bytes()).events) == list(trace.events)


def test_every_recorded_trace_passes() -> None:
    files = sorted(Path("presets/traces").glob("*.jsonl.gz"))
    assert len(files) > 50
    for path in files[::4]:
        assert Trace.load(path).end


def test_many_small_values_are_counted_before_they_are_read() -> None:
    data = edited(sd(), 1, "extras", value={"x": [[] for _ in range(2_100_000)]})
    assert len(data) < 20_000_000
    started = time.process_time()
    with pytest.raises(TraceError, match="more than 4000000 values"):
        Trace.loads(data)
    assert time.process_time() - started < 1
