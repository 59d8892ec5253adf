"""The reward model's training by hand: which tokens a step is scored at, and what areas are taken over."""

from __future__ import annotations

import math

import pytest
import torch

from engine.errors import ConfigError
from engine.training.prm import PrmSettings, PrmTrainer, Responses, area, read, scores
from engine.training.rollouts import Labelled
from tests.engine.zoo import Zoo

WEIGHT, BIAS = torch.tensor([0.7, -0.4]), 0.3


@pytest.fixture
def data() -> Responses:
    """Responses of five and four tokens, with steps that end at their second and fifth, and at their third."""
    features = torch.randn(9, 2, generator=torch.Generator().manual_seed(0))
    return Responses(features, torch.tensor([0, 0, 5]), torch.tensor([1, 4, 7]), torch.tensor([1.0, 0.5, 0.0]))


def wanted(data: Responses) -> list[float]:
    """Each step's product of sigmoids, from the first token of its response on."""
    each = torch.sigmoid(data.features @ WEIGHT + BIAS)
    return [float(each[a : b + 1].prod()) for a, b in zip(data.first.tolist(), data.last.tolist(), strict=True)]


def test_a_step_is_scored_at_its_last_token(data: Responses) -> None:
    assert scores(data, WEIGHT, BIAS) == pytest.approx(wanted(data), rel=1e-5)


def test_the_loss_is_that_of_the_scores_and_the_line_is_for_plain_features(data: Responses) -> None:
    trainer = PrmTrainer(PrmSettings(1, 0.1, 0.0), data)
    with torch.no_grad():
        trainer.weight.copy_(WEIGHT * trainer.scale)
        trainer.bias.fill_(BIAS + float(WEIGHT @ trainer.mean))
    weight, bias = trainer.line()
    assert torch.allclose(weight, WEIGHT) and bias == pytest.approx(BIAS, abs=1e-5)
    pairs = zip(wanted(data), data.labels.tolist(), strict=True)
    loss = -sum(y * math.log(p) + (1 - y) * math.log(1 - p) for p, y in pairs) / 3
    assert trainer.step() == pytest.approx(loss, rel=1e-4)


def test_a_finished_training_that_is_resumed_still_knows_its_loss(data: Responses) -> None:
    first, again = (PrmTrainer(PrmSettings(3, 0.1, 0.0), data) for _ in range(2))
    first.run(lambda _: None, lambda: None)
    again.load(first.state())
    again.run(lambda _: None, lambda: None)
    assert again.loss == first.loss > 0


def test_fewer_updates_than_are_done_are_refused(data: Responses) -> None:
    """The card had said `--updates 2` of a model that was trained with three."""
    first, again = (PrmTrainer(PrmSettings(updates, 0.1, 0.0), data) for updates in (3, 2))
    first.run(lambda _: None, lambda: None)
    with pytest.raises(ConfigError, match=r"has done 3 updates, more than the 2 asked for: give --updates 3 or more"):
        again.load(first.state())
    assert again.done == 0


def test_rows_are_the_tokens_of_each_response(zoo: Zoo) -> None:
    target = zoo.model("llama")
    told = [Labelled(str(i), "Q?", "ab.cde.", "draft", (3, 7), (2, 1), 2) for i in range(2)]
    data = read(target, told)
    assert len(data.features) == 14 and data.first.tolist() == [0, 0, 7, 7] and data.last.tolist() == [2, 6, 9, 13]
    assert data.labels.tolist() == [1.0, 0.5] * 2 and torch.allclose(data.features[:7], data.features[7:])


def test_half_of_the_tries_are_enough_and_what_follows_a_wrong_step_is_no_first_wrong_one() -> None:
    told = [
        Labelled("a", "?", "", "draft", (1, 2, 3), (2, 1, 0), 4),  # right, wrong, wrong
        Labelled("b", "?", "", "target", (1, 2), (4, 2), 4),  # right, right: half of the tries
    ]
    given = [0.9, 0.5, 0.2, 0.4, 0.8]
    found = area(given, told)
    assert (found["steps"], found["wrong_steps"], found["first_wrong_steps"], found["responses"]) == (5, 2, 1, 2)
    assert (found["auc"], found["auc_first_wrong"]) == pytest.approx((5 / 6, 2 / 3))
    assert area(given, told, "draft")["steps"] == 3 and area(given, told, "target")["auc"] is None
