"""Fresh problems for the page: held out, repeatable by their seed, refused with words."""

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from app import fresh
from engine.files.presets import Preset, list_presets
from engine.tasks import FAMILIES, JUDGED, SOURCED, check_answer, family_of, get_task, load_problems, split_of, stream


@pytest.fixture
def http() -> TestClient:
    return TestClient(Starlette(routes=fresh.routes()))


@pytest.mark.parametrize("family", [*FAMILIES, *SOURCED])
def test_a_problem_is_held_out_and_its_seed_brings_it_back(http, family):
    first = http.get("/lab/problem", params={"task": family}).json()
    again = http.get("/lab/problem", params={"task": family, "seed": first["seed"]}).json()
    assert first == again and family_of(first["prompt"]) == family
    problem = next(stream(family, "heldout", first["seed"]))
    assert problem.prompt == first["prompt"] and split_of(problem.key) == "heldout"
    assert first["answer"] == (problem.answer if get_task(family).textual else "")


def test_draws_without_a_seed_differ(http):
    prompts = {http.get("/lab/problem", params={"task": "arithmetic"}).json()["prompt"] for _ in range(4)}
    assert len(prompts) == 4


@pytest.mark.parametrize(
    "query",
    [{"task": "aritmetic"}, {"task": "arithmetic", "seed": "-1"}]
    + [{"seed": seed} for seed in ("1e3", str(2**31), f"{'0' * 12}{2**31}", "0" * 12 + "9" * 5000)],
)
def test_what_cannot_be_drawn_is_told(http, query):
    answer = http.get("/lab/problem", params={"task": "arithmetic", **query})
    assert answer.status_code == 400 and answer.json()["error"]
    if query["task" if "task" in query else "seed"] == "aritmetic":
        assert "arithmetic" in answer.json()["error"]


def test_a_prompt_of_no_family_is_known_as_one():
    assert family_of("Why is the sky blue?") is None and family_of("Question: why?") is None
    assert [kind["task"] for kind in fresh.kinds()] == [*FAMILIES, *SOURCED]
    assert {kind["task"] for kind in fresh.kinds() if kind["family"] == "encoder-decoder"} == set(SOURCED)
    assert {kind["task"] for kind in fresh.kinds() if kind["judged"]} == set(JUDGED)


def test_the_pairs_of_this_repository_are_those_that_were_taught(monkeypatch):
    pairs = {preset.name: preset.models["target"] for preset in list_presets() if preset.kind == "pair"}
    taught = fresh.taught([*(preset.name for preset in list_presets()), "nobody/knows"])
    assert taught and set(taught) == {name for name, target in pairs.items() if target.startswith("assets/")}
    assert fresh.taught(["nobody/knows"]) == []
    other = Preset("other", "Other", kind="pair", models={"target": "Qwen/Qwen2.5-7B"})
    monkeypatch.setattr(fresh, "list_presets", lambda: [*list_presets(), other])
    assert fresh.taught([*taught, "other"]) == taught


@pytest.mark.thorough
def test_the_words_of_a_kind_are_those_of_its_prompts():
    words = {kind["task"]: set(kind["words"]) for kind in fresh.kinds()}
    for family, known in words.items():
        for problem in load_problems(family, "heldout", 300):
            assert known >= fresh.words_in(problem.prompt), problem.prompt
    assert "pears" not in words["arithmetic"]


def test_an_answer_is_checked_where_texts_can_be_compared():
    (problem,) = load_problems("arithmetic", "heldout", 1)
    right = check_answer("arithmetic", problem.answer, problem.solution)
    wrong = check_answer("arithmetic", problem.answer, f" The answer is {int(problem.answer) + 1}.")
    assert right and right.right and right.answer == problem.answer
    assert wrong and not wrong.right and wrong.reference == problem.answer
    (code,) = load_problems("functions", "heldout", 1)
    assert not get_task("functions").textual and check_answer("functions", code.answer, code.solution) is None
    assert check_answer("", "1", "1") is None and check_answer("arithmetic", "", "The answer is 1.") is None
