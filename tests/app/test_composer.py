"""The composer says of every choice whether it fits, and what fits can be run by its name."""

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from app import composer
from app.knobs import find
from app.service import Service
from engine.drafters import DRAFTERS
from engine.errors import ConfigError
from engine.lab import Lab
from engine.methods import CARDS, get_card
from engine.rules import RULES
from engine.shapes import SHAPES
from tests.engine.once import loaded_once


@pytest.fixture
def http(service: Service) -> TestClient:
    return TestClient(Starlette(routes=composer.routes(service)))


def test_a_method_of_the_catalogue_composes_to_itself(http):
    body = http.get("/lab/compose", params={"drafter": "model", "shape": "chain", "rule": "exact"}).json()
    sd = get_card("sd")
    assert body["reason"] == "" and body["card"]["guarantee"] == "lossless"
    assert {knob["name"] for knob in body["card"]["knobs"]} == {knob.name for knob in sd.knobs}
    assert [entry["name"] for entry in body["menus"]["rule"]] == list(RULES)


def test_what_does_not_fit_says_why(http):
    body = http.get("/lab/compose", params={"drafter": "eagle2", "shape": "chain", "rule": "exact"}).json()
    assert body["card"] is None and body["reason"] == (
        "Drafter 'EAGLE-2' cannot fill shape 'Chain'; it takes: Dynamic tree, Entropy-binned tree, Entropy-stopped tree."
    )
    assert body["title"] == "EAGLE-2 + chain + exact rule"
    against = {entry["name"]: entry["against"] for entry in body["menus"]["shape"]}
    assert against["chain"] == body["reason"] and against["dynamic_tree"] == "" and set(against) == set(SHAPES)


def test_parts_are_called_as_in_the_titles_of_composed_methods(http):
    body = http.get("/lab/compose", params={"drafter": "mtp", "shape": "chain", "rule": "gap"}).json()
    title = {part: {entry["name"]: entry["title"] for entry in body["menus"][part]} for part in body["menus"]}
    assert title["drafter"]["mtp"] == "Multi-token prediction" and title["drafter"]["eagle2"] == "EAGLE-2"
    assert (
        title["shape"]["entropy_stop"] == "Entropy-stopped chain" and title["shape"]["dynamic_tree"] == "Dynamic tree"
    )
    assert title["rule"]["gap"] == "Top-beta and gap" and title["rule"]["exact"] == "Exact rule"
    for menu in title.values():
        assert len(set(menu.values())) == len(menu) and all(
            "_" not in one and one[0].isupper() for one in menu.values()
        )
    card = http.get("/lab/compose", params={"drafter": "mtp", "shape": "chain", "rule": "exact"}).json()["card"]
    assert card["title"] == "Multi-token prediction + chain + exact rule"


def test_menus_and_catalogue_agree():
    for card in CARDS:
        assert composer.against(card.drafter, card.shape, card.rule) == "", card.name
    assert any(composer.against(drafter, "chain", "exact") for drafter in DRAFTERS)


def test_a_wrong_name_is_told_with_the_nearest(http):
    answer = http.get("/lab/compose", params={"drafter": "modell", "shape": "chain", "rule": "exact"})
    assert answer.status_code == 400 and "model" in answer.json()["error"]


def test_the_name_of_a_composed_method_is_a_method():
    assert find(CARDS, "pld+chain+top_k").rule == "top_k" == get_card("pld+chain+top_k").rule
    with pytest.raises(ConfigError) as refused:  # a run of it is refused in the words of the menus
        find(CARDS, "eagle2+chain+exact")
    assert str(refused.value) == composer.against("eagle2", "chain", "exact")


def test_a_composed_method_runs_by_its_name_and_as_its_parts_promise():
    with loaded_once():
        tiny = Lab.load("tiny", device="cpu")
    plain = tiny.run("ar", "Question: ", max_new_tokens=12)
    drafted = tiny.run("pld+chain+exact", "Question: ", max_new_tokens=12)
    assert drafted.token_ids == plain.token_ids and drafted.head.method == "pld+chain+exact"
