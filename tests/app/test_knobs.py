import pytest

from app.knobs import card_json, catalogue, find
from engine.errors import ConfigError
from tests.app.synthetic import BY_NAME, CARDS


def test_each_knob_says_its_control_and_where_its_default_comes_from():
    knobs = {knob["name"]: knob for card in catalogue(CARDS) for knob in card["knobs"]}
    assert {name: knobs[name]["kind"] for name in ("gamma", "tau", "bias", "hold")} == {
        "gamma": "number",
        "tau": "number",
        "bias": "choice",
        "hold": "switch",
    }
    assert knobs["gamma"]["whole"] and not knobs["tau"]["whole"]
    assert knobs["gamma"]["origin_text"] == "the paper's default"
    assert knobs["width"]["origin_text"] == "the authors' code"
    assert knobs["tau"]["origin_text"] == "our choice"


def test_a_card_carries_all_its_words():
    card = card_json(BY_NAME["chain"], "No draft.")
    assert {"title", "summary", "formula", "helps", "hurts", "contested", "paper", "guarantee"} <= set(card)
    assert card["unavailable"] == "No draft."


def test_unknown_method():
    with pytest.raises(ConfigError, match="Did you mean 'chain'"):
        find(CARDS, "chein")
    with pytest.raises(ConfigError, match="Unknown method 3"):
        find(CARDS, 3)


def test_a_card_says_why_it_cannot_run_or_how_it_runs_otherwise():
    cards = catalogue(CARDS, {"chain": "No draft."}, here=lambda card: f"{card.name} drafts otherwise.")
    told = {card["name"]: (card["unavailable"], card["here"]) for card in cards}
    assert told["chain"] == ("No draft.", "") and told["bush"] == ("", "bush drafts otherwise.")
    assert all((card["unavailable"], card["here"]) == ("", "") for card in catalogue(CARDS))
