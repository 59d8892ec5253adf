"""Extraction, equivalence and scores of each family."""

from __future__ import annotations

import time

import pytest

from engine.tasks import get_task, load_problems
from engine.tasks.german import Phrase
from engine.tasks.lexicon import PEOPLE, THINGS, Noun
from engine.tasks.marking import marking
from engine.tasks.sentences import corpus_scores

arithmetic, functions, sentences = (get_task(f) for f in ("arithmetic", "functions", "sentences"))


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("So 3 + 4 = 7. The answer is 7.", "7"),
        ("The answer is 5. No: the answer is 1,250 apples.", "1250"),
        ("the answer is $3/2", "3/2"),
        ("The answer is -1.5.", "-1.5"),
        ("The answer is \N{MINUS SIGN}5.", "-5"),
        ("The answer is **18**: she had 20 before.", "18"),
        ("**The answer is:** $1,200. She had 20 before.", "1200"),
        ("It makes 12 and then 13", "13"),
        ("no idea", None),
    ],
)
def test_the_last_stated_number_is_the_answer(text: str, answer: str | None) -> None:
    assert arithmetic.extract(text) == answer


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ("1.5", "3/2", True),
        ("07", "7", True),
        ("7", "8", False),
        ("1/0", "7", False),
        (None, "7", False),
        ("1000", "1e3", False),  # of an exponent of nine digits the number would fill the memory
    ],
)
def test_numbers_compare_as_numbers(a: str | None, b: str, same: bool) -> None:
    assert arithmetic.equivalent(a, b) is same


@pytest.mark.parametrize(
    ("task", "text"),
    [("arithmetic", "The answer is" + " " * 8000 + "x"), ("gsm8k", "The final answer is x" + " " * 16000 + "x")],
)
def test_blanks_in_an_answer_are_read_once(task: str, text: str) -> None:
    began = time.perf_counter()
    marking(task).extract(text)
    assert time.perf_counter() - began < 0.2


def test_a_function_is_found_in_prose_and_fences() -> None:
    code = "def f(xs):\n    return len(xs)\n"
    assert functions.extract(code + "\nprint(1)\n") == code
    assert functions.extract(f"Sure:\n```python\n{code}```\nDone.") == code
    assert functions.extract("nothing here") is None


def test_functions_are_equal_up_to_names() -> None:
    a, b = "def f(xs):\n    t = 0\n    return t\n", "def f(s):\n    total = 0\n    return total\n"
    assert functions.equivalent(a, b)
    assert not functions.equivalent(a, b.replace("0", "1"))
    assert not functions.equivalent("def f(:", a)
    short, long = "def f(n):\n    n += 2\n    return n\n", "def f(n):\n    # twice\n    n = n + 2\n    return n\n"
    assert functions.equivalent(short, long) and not functions.equivalent(short, long.replace("+", "-"))
    nested = f"def f(n):\n    return {'-' * 20_000}n\n"  # deeper than Python's parser goes
    assert functions.equivalent(nested, nested) and not functions.equivalent(nested, a)
    biggest = "def f(xs):\n    return max(xs)\n"
    assert not functions.equivalent(biggest, biggest.replace("max", "min"))


def test_a_wrong_function_fails() -> None:
    problem = load_problems("functions", "heldout", 1)[0]
    assert functions.score(problem, "\ndef f(*_):\n    return 'no'\n") == 0.0
    assert functions.score(problem, "no code") == 0.0
    assert functions.score(problem, "\ndef f(x):\n    exit(0)\n") == 0.0


def test_german_phrases() -> None:
    def noun(nouns: tuple[Noun, ...], en: str) -> Noun:
        return next(n for n in nouns if n.en == en)

    man, child, lamp = noun(PEOPLE, "man"), noun(PEOPLE, "child"), noun(THINGS, "lamp")
    assert Phrase(man, "the", "old").german("nom") == "der alte Mann"
    assert Phrase(man, "the", "old").german("acc") == "den alten Mann"
    assert Phrase(man, "a", "old").german("nom") == "ein alter Mann"
    assert Phrase(child, "a", "small").german("acc") == "ein kleines Kind"
    assert Phrase(child, "the", plural=True).german("dat") == "den Kindern"
    assert Phrase(lamp, "a", "new").german("dat") == "einer neuen Lampe"
    assert Phrase(lamp, "", "new", plural=True).german("acc") == "neue Lampen"
    assert Phrase(man, "a", "old").english() == "an old man"


def test_synonyms_count_as_equal() -> None:
    assert sentences.equivalent("Womöglich sieht er es häufig.", "Vielleicht sieht er es oft.")
    assert not sentences.equivalent("Vielleicht sieht er sie.", "Vielleicht sieht er es.")


def test_translations_are_scored_against_the_reference() -> None:
    problems = load_problems("sentences", "heldout", 20)
    perfect = corpus_scores(problems, [p.answer for p in problems])
    assert perfect["bleu"] == pytest.approx(100) and perfect["chrf"] == pytest.approx(100)
    assert corpus_scores(problems, ["nein"] * 20)["bleu"] < 5
