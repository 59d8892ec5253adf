"""The tokenizer: digits, round trips, and what it puts around a prompt."""

from __future__ import annotations

from pathlib import Path

import pytest
from transformers import AutoTokenizer, PreTrainedTokenizerBase

from engine.tasks import FAMILIES, load_problems
from engine.training.data import Mix, encode
from engine.training.probe import reference

SHIPPED = Path("assets/tiny/tokenizer")


@pytest.fixture(scope="module")
def words() -> PreTrainedTokenizerBase:
    return AutoTokenizer.from_pretrained(SHIPPED)


def test_every_digit_is_a_token_of_its_own(words: PreTrainedTokenizerBase) -> None:
    for token in words.get_vocab():
        assert len(token) == 1 or not any(c.isdigit() for c in token), token
    pieces = [words.decode([i]) for i in words("= 1234.5", add_special_tokens=False).input_ids]
    assert [p for p in pieces if p.strip().isdigit()] == list("12345")


@pytest.mark.parametrize(
    "text", ["Grüße, 北京 ∑ 🙂", "a\tb\r\n  c \n\n", "x = {'k': [1, 22]}  # ok", " ", "don't do n't 's .", ""]
)
def test_any_text_comes_back(words: PreTrainedTokenizerBase, text: str) -> None:
    assert words.decode(words(text).input_ids, skip_special_tokens=True) == text


@pytest.mark.parametrize("family", FAMILIES)
def test_problems_come_back_and_fit(words: PreTrainedTokenizerBase, family: str) -> None:
    for problem in load_problems(family, "heldout", 50):
        ids, weights = encode(words, problem, Mix())
        assert words.decode(ids, skip_special_tokens=True) == problem.prompt + problem.solution
        assert len(ids) == len(weights) <= 350
        prompt = words(problem.prompt).input_ids
        assert ids[: len(prompt)] == prompt and prompt[0] == words.bos_token_id
        assert ids[-1] == words.eos_token_id and weights[-1] == 1.0


@pytest.mark.parametrize("family", FAMILIES)
def test_alternatives_differ_in_their_first_token(words: PreTrainedTokenizerBase, family: str) -> None:
    """At a free choice the first token already decides: four of them follow the same kind of place."""
    firsts = set()
    for problem in load_problems(family, "train", 200):
        line, places = reference(words, problem)
        assert len(places) == len(problem.choices)
        firsts |= {words.decode([line.rest[i]]) for i in places}
    assert len(firsts) >= 8


def test_special_tokens_and_chat(words: PreTrainedTokenizerBase) -> None:
    assert (words.pad_token_id, words.bos_token_id, words.eos_token_id) == (0, 1, 2)
    chat = words.apply_chat_template([{"role": "user", "content": "Question: 1?\nAnswer:"}], tokenize=False)
    assert words(chat).input_ids == words("Question: 1?\nAnswer:").input_ids
