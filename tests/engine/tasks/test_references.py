"""BLEU, chrF and ROUGE: sums of our rows of counts make what the libraries say about a whole corpus."""

import time

import numpy as np
import pytest
import sacrebleu

from engine.tasks.references import MOST_SIGNS, sentence_bleu, summarised, translated

TEXTS = ["der Hund sieht die Katze .", "ein Haus", "sie kauft morgen das rote Auto .", ""]
REFERENCES = ["der Hund sieht eine Katze .", "das Haus ist alt .", "sie kauft morgen das rote Auto .", "nein ."]


@pytest.mark.parametrize("chosen", [[0, 1, 2, 3], [2], [0, 0, 2], [3, 1]])
def test_sums_of_counts_are_the_libraries_own_scores(chosen: list[int]) -> None:
    texts, references = [TEXTS[i] for i in chosen], [REFERENCES[i] for i in chosen]
    bleu, chrf = sacrebleu.corpus_bleu(texts, [references]).score, sacrebleu.corpus_chrf(texts, [references]).score
    for name, wanted in (("bleu", bleu), ("chrf", chrf)):
        corpus = translated(TEXTS, REFERENCES)[name]
        assert corpus.score(corpus.counts[chosen].sum(0)) == pytest.approx(wanted)


def test_many_sums_at_once() -> None:
    corpus = translated(TEXTS, REFERENCES)["bleu"]
    sums = np.stack([corpus.counts.sum(0), corpus.counts[:2].sum(0)])
    assert corpus.score(sums).tolist() == [corpus.score(row) for row in sums]


def test_rouge_by_hand() -> None:
    """Of "the cat sat" in "the cat is there": 2 of 3 and 2 of 4 words, 1 of 2 and 1 of 3 pairs; stems are equal."""
    scores = summarised(["the cat sat", "dogs barked", ""], ["the cat is there", "dog barking", "x"])
    assert scores["rouge1"] == pytest.approx([100 * 4 / 7, 100, 0]) and scores["rougeL"] == scores["rouge1"]
    assert scores["rouge2"] == pytest.approx([100 * 2 / 5, 100, 0])


@pytest.mark.parametrize("sign", ["x", ". ", "1,", "a b ", "ational "])
def test_a_text_of_megabytes_is_scored_at_once(sign: str) -> None:
    long = sign * 1_000_000
    began = time.perf_counter()
    assert sentence_bleu(long, ["ein Haus"]) < 1 and translated([long], [long])["bleu"].counts[0, 0] <= MOST_SIGNS
    assert summarised([long], ["ein Haus"])["rougeL"] == [0]
    assert time.perf_counter() - began < 2


def test_the_longest_translations_are_scored_as_sacrebleu_scores_them() -> None:
    long = "der Hund sieht, 1.5-mal 'die' Katze. " * (MOST_SIGNS // 37)
    other = long.replace("Hund", "Esel", 50)
    assert MOST_SIGNS - 37 < len(long) <= MOST_SIGNS
    assert sentence_bleu(long, [other]) == sacrebleu.sentence_bleu(long, [other]).score
    for name, wanted in (("bleu", sacrebleu.corpus_bleu), ("chrf", sacrebleu.corpus_chrf)):
        corpus = translated([long, "ein Haus"], [other, "das Haus"])[name]
        assert corpus.score(corpus.counts.sum(0)) == wanted([long, "ein Haus"], [[other, "das Haus"]]).score
