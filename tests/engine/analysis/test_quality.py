"""Quality against responses made by hand: every number can be worked out on paper."""

from typing import Any

import numpy as np
import pytest
import sacrebleu

from engine.analysis.intervals import as_json, gap_interval, share_interval, wilson
from engine.analysis.quality import quality
from engine.errors import ConfigError
from engine.trace.events import RunEnded
from engine.trace.store import Trace
from tests.engine.analysis.made import ar, head


def said(
    text: str, prompt: str = "a", task: str = "arithmetic", answer: str = "7", length: int = 3, **extras: Any
) -> Trace:
    """A run that answered `text` in so many tokens, the last of which stands for the text."""
    ids = [1] * (length - 1) + [sum(map(ord, text)) % 7 + 1]
    made = ar(ids)
    noted = {"task": task, "answer": answer, "process": "made", **extras}
    return Trace(
        [head("ar", prompt=prompt, extras=noted, max_new_tokens=64), *made.rounds, RunEnded("eos", 0, 0, text)]
    )


RIGHT, WRONG = " The answer is 7.", " The answer is 8."


def test_shares_lengths_and_differences_are_paired_by_prompt() -> None:
    ours = [said(RIGHT, "a"), said(WRONG, "b", length=5), said(RIGHT, "c")]
    plain = [said(WRONG, "c"), said(RIGHT, "a"), said(WRONG, "b", length=9)]  # in another order
    found = quality(ours, plain)
    assert (found["responses"], found["prompts"], found["repeats"]) == (3, 3, 1)
    assert quality(iter(ours), iter(plain)) == found, "whatever gives the runs, once"
    for wrong in (None, 5, "runs", [5], np.array(1)):
        with pytest.raises(ConfigError, match="A trace is wanted, not"):
            quality(wrong)  # type: ignore[arg-type]
    assert found["accuracy"]["mean"] == pytest.approx(2 / 3) and found["accuracy_difference"]["mean"] == pytest.approx(
        1 / 3
    )
    assert found["same_as_ar"]["mean"] == pytest.approx(1 / 3)
    assert found["response_tokens"]["mean"] == pytest.approx(11 / 3)
    assert found["response_tokens_difference"]["mean"] == pytest.approx(-4 / 3)
    assert "majority" not in found and "bleu" not in found and "rouge1" not in found


def test_pairing_makes_the_difference_narrow() -> None:
    """Both fail on the same half of the prompts: the difference is less uncertain than each share is."""
    runs = [said(RIGHT if i % 2 else WRONG, str(i)) for i in range(20)]
    found = quality(runs, runs[::-1])
    assert found["accuracy"]["low"] < 0.35 and found["accuracy"]["high"] > 0.65
    gap = found["accuracy_difference"]
    assert (gap["mean"], gap["n"]) == (0.0, 20) and -0.13 < gap["low"] < -0.1 < 0.1 < gap["high"] < 0.13


def test_nothing_is_compared_with_other_prompts() -> None:
    found = quality([said(RIGHT, "a")], [said(RIGHT, "b")])
    assert found["accuracy"]["mean"] == 1 and not [
        name for name in found if "difference" in name or "ar" in name.split("_")
    ]


def test_majorities_over_repeats() -> None:
    """a: 7, 8, 7 is right; b: 8, 8, 7 is wrong; pass@1 is the mean over all six."""
    ours = [
        said(text, prompt)
        for prompt, texts in (("a", (RIGHT, WRONG, RIGHT)), ("b", (WRONG, WRONG, RIGHT)))
        for text in texts
    ]
    plain = [said(WRONG, prompt) for prompt in "ab" for _ in range(3)]
    found = quality(ours, plain)
    assert (found["responses"], found["prompts"], found["repeats"]) == (6, 2, 3)
    assert found["accuracy"]["mean"] == found["majority"]["mean"] == found["majority_difference"]["mean"] == 0.5
    assert found["accuracy"]["n"] == 2, "three answers to one prompt are not three prompts"
    assert "majority" in quality([said("nothing"), said("none")]), "an answer that nobody gives is wrong"
    assert quality([said("nothing"), said("none")])["majority"]["mean"] == 0


def test_ties_go_to_the_first_answer() -> None:
    assert quality([said(RIGHT), said(WRONG)])["majority"]["mean"] == 1
    assert quality([said(WRONG), said(RIGHT)])["majority"]["mean"] == 0


def test_marks_are_trusted_where_answers_have_to_be_run() -> None:
    code = [said("def f(x): return 1", p, "functions", "assert f(1) == 1", right=p != "b") for p in "abc"]
    assert quality(code)["accuracy"]["mean"] == pytest.approx(2 / 3)
    unmarked = said("def f(x): return 1", "d", "functions", "assert f(1) == 1")
    assert "accuracy" not in quality([*code, unmarked])


