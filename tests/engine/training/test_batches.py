"""What a step reads: problems of the training split alone, other ones in each pool, and a loss that weighs each token."""

from __future__ import annotations

from random import Random
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from transformers import AutoTokenizer, PreTrainedTokenizerBase

from engine.tasks import Problem, get_task, split_of
from engine.training.batches import STEPS_A_POOL, Lines, Pairs, padded
from engine.training.data import Corpus, Mix, encode
from engine.training.trainer import _shares

MIX = Mix(arithmetic=2, functions=0, sentences=2, drills=0)


@pytest.fixture(scope="module")
def words() -> PreTrainedTokenizerBase:
    return AutoTokenizer.from_pretrained("assets/tiny/tokenizer")


def test_no_held_out_problem_is_learnt(words: PreTrainedTokenizerBase, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = list[str]()
    monkeypatch.setattr(Corpus, "row", lambda self, problem, rng: keys.append(problem.key) or ([1, 2], [0.0, 1.0]))
    Corpus(words, MIX, 0).pool(0)
    drawn = {get_task("sentences").generate(Random(i)).key for i in range(200)}
    assert {split_of(key) for key in drawn} == {"train", "heldout"}
    assert len(keys) == 4 * STEPS_A_POOL and {split_of(key) for key in keys} == {"train"}


def test_pools_are_others_and_their_steps_in_no_order_of_length(words: PreTrainedTokenizerBase) -> None:
    corpus = Corpus(words, MIX, 0)
    firsts, seconds = ([corpus.batches(step)[0] for step in range(at, at + STEPS_A_POOL)] for at in (0, STEPS_A_POOL))
    for a, b in zip(firsts, seconds, strict=True):
        assert a.ids.shape != b.ids.shape or not torch.equal(a.ids, b.ids)
    longest = [batch.ids.shape[1] for batch in firsts]
    assert longest != sorted(longest)


def test_an_accent_reaches_the_wordings(words: PreTrainedTokenizerBase) -> None:
    assert len({Corpus(words, Mix(0, 0, 2, 0, accent=turn), 0).digest() for turn in (0, 1)}) == 2


def test_each_token_weighs_what_it_says() -> None:
    """Predictions of a model that is sure of nothing, but of one token: by hand."""
    ids, weights = [[1, 5, 6], [1, 7]], [[3.0, 0.5, 2.0], [3.0, 4.0]]
    batch = Lines(padded(ids), padded(weights, torch.float))
    assert batch.total == 6.5 and batch.tokens == 5 and batch.size == 6

    def model(input_ids: torch.Tensor, **_: Any) -> Any:
        logits = torch.zeros(*input_ids.shape, 8)
        logits[0, 1, 6] = 50.0  # what stands behind the second token of the first row
        return SimpleNamespace(logits=logits)

    assert float(batch.loss(model)) == pytest.approx((0.5 + 4.0) * torch.tensor(8.0).log().item())
    pairs = Pairs(padded([[3, 1]]), padded([[0, 5, 6]]), padded([[5, 6, 1]]), padded([[0.5, 1.0, 2.0]], torch.float))

    def crossed(input_ids: torch.Tensor, decoder_input_ids: torch.Tensor, **_: Any) -> Any:
        logits = torch.zeros(1, 3, 8)
        logits[0, 2, 1] = 50.0
        return SimpleNamespace(logits=logits)

    assert pairs.total == 3.5 and pairs.tokens == 5 and pairs.size == 5
    assert float(pairs.loss(crossed)) == pytest.approx(1.5 * torch.tensor(8.0).log().item())


def test_operands_and_results_weigh_as_asked(words: PreTrainedTokenizerBase) -> None:
    problem = Problem("arithmetic", "k", "Q", " First 12 + 5 = 17 eggs.", "17")
    ids, weights = encode(words, problem, Mix(operand_weight=3.0, result_weight=5.0))

    def text(weight: float) -> str:
        return words.decode([i for i, w in zip(ids, weights, strict=True) if w == weight]).strip()

    assert text(3.0).replace(" ", "") == "12+5" and text(5.0) == "17"
    (drills,) = Corpus(words, Mix(0, 0, 0, 1, result_weight=5.0), 0).batches(0)
    row, told = drills.ids[0].tolist(), drills.weights[0].tolist()
    results = [words.decode([i]).strip() for i, w in zip(row, told, strict=True) if w == 5.0]
    equations = words.decode(row, skip_special_tokens=True).removeprefix("Practice:").strip("; ").split(";")
    assert "".join(results) == "".join(one.partition("=")[2].strip() for one in equations)


def test_workers_share_the_places_of_a_step() -> None:
    batches = [Lines(torch.zeros(1, size), torch.zeros(1, size)) for size in (3, 8, 1, 4)]
    assert [[b.size for b in share] for share in _shares(batches, 2)] == [[8], [4, 3, 1]]
    assert len(_shares(batches[:1], 2)) == 1
