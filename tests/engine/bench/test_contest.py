"""Contests: every contender once a prompt and repetition, in turns; ratios repetition by repetition."""

import json
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import astuple
from itertools import pairwise, permutations
from pathlib import Path

import psutil
import pytest

from engine.bench import busy
from engine.bench.contenders import kept, loaded, ours, theirs
from engine.bench.contest import Lap, Spread, contest
from engine.lab import Lab
from engine.model import load_model
from tests.engine.zoo import Zoo


def test_transformers_writes_by_the_settings_that_the_lab_has(zoo: Zoo, tmp_path: Path) -> None:
    """Or it would be timed on other texts, and with work that the lab does not do."""
    folder = tmp_path / "llama"
    shutil.copytree(zoo.path("llama"), folder)
    told = {"repetition_penalty": 3.0, "no_repeat_ngram_size": 1, "num_beams": 3}
    (folder / "generation_config.json").write_text(json.dumps(told))
    lab = Lab(load_model(folder, "cpu"))
    run = theirs(lab, loaded(lab, str(folder)), 24)
    assert run([5, 9, 33, 7]).outputs == (tuple(lab.run("ar", [5, 9, 33, 7], max_new_tokens=24).token_ids),)


def test_contenders_take_turns_and_ratios_are_of_sums() -> None:
    order: list[str] = []

    def runner(name: str, seconds: list[float]) -> object:
        times = iter([9.0, *seconds])  # the first is the warm-up, which no number holds

        def run(prompt: Sequence[int]) -> Lap:
            order.append(name)
            return Lap(len(prompt), next(times), 2, 5, ((len(prompt), 9),))

        return run

    runs = {"a": runner("a", [1.0, 2.0, 1.0, 1.0]), "b": runner("b", [2.0, 4.0, 4.0, 2.0])}
    times = contest(runs, [[1, 2, 3], [1]], repetitions=2)  # type: ignore[arg-type]
    turns = [order[at : at + 2] for at in range(0, 10, 2)]
    assert turns[0] == ["a", "b"] and all(sorted(turn) == ["a", "b"] for turn in turns)
    assert times.speed("a") == Spread((4 / 3 + 4 / 2) / 2, 4 / 3, 4 / 2, 2)
    assert times.ratio("a", "b").low == pytest.approx(2.0) and times.ratio("a", "b").high == pytest.approx(3.0)
    assert times.total("b") == Lap(4, 6.0, 4, 10, ((3, 9), (1, 9)))


def test_no_contender_always_runs_behind_the_same_other() -> None:
    """Whose weights it would always find in the caches."""
    told: list[list[str]] = []
    for _ in range(2):
        order: list[str] = []
        runs = {name: lambda prompt, name=name: order.append(name) or Lap(1, 1.0) for name in "abc"}
        contest(runs, [[1]] * 8, repetitions=3)  # type: ignore[arg-type]
        told.append(order)
    assert told[0] == told[1], "the same in every call"
    assert set(pairwise(told[0])) >= set(permutations("abc", 2)), "each has stood behind each other"
    assert all(sorted(told[0][at : at + 3]) == ["a", "b", "c"] for at in range(0, 75, 3))


def test_a_method_says_what_it_cost(toy: Lab) -> None:
    plain = ours(toy, "ar", 12)([1, 2])
    drafted = ours(toy, "sd", 12, gamma=3)([1, 2])
    assert plain.calls == plain.tokens == plain.verified
    assert drafted.tokens == plain.tokens and drafted.verified > drafted.calls and drafted.seconds > 0


def test_a_table_that_is_kept_serves_the_next_prompt_and_starts_afresh_with_the_first(zoo: Zoo) -> None:
    lab = zoo.lab("llama")
    first, second = [5, 6, 7], [5, 6, 7, 8]
    alone = ours(lab, "recycle", 24)
    run = kept(lab, "recycle", first, 24, scope="global")
    laps = [run(first), run(second), run(first), run(second)]
    assert (laps[0].calls, laps[1].calls) == (laps[2].calls, laps[3].calls), "a repetition must not know the one before"
    assert laps[0].calls == alone(first).calls
    assert laps[1].tokens == alone(second).tokens
    again = run(second)
    assert again.calls < alone(second).calls, "the matrix knows this text by now"


def test_beside_a_busy_process_each_repetition_is_set_against_one_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    state = {"busy": False}

    @contextmanager
    def crowd() -> Iterator[None]:
        state["busy"] = True
        yield
        state["busy"] = False

    monkeypatch.setattr(busy, "busy", crowd)
    found = busy.beside({"a": lambda _: Lap(6, 3.0 if state["busy"] else 1.0)}, [[1], [2]], 3)
    assert astuple(found["a"]) == pytest.approx((1 / 3, 1 / 3, 1 / 3, 3))


def test_the_busy_process_runs_and_ends() -> None:
    me = psutil.Process()
    before = {child.pid for child in me.children()}
    with busy.busy():
        (other,) = [child for child in me.children() if child.pid not in before]
        assert other.is_running() and other.cpu_times().user > 0
    assert not other.is_running()
