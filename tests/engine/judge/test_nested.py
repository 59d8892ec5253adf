"""Nested folds: what is estimated has chosen nothing, and says so on the card."""

import numpy as np
import pytest

from engine.errors import ConfigError
from engine.judge.classifier import Settings, train
from engine.judge.nested import nested

PROMPTS = [f"p{i // 6}" for i in range(240)]


def made(seed: int, told: float) -> tuple[np.ndarray, list[bool]]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(240, 60))
    return x, (told * x[:, 0] + rng.normal(size=240) > 0.5).tolist()


@pytest.mark.thorough
def test_where_nothing_can_be_learned_the_chosen_area_is_above_a_half_and_the_nested_one_is_not() -> None:
    draws = [made(seed, 0.0) for seed in range(6)]
    settings = Settings("holdout")
    chosen = [train(x, y, PROMPTS, settings).auc for x, y in draws]
    found = [nested(x, y, PROMPTS, settings) for x, y in draws]
    assert np.mean(chosen) > 0.55 and abs(np.mean([one.area.mean for one in found]) - 0.5) < 0.03
    assert sum((one.area.low or 0) <= 0.5 <= (one.area.high or 1) for one in found) >= 5


@pytest.mark.thorough
@pytest.mark.parametrize("split", ["holdout", "folds"])
def test_every_prompt_is_scored_by_a_judge_made_without_it(split: str, monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = made(1, 2.0)
    seen = list[set[str]]()

    def spied(rows: np.ndarray, important: list[bool], prompts: list[str], settings: Settings) -> object:
        seen.append(set(prompts))
        return train(rows, important, prompts, settings)

    monkeypatch.setattr("engine.judge.nested.train", spied)
    found = nested(x, y, PROMPTS, Settings(split))  # type: ignore[arg-type]
    assert [len(prompts) for prompts in seen] == [32] * 5 and len(found.c) == 5
    assert set.intersection(*seen) == set(), "each is left out once"
    assert found.area.n == 40 and found.area.mean > 0.8 and 0 < (found.area.low or 0) < found.area.mean
    assert found.recall.mean > 0.7 and found.recall.low is not None and found.kept_unimportant.mean < 1
    assert found.as_json()["area"]["mean"] == found.area.mean and found.as_json()["c"] == list(found.c)


def test_too_few_prompts_to_choose_within_four_fifths_are_refused_in_words() -> None:
    x, y = np.random.default_rng(0).normal(size=(12, 2)), [True, *[False] * 10, True]
    with pytest.raises(ConfigError, match=r"Nested folds choose within .* too few to learn from"):
        nested(x, y, PROMPTS[:12], Settings("folds"))
