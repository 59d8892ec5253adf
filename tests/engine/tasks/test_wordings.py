"""Which texts are right wordings: all that the grammar writes, and nothing else."""

from dataclasses import replace
from itertools import product
from random import Random

import pytest

from engine.tasks import load_problems
from engine.tasks.problem import Problem, Writer
from engine.tasks.wordings import is_right, references


def said(writer: Writer) -> None:
    """Eight texts: one choice decides how many more there are."""
    if writer.pick(("short", "long")):
        writer.choose(("a", "b", "c"))
        writer.say(" and ")
        writer.choose(("a", "d"))
    else:
        writer.choose(("a", "ab"))


def test_of_a_small_grammar_exactly_its_texts_are_right() -> None:
    problem = Problem("toy", "k", "", "a", "a", write=said)
    right = {"a", "ab", *(f"{first} and {second}" for first, second in product("abc", "ad"))}
    words = ["".join(letters) for n in (1, 2) for letters in product("abcd", repeat=n)]
    texts = [*words, *(f"{a} and {b}" for a in words for b in words), "a and", "and a", ""]
    assert {text for text in texts if is_right(problem, text)} == right
    assert is_right(problem, "  c  and\td "), "spaces do not count"
    assert set(references(problem)) <= right and references(problem)[0] == "a" and len(references(problem)) > 4


@pytest.mark.parametrize("task", ["translation", "summaries"])
def test_every_wording_is_right_and_a_text_with_another_word_is_not(task: str) -> None:
    problems = load_problems(task, "heldout", 25)
    for problem, other in zip(problems, [*problems[1:], problems[0]], strict=True):
        assert is_right(problem, problem.answer) and is_right(problem, problem.solution)
        for seed in range(4):
            writer = Writer(Random(seed))
            assert problem.write is not None
            problem.write(writer)
            assert is_right(problem, writer.text), writer.text
            words = writer.text.split()
            for at in (0, len(words) // 2, len(words) - 1):
                assert not is_right(problem, " ".join([*words[:at], f"x{words[at]}", *words[at + 1 :]]))
                assert not is_right(problem, " ".join(words[:at])), "a part is no whole"
        assert not is_right(problem, other.answer)
        assert all(is_right(problem, text) for text in references(problem))
        assert references(problem) == references(problem)


def test_a_problem_of_one_wording_has_one_right_text() -> None:
    (problem,) = load_problems("arithmetic", "heldout", 1)
    assert is_right(problem, problem.answer) and not is_right(problem, problem.solution)
    assert references(problem) == [problem.answer]
    assert replace(problem, write=said) == problem, "problems are equal by what they say"
