"""Contests: every contender once a prompt and repetition, in turns; ratios repetition by repetition."""

from collections.abc import Sequence

import pytest

from engine.bench.contenders import ours
from engine.bench.contest import Lap, Spread, contest
from engine.lab import Lab


def test_contenders_take_turns_and_ratios_are_of_sums() -> None:
    order: list[str] = []

    def runner(name: str, seconds: list[float]) -> object:
        times = iter([9.0, *seconds])  # the first is the warm-up, which no number holds

        def run(prompt: Sequence[int]) -> Lap:
            order.append(name)
            return Lap(len(prompt), next(times), 2, 5)

        return run

    runs = {"a": runner("a", [1.0, 2.0, 1.0, 1.0]), "b": runner("b", [2.0, 4.0, 4.0, 2.0])}
    times = contest(runs, [[1, 2, 3], [1]], repetitions=2)  # type: ignore[arg-type]
    assert order == ["a", "b"] * 5
    assert times.speed("a") == Spread((4 / 3 + 4 / 2) / 2, 4 / 3, 4 / 2, 2)
    assert times.ratio("a", "b").low == pytest.approx(2.0) and times.ratio("a", "b").high == pytest.approx(3.0)
    assert times.total("b") == Lap(4, 6.0, 4, 10)


def test_a_method_says_what_it_cost(toy: Lab) -> None:
    plain = ours(toy, "ar", 12)([1, 2])
    guessed = ours(toy, "sd", 12, gamma=3)([1, 2])
    assert plain.calls == plain.tokens == plain.verified
    assert guessed.tokens == plain.tokens and guessed.verified > guessed.calls and guessed.seconds > 0
