"""The corpus is deterministic, its splits share no problem, and its solutions are right."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction

import pytest

from engine.errors import ConfigError
from engine.tasks import FAMILIES, Problem, catalogue, get_task, load_problems, split_of, tuning_problems
from engine.tasks.problem import SKEW

OPERATIONS = {"+": Fraction.__add__, "-": Fraction.__sub__, "*": Fraction.__mul__, "/": Fraction.__truediv__}
EQUATION = re.compile(r"(\d+) ([-+*/]) (\d+) = (\d+)")


@pytest.fixture(scope="module", params=FAMILIES)
def problems(request: pytest.FixtureRequest) -> list[Problem]:
    return load_problems(request.param, "train", 200)


def test_same_arguments_same_problems(problems: list[Problem]) -> None:
    family = problems[0].family
    assert load_problems(family, "train", 200) == problems
    assert load_problems(family, "train", 200, seed=1) != problems


def test_no_key_is_in_both_splits(problems: list[Problem]) -> None:
    heldout = load_problems(problems[0].family, "heldout", 50)
    assert {split_of(p.key) for p in problems} == {"train"}
    assert {split_of(p.key) for p in heldout} == {"heldout"}
    assert len({p.key for p in heldout}) == 50
    assert not {p.key for p in problems} & {p.key for p in heldout}


def test_wording_does_not_move_a_problem_to_the_other_split() -> None:
    by_key: dict[str, set[str]] = {}
    for seed in range(6):
        for problem in load_problems("functions", "train", 300, seed):
            by_key.setdefault(problem.key, set()).add(problem.prompt)
    reworded = [prompts for prompts in by_key.values() if len(prompts) > 1]
    assert reworded, "some specification is drawn with several wordings"


def test_choices_are_spans_of_four_way_wordings(problems: list[Problem]) -> None:
    assert len(SKEW) >= 4
    spans = [p.solution[a:b] for p in problems for a, b in p.choices]
    assert spans and all(spans)
    assert len(set(spans)) >= 8


def test_a_reference_solution_scores_full(problems: list[Problem]) -> None:
    task = get_task(problems[0].family)
    for problem in problems[:5]:
        assert task.equivalent(task.extract(problem.solution), task.extract(problem.solution))
        if task.family != "sentences":
            assert task.score(problem, problem.solution) == 1.0
        else:
            assert task.equivalent(task.extract(problem.solution), problem.answer)


def test_every_equation_of_a_word_problem_holds() -> None:
    for problem in load_problems("arithmetic", "train", 500):
        equations = EQUATION.findall(problem.solution)
        assert 4 <= len(equations) <= 6
        for a, sign, b, result in equations:
            assert OPERATIONS[sign](Fraction(a), Fraction(b)) == Fraction(result)
            assert all(0 <= int(n) <= 999 for n in (a, b, result))
        assert equations[-1][3] == problem.answer
        assert problem.solution.endswith(f" The answer is {problem.answer}.")


def test_the_facts_of_a_word_problem_are_in_its_prompt() -> None:
    for problem in load_problems("arithmetic", "heldout", 100):
        known = set(re.findall(r"\d+", problem.prompt))
        for a, _, b, result in EQUATION.findall(problem.solution):
            assert {a, b} <= known
            known.add(result)


def test_prompts_end_with_their_cue(problems: list[Problem]) -> None:
    cue = {"arithmetic": "\nAnswer:", "functions": "\nCode:", "sentences": "\nGerman:"}[problems[0].family]
    assert all(p.prompt.endswith(cue) for p in problems)


def test_an_unknown_family_names_the_nearest_one() -> None:
    with pytest.raises(ConfigError, match="Did you mean 'arithmetic'"):
        get_task("arithmetics")
    with pytest.raises(ConfigError, match="heldout"):
        load_problems("arithmetic", "test", 1)


@pytest.mark.parametrize("split", ["train", "heldout"])
def test_a_number_that_would_be_drawn_for_hours_is_refused_at_once(split: str) -> None:
    with pytest.raises(ConfigError, match="1000000000 problems cannot be drawn; 0 to 100000 can"):
        load_problems("arithmetic", split, 10**9)


def test_no_fewer_than_none_and_no_more_than_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    assert load_problems("arithmetic", "heldout", 0) == []
    with pytest.raises(ConfigError, match="-1 problems"):
        load_problems("arithmetic", "heldout", -1)
    few = replace(get_task("arithmetic"), generate=lambda rng: Problem("few", str(rng.randint(0, 99)), "", "", ""))
    monkeypatch.setitem(catalogue._TASKS, "few", few)
    monkeypatch.setattr(catalogue, "PATIENCE", 500)
    held = {str(i) for i in range(100) if split_of(str(i)) == "heldout"}
    assert {p.key for p in load_problems("few", "heldout", len(held))} == held
    with pytest.raises(ConfigError, match=f"few has about {len(held)} heldout problems"):
        load_problems("few", "heldout", len(held) + 1)


@pytest.mark.parametrize("family", FAMILIES)
def test_problems_to_tune_on_are_neither_trained_nor_tested_on(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogue, "TESTED", 100)  # of 1,000, which take long to draw
    tuning = tuning_problems(family, 20)
    assert len({p.key for p in tuning}) == 20 and {split_of(p.key) for p in tuning} == {"heldout"}
    assert not {p.key for p in tuning} & {p.key for p in load_problems(family, "heldout", 100)}
