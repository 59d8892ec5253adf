"""The numbers on the cards: rounds, probes, requirements."""

from __future__ import annotations

import json
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from transformers import AutoTokenizer, PreTrainedTokenizerBase

from engine.tasks import load_problems
from engine.training import card, evaluate, models
from engine.training.evaluate import Judge, rounds_of, together
from engine.training.probe import Line, complete, read, reference
from engine.training.record import describe
from engine.training.requirements import accepted_share, check
from engine.training.trainer import Settings, Trainer


@pytest.fixture(scope="module")
def words() -> PreTrainedTokenizerBase:
    return AutoTokenizer.from_pretrained("assets/tiny/tokenizer")


@pytest.fixture(scope="module")
def micro(words: PreTrainedTokenizerBase) -> Trainer:
    return Trainer(Settings("micro", steps=1), words)


@pytest.mark.parametrize(
    ("same", "gamma", "expected"),
    [
        ([True] * 6, 5, (5, 5, 1)),
        ([False] * 3, 5, (0, 3, 3)),
        ([True, False, True, True], 5, (3, 4, 2)),
        ([True, True, True], 2, (2, 2, 1)),
        ([], 5, (0, 0, 0)),
    ],
)
def test_rounds_are_counted_as_chain_speculation_does(
    same: list[bool], gamma: int, expected: tuple[int, int, int]
) -> None:
    assert rounds_of(same, gamma) == expected


@pytest.mark.thorough
def test_batched_completions_equal_single_ones(micro: Trainer, words: PreTrainedTokenizerBase) -> None:
    problems = load_problems("sentences", "heldout", 4)
    together_ = complete(micro.model, words, problems, max_new_tokens=8)
    alone = [complete(micro.model, words, [p], max_new_tokens=8)[0] for p in problems]
    assert together_ == alone
    assert all(len(line.rest) == 8 or line.rest[-1] == words.eos_token_id for line in alone)


def test_reading_gives_the_logits_that_predict_the_rest(micro: Trainer) -> None:
    lines = [Line((1, 5, 6), (7, 8)), Line((1, 9), (3, 4, 2))]
    with torch.no_grad():
        direct = micro.model(input_ids=torch.tensor([[1, 5, 6, 7]])).logits[0, 2:]
    first, second = read(micro.model, lines)
    torch.testing.assert_close(first, direct)
    assert second.shape[0] == 3


def test_a_model_agrees_with_itself(micro: Trainer, words: PreTrainedTokenizerBase) -> None:
    lines = {"sentences": complete(micro.model, words, load_problems("sentences", "heldout", 3), max_new_tokens=9)}
    pair = together(micro.model, lines)["sentences"]
    assert pair["accept_rate_tested"] == pair["top1_agreement"] == 1.0


class Counter:
    """A model that expects each token to be one larger than the one before."""

    device = "cpu"

    def __call__(self, input_ids: torch.Tensor) -> Any:
        return SimpleNamespace(logits=torch.nn.functional.one_hot(input_ids + 1, 20).float())


def test_a_pair_is_measured_by_hand() -> None:
    """Right, right, wrong, right, right, right, wrong: two rounds of five draft tokens, of which five are accepted."""
    found = together(Counter(), {"a": [Line((1,), (2, 3, 9, 10, 11, 12, 5))]}, gamma=5)["a"]  # type: ignore[arg-type]
    assert found == {"accept_rate_tested": 5 / 7, "tested_guesses": 7.0, "tau": 7 / 2, "top1_agreement": 5 / 7}


def test_entropies_are_told_apart(monkeypatch: pytest.MonkeyPatch, words: PreTrainedTokenizerBase) -> None:
    """Two choices among four tokens of two references: of two and of four equal options; elsewhere nothing is open."""
    logits = torch.full((3, 8), -1e4)
    logits[0, 0] = logits[1, :2] = logits[2, 3] = 0.0
    more = torch.full((1, 8), -1e4)
    more[0, :4] = 0.0
    lines = {"a": (Line((1,), (0, 1, 3)), [1]), "b": (Line((1,), (2,)), [0])}
    monkeypatch.setattr(evaluate, "reference", lambda words, problem: lines[problem])
    monkeypatch.setattr(evaluate, "read", lambda model, given: [logits, more])
    found = Judge(words)._on_references(None, ["a", "b"])  # type: ignore[arg-type, list-item]
    two, four = math.log(2), math.log(4)
    assert found["entropy_at_choices"] == pytest.approx((two + four) / 2) and found["entropy_elsewhere"] == 0
    assert found["choices_per_100_tokens"] == 50 and found["loss"] == pytest.approx((two / 3 + four) / 2)


def test_choices_are_found_in_the_tokens(words: PreTrainedTokenizerBase) -> None:
    problem = load_problems("arithmetic", "heldout", 1)[0]
    line, places = reference(words, problem)
    for place, (a, b) in zip(places, problem.choices, strict=True):
        assert problem.solution[a:b].startswith(words.decode([line.rest[place]]))


def test_the_share_of_all_families_weighs_them_by_their_draft_tokens() -> None:
    pair = {
        "a": {"accept_rate_tested": 0.9, "tested_guesses": 300.0},
        "b": {"accept_rate_tested": 0.5, "tested_guesses": 100.0},
    }
    assert accepted_share(pair) == pytest.approx(0.8)


def test_a_missed_requirement_is_said_so_on_the_card(
    micro: Trainer, words: PreTrainedTokenizerBase, tmp_path: Path
) -> None:
    row = {"accuracy": 0.5, "entropy_at_choices": 1.2, "accept_rate_tested": 0.7, "tested_guesses": 1200.0}
    metrics = dict.fromkeys(("arithmetic", "functions", "sentences"), row)
    checks = check(metrics, metrics, metrics)
    assert [c["met"] for c in checks] == [False, False, True, True, True]
    folder = tmp_path / "target"
    models.export(micro.model, words, folder, describe(micro))
    card.write(folder, "target", {"items": 3, "model": metrics, "checks": checks}, "the command")
    card.renew_sums(tmp_path)
    assert not (tmp_path / "SHA256SUMS").exists(), "a folder of one's own holds anything, and needs no sums"
    (tmp_path / "SHA256SUMS").touch()
    card.renew_sums(tmp_path)
    page = (folder / "README.md").read_text()
    assert "MISSED: target accuracy on arithmetic" in page and "the command" in page
    assert json.loads((folder / "card.json").read_text())["evaluation"]["items"] == 3
    assert "target/model.safetensors" in (tmp_path / "SHA256SUMS").read_text()
