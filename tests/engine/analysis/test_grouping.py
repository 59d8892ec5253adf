"""Which runs belong together, and what they are called."""

import pytest

from engine.analysis.grouping import (
    by_cluster,
    by_method,
    by_target,
    counted,
    label_of,
    one_target,
    question,
    task_of,
    undrafted,
)
from engine.errors import ConfigError
from tests.engine.analysis.made_trees import plain, run


def test_a_run_without_a_task_is_of_one_s_own_prompts() -> None:
    trace = plain(1)
    assert task_of(trace) == "code"
    trace.head.extras["task"] = ""
    assert task_of(trace) == "own prompts"
    del trace.head.extras["task"]
    assert task_of(trace) == "own prompts"


def test_the_target_of_most_runs_comes_first() -> None:
    runs = [plain(1, target=name) for name in "abbcbc"]
    runs[0].head.models = {}
    assert {name: len(own) for name, own in by_target(runs).items()} == {"b": 3, "c": 2, "?": 1}
    assert list(by_target(runs)) == ["b", "c", "?"]
    one_target({"b": 3})
    one_target({})
    with pytest.raises(ConfigError, match=r"different targets \(3 of b, 2 of c\): choose"):
        one_target({"b": 3, "c": 2}, "choose")


def test_knobs_in_another_order_are_the_same_method() -> None:
    one, other = (
        run("eagle", [(1, 1, None)], knobs={"a": 1, "b": 2}),
        run("eagle", [(1, 1, None)], knobs={"b": 2, "a": 1}),
    )
    assert {label: len(runs) for label, runs in by_method([one, other], {}).items()} == {"EAGLE": 2}
    another = run("eagle", [(1, 1, None)], knobs={"a": 1, "b": 3})
    assert list(by_method([another, one], {"eagle": {"a": 1, "b": 2}})) == ["EAGLE", "EAGLE, b 3"]
    assert label_of(another, {"eagle": {"a": 1, "b": 2}}) == "EAGLE, b 3"
    own = [run("mine", [(1, 1, None)], knobs={"c": c}) for c in (1, 2)]
    labels = list(by_method([one, *own], {}))
    assert labels == ["EAGLE", "MINE", "MINE, c 2"], "of a method that nobody knows its first run is as usual"
    another.head.title = ""
    assert label_of(another, {}) == "eagle"


def test_plain_decoding_is_the_reference_else_what_never_drafted_and_changes_nothing() -> None:
    drafted, idle, lossy = run("eagle", [(1, 1, None)]), plain(2), plain(3)
    lossy.head.guarantee = "lossy"
    mixed = [run("pld", [(0, 0, None)], fed=1), run("pld", [(1, 1, None)], prompt="b")]
    groups = {"eagle": [drafted], "idle": [idle], "lossy": [lossy], "pld": mixed}
    assert undrafted(groups) == [idle], "a look-up that found nothing on one prompt is no plain decoding"
    reference = plain(4)
    reference.head.guarantee = "reference"
    assert undrafted(groups | {"ar": [reference]}) == [reference]
    assert undrafted({"eagle": [drafted], "pld": mixed}) == []


def test_names_that_come_again_are_counted_from_zero() -> None:
    assert counted([("a",), ("b",), ("a",), ("a",)]) == [("a", 0), ("b", 0), ("a", 1), ("a", 2)]


def test_numbers_of_a_prompt_are_added_up_over_its_runs() -> None:
    runs = [plain(1, prompt=p) for p in "abca"] + [plain(1, prompt="a", temperature=1.0)]
    assert by_cluster(runs, [(1, 2), (3, 4), (5, 6), (7, 8), (9, 10)]) == [(8, 10), (3, 4), (5, 6), (9, 10)]
    assert by_cluster([], []) == []


def test_numbers_of_a_conversation_are_added_up_over_its_turns() -> None:
    runs = [plain(1, prompt=p) for p in "abc"]
    for trace, talk in zip(runs, ("x", "x", ""), strict=True):
        trace.head.extras["conversation"] = talk
    assert by_cluster(runs, [(1, 2), (3, 4), (5, 6)]) == [(4, 6), (5, 6)]
    assert len({*map(question, runs)}) == 3, "pairs are of prompts"