def test_translations_are_scored_as_a_corpus() -> None:
    texts = ["Der Hund sieht eine Katze.", "Ein altes Haus steht dort."]
    wanted = ["Der Hund sieht die Katze.", "Ein altes Haus steht dort."]
    ours = [said(f" {t}\nmore", p, "sentences", w) for t, w, p in zip(texts, wanted, "ab", strict=True)]
    plain = [said(f" {w}", p, "sentences", w) for w, p in zip(wanted, "ab", strict=True)]
    found, bleu = quality(ours, plain), sacrebleu.corpus_bleu(texts, [wanted]).score
    assert found["bleu"]["mean"] == pytest.approx(bleu) and found["chrf"]["mean"] < 100
    assert found["bleu_relative"]["mean"] == pytest.approx(bleu) and found["bleu_difference"]["mean"] == pytest.approx(
        bleu - 100
    )
    assert found["accuracy"]["mean"] == 0.5 and found["bleu"]["low"] < found["bleu"]["mean"] < found["bleu"]["high"]
    assert quality(plain, plain)["bleu_relative"]["mean"] == 100
    lost = found["bleu_difference"]
    assert found["bleu"]["low"] == 0 and found["bleu"]["high"] == found["chrf"]["high"] == 100, "two prompts are few"
    assert found["bleu_relative"]["low"] == 0 and -100 == lost["low"] < lost["high"] <= 100


def test_summaries_have_rouge_and_no_right_answers() -> None:
    ours = [said(" the cat sat", "a", "qmsum", "the cat is there"), said(" a dog", "b", "qmsum", "a dog")]
    plain = [said(" a dog", p, "qmsum", w) for p, w in (("a", "the cat is there"), ("b", "a dog"))]
    found = quality(ours, plain)
    assert "accuracy" not in found and found["rouge1"]["mean"] == pytest.approx((100 * 4 / 7 + 100) / 2)
    assert found["rouge1_difference"]["mean"] == pytest.approx(100 * 4 / 7 / 2) and "rougeL_difference" in found
    assert found["rouge1"]["low"] == 0 and found["rouge1"]["high"] == 100, "two prompts are few"
    assert found["rouge1_difference"]["high"] == 100


def test_of_several_tasks_only_what_fits_all() -> None:
    mixed = [said(RIGHT, "a"), said("Ja.", "b", "sentences", "Ja.")]
    found = quality(mixed)
    assert found["accuracy"]["mean"] == 1 and "bleu" not in found
    assert "accuracy" not in quality([*mixed, said("x", "c", "qmsum", "y")])
    assert "accuracy" not in quality([said(RIGHT, task="")]), "of prompts of one's own nothing is known"


@pytest.mark.parametrize(("good", "n"), [(0, 5), (5, 5), (3, 10), (79, 80)])
def test_wilson_s_interval_for_means_of_repeats(good: int, n: int) -> None:
    found, known = share_interval([1.0] * good + [0.0] * (n - good)), wilson(good, n)
    assert found and known and (found.mean, found.low, found.high) == pytest.approx((known.mean, known.low, known.high))
    assert share_interval([]) is None


def test_repeats_are_those_of_the_prompt_that_was_answered_least() -> None:
    runs = [said(RIGHT, "a"), said(RIGHT, "a"), said(RIGHT, "b")]
    found = quality(runs)
    assert (found["responses"], found["prompts"], found["repeats"]) == (3, 2, 1)
    assert "majority" not in found, "a prompt that was answered once has no majority"
    assert quality(runs[:2])["repeats"] == 2
    assert quality([]) == {"responses": 0, "prompts": 0, "repeats": 0}


def test_majorities_are_compared_prompt_by_prompt() -> None:
    """Ours: a right, b right, c wrong; plain decoding's: a wrong, b right, c wrong. One of three prompts is gained."""
    ours = [said(text, p) for p, text in (("a", RIGHT), ("b", RIGHT), ("c", WRONG)) for _ in range(3)]
    plain = [said(text, p) for p, text in (("a", WRONG), ("b", RIGHT), ("c", WRONG)) for _ in range(3)]
    found = quality(ours, plain)
    assert (found["majority"]["mean"], found["majority"]["n"]) == (pytest.approx(2 / 3), 3)
    assert found["majority_difference"]["mean"] == pytest.approx(1 / 3)
    assert found["majority_difference"] == as_json(gap_interval([1.0, 0.0, 0.0]))


def test_a_measure_that_does_not_fit_is_absent() -> None:
    assert "accuracy" not in quality([said("a dog", task="qmsum", answer="a dog", right=True)]), "a summary"
    marked = said("der Hund", task="sentences", answer="der Hund")
    assert "bleu" in quality([marked])
    without = said("der Hund", "b", task="sentences", answer="")
    assert "bleu" not in quality([marked, without]), "a translation without a reference"
    assert "accuracy" not in quality([said(RIGHT), said(RIGHT, "b", task="own prompts")]), "a task that nobody marks"
    two = [said(RIGHT, p, task=t, right=True) for p, t in (("a", "arithmetic"), ("b", "functions")) for _ in range(2)]
    assert "accuracy" in quality(two) and "majority" not in quality(two), "answers of two tasks are no votes"


def test_what_nobody_marked_on_the_other_side_gives_no_difference() -> None:
    found = quality([said(RIGHT)], [said(RIGHT, answer="", task="arithmetic")])
    assert found["accuracy"]["mean"] == 1 and "accuracy_difference" not in found
    assert found["response_tokens_difference"]["mean"] == 0


def test_only_bleu_is_told_in_per_cent_of_plain_decoding() -> None:
    pair = [said("der Hund sieht die Katze", task="sentences", answer="der Hund sieht die Katze")]
    found = quality(pair, [said("der Hund sieht die Maus", task="sentences", answer="der Hund sieht die Katze")])
    assert found["bleu_relative"]["mean"] == pytest.approx(100 * 100 / (100 - found["bleu_difference"]["mean"]))
    assert [name for name in found if name.endswith("relative")] == ["bleu_relative"]
    assert found["chrf_difference"]["mean"] > 0
