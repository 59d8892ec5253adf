"""Equivalence by right wordings and by measures: names, margins, refusals, an example by hand."""

import numpy as np
import pytest
import sacrebleu

from engine.errors import ConfigError
from engine.judge.criterion import NoWorse, Response, SameAnswer, SameRight, SameTests
from engine.judge.equivalence import Equivalence, parse
from engine.judge.events import PromptFinished
from engine.judge.problems import judged, problems
from engine.tasks import load_problems
from engine.tasks.problem import Problem
from engine.tasks.references import bleu_counts, bleu_of, sentence_bleu
from tests.engine.judge.scripted import planted_search
from tests.typed import known


def test_names_and_margins() -> None:
    assert parse("answer") == Equivalence("answer", 0)
    assert parse("bleu") == parse("bleu:5") == Equivalence("bleu", 5) and parse("rouge:2.50").margin == 2.5
    assert [str(parse(text)) for text in ("answer", "bleu", "rouge:2.50")] == ["answer", "bleu:5", "rouge:2.5"]
    assert "sentence BLEU falls by at most 5 points" in parse("bleu").words


def test_answers_are_compared_with_the_target_s_first_response() -> None:
    """Also where a swap has been kept: many small changes may not add up."""
    near = SameAnswer(lambda text: text, lambda a, b: abs(int(a or 0) - int(b or 0)) <= 1)
    problem = Problem("toy", "k", "", "", "")
    one, two, three = (Response(text, text) for text in "123")
    assert not near.important(problem, one, one, two) and near.important(problem, one, two, three)
    assert not near.important(problem, three, one, two) and near.important(problem, three, two, one)


def test_code_that_passes_some_of_its_tests_fails() -> None:
    """A8: two failures are equal, whatever they pass."""
    problem = Problem("toy", "k", "", "", "")
    tests = SameTests(lambda text: text, lambda problem, text: float(text))
    half, none, all_ = (Response(text, tests.answer(problem, text)) for text in ("0.5", "0.0", "1.0"))
    assert [one.answer for one in (half, none, all_)] == ["fail", "fail", "pass"]
    assert not tests.important(problem, half, half, none) and tests.important(problem, half, half, all_)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("blue", "Did you mean 'bleu'"),
        ("answer:3", "without a margin"),
        ("bleu:", "from 0 to 100"),
        ("bleu:x", "from 0 to 100"),
        ("rouge:-1", "from 0 to 100"),
        ("bleu:101", "from 0 to 100"),
        ("bleu:nan", "from 0 to 100"),
    ],
)
def test_another_equivalence_is_refused(text: str, why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        parse(text)


def test_a_measure_is_for_tasks_that_it_measures() -> None:
    with pytest.raises(ConfigError, match=r"bleu measures translations, and summaries is none: .* answer or rouge"):
        judged("summaries", equivalence="bleu")
    with pytest.raises(
        ConfigError, match=r"rouge measures summaries, and arithmetic is none: for it there is answer\."
    ):
        judged("arithmetic", equivalence="rouge:3")
    criteria = [judged("wmt_en_de", equivalence="bleu").criterion, judged("summaries", equivalence="rouge").criterion]
    assert all(isinstance(criterion, NoWorse) and criterion.margin == 5 for criterion in criteria)


def spaced(margin: float) -> NoWorse:
    """BLEU of letters, each a word, against one reference."""
    return NoWorse(" ".join, lambda problem, text: sentence_bleu(text, ["b c d e h"]), margin, "BLEU")


def test_a_source_is_for_published_tasks() -> None:
    with pytest.raises(ConfigError, match="arithmetic makes its own problems: leave --source out"):
        problems("arithmetic", "train", 1, source="mine.jsonl")


def test_the_fall_of_bleu_is_that_by_hand() -> None:
    """b g d e h against b c d e h: 4 of 5 words, 2 of 4 pairs, 1 of 3 triples and 0 of 2 fours, which counts as a
    quarter (exponential smoothing: half of one in two). BLEU = 100 (4/5 2/4 1/3 1/4)^(1/4) = 42.73."""
    by_hand = 100 * (4 / 5 * 2 / 4 * 1 / 3 * 1 / 4) ** 0.25
    assert by_hand == pytest.approx(42.73, abs=0.005)
    assert spaced(5).answer(Problem("toy", "k", "", "", ""), "bgdeh") == "42.7 BLEU"
    for margin, labels in ((57.2, [(1, True), (3, True)]), (57.3, [(1, False), (3, True)])):
        search, prompt = planted_search(spaced(margin))
        *_, last = search.run(prompt)
        found = known(PromptFinished, last).labels
        assert [(label.t, label.important) for label in found] == labels
        assert found[1].target_answer == "100.0 BLEU", "the first response is what counts, not the current one"


def test_equal_falls_and_gains_are_unimportant() -> None:
    problem = Problem("toy", "k", "", "", "")
    first, other = Response("bcdeh", "1"), Response("bgdeh", "2")
    lost = 100 - sentence_bleu("b g d e h", ["b c d e h"])
    assert not spaced(lost).important(problem, first, first, other)
    assert spaced(lost - 0.01).important(problem, first, first, other)
    assert not spaced(0).important(problem, other, other, first)


def test_another_right_wording_is_unimportant() -> None:
    """And a first response that is wrong has nothing to lose: it gives no answer, so its prompt is skipped."""
    criterion = judged("translation").criterion
    assert isinstance(criterion, SameRight)
    problem = next(p for p in load_problems("translation", "train", 20) if p.solution != p.answer)
    first, other, wrong = (
        Response(text, criterion.answer(problem, text))
        for text in (problem.answer, problem.solution, problem.answer.replace(" ", " nicht ", 1))
    )
    assert first.answer == problem.answer and not criterion.important(problem, first, first, other)
    assert wrong.answer is None and criterion.important(problem, first, other, wrong)
    assert judged("translation").score(problem, problem.solution) == 1 and not judged("translation").score(problem, "")


def test_counts_of_texts_make_the_bleu_of_their_corpus() -> None:
    texts, wanted = (
        ["der Hund sieht das alte Haus.", "sie geht."],
        ["der Hund sah das alte Haus.", "sie ging nach Haus."],
    )
    counts = np.array([bleu_counts(text, right) for text, right in zip(texts, wanted, strict=True)], dtype=float)
    assert bleu_of(counts.sum(0)) == pytest.approx(sacrebleu.corpus_bleu(texts, [wanted]).score)
    problem = Problem("translation", "k", "", "", wanted[0])
    assert judged("translation").counts(problem, texts[0]) == counts[0].tolist()
    assert judged("arithmetic").counts(problem, "1") == []
