"""Cards from parts: knobs of all three, defaults and origins of the card, needs of the parts."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engine.drafters import DRAFTERS
from engine.errors import ConfigError
from engine.methods import CARDS, apart, get_card
from engine.methods.compose import composed, make_card, parts
from engine.parts import title_of
from engine.rules import RULES
from engine.shapes import SHAPES
from tests.engine.zoo import Zoo

WORDS: dict[str, Any] = {"name": "x", "title": "x", "paper": "x", "summary": "x."}


def test_a_card_has_the_knobs_of_its_parts() -> None:
    card = make_card(
        drafter="model", shape="chain", rule="entropy_veto", defaults={"gamma": "7"}, origins={"gamma": "code"}, **WORDS
    )
    knobs = {knob.name: knob for knob in card.knobs}
    assert knobs["gamma"].default == 7 and knobs["gamma"].origin == "code" and knobs["tau_entropy"].origin == "paper"
    assert card.needs == ("draft",) and card.guarantee == "lossy"
    places = [knob.advanced for knob in card.knobs]
    assert places == sorted(places)  # everyday knobs first


def test_defaults_must_be_knobs_and_in_range() -> None:
    with pytest.raises(ConfigError, match=r"Unknown knob of model x chain x exact 'gama'. Did you mean 'gamma'"):
        make_card(drafter="model", shape="chain", rule="exact", defaults={"gama": 1}, **WORDS)
    with pytest.raises(ConfigError, match="gamma must be an integer from"):
        make_card(drafter="model", shape="chain", rule="exact", defaults={"gamma": -1}, **WORDS)


def test_every_card_is_made_of_parts_that_fit() -> None:
    for card in CARDS:
        drafter, shape, rule = parts(card.drafter, card.shape, card.rule)
        assert shape.KIND in drafter.SHAPES and (not rule.SHAPES or shape.KIND in rule.SHAPES)
        own = {knob.name for part in (drafter, shape, rule) for knob in part.KNOBS}
        assert {knob.name for knob in card.knobs} == own, card.name


def test_no_two_parts_of_a_card_share_a_knob() -> None:
    """One name would set two things; the card could not say which."""
    for card in CARDS:
        names = [knob.name for part in parts(card.drafter, card.shape, card.rule) for knob in part.KNOBS]
        assert len(names) == len(set(names)), (card.name, sorted(n for n in names if names.count(n) > 1))


def test_the_triples_are_those_of_the_design() -> None:
    want = {
        "ar": ("none", "none", "exact"),
        "sd": ("model", "chain", "exact"),
        "easd": ("model", "chain", "entropy_veto"),
        "specdec": ("model", "chain", "gap"),
        "cm_asd": ("model", "confidence_chain", "gap"),
        "topk_lossy": ("model", "chain", "top_k"),
    }
    for name, triple in want.items():
        card = get_card(name)
        assert (card.drafter, card.shape, card.rule) == triple


def test_a_rule_that_compares_distributions_is_refused_where_the_drafter_has_none() -> None:
    for drafter, shape in (("pld", "chain"), ("anpd", "chain"), ("sam", "chain")):
        with pytest.raises(
            ConfigError, match=f"drafter '{drafter}' has none; it takes: dflash, layer_skip, medusa, model, mtp"
        ):
            make_card(drafter=drafter, shape=shape, rule="entropy_veto", **WORDS)
    assert make_card(drafter="model", shape="chain", rule="entropy_veto", **WORDS).rule == "entropy_veto"


def test_drafters_say_truly_whether_they_have_distributions(zoo: Zoo) -> None:
    """What a drafter declares is what its drafts carry; heads need weights and are tested with them."""
    lab = zoo.lab("llama", draft="noise")
    for name in ("model", "pld", "anpd", "sam", "stand"):
        shape = "static_tree" if name == "stand" else "chain"
        trace = lab.run(lab.compose(drafter=name, shape=shape, rule="exact"), [5, 9, 5, 9, 5, 9], max_new_tokens=12)
        nodes = [node for event in trace.rounds for node in event.nodes]
        assert nodes and all((node.h_draft is not None) == DRAFTERS[name].DISTRIBUTIONS for node in nodes)


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("parallel+chain+exact", "Parallel drafter + chain + exact rule"),
        ("model+confidence_chain+gap", "Draft model + confidence chain + top-beta and gap"),
        ("eagle3+dynamic_tree+top_k", "EAGLE-3 + dynamic tree + Top-K"),
        ("none+none+exact", "No draft + no shape + exact rule"),
    ],
)
def test_a_composed_method_is_called_by_the_titles_of_its_parts(name: str, title: str) -> None:
    card = composed(name)
    assert card and (card.name, card.title) == (name, title)


def test_a_part_without_a_title_is_called_by_its_own_name() -> None:
    class First:
        NAME, TITLE = "first", "the first"

    class Second(First):
        NAME = "second_choice"

    assert (title_of(First), title_of(Second)) == ("the first", "second choice")
    assert not any("_" in title_of(part) for known in (DRAFTERS, SHAPES, RULES) for part in known.values())


def test_a_card_names_its_papers_as_the_pages_of_methods_do() -> None:
    """The whole title, or what stands before its colon."""
    told = " ".join(page.read_text(encoding="utf-8") for page in Path("docs/methods").glob("*.md"))
    told = re.sub(r"\s+", " ", told)
    titles = {title for card in CARDS for title in re.findall(r"'([^']+)'", card.paper)}
    assert len(titles) > 20
    assert not [title for title in titles if not any(f'"{title}{end}' in told for end in '":')]


def test_a_card_does_not_stand_in_place_of_another() -> None:
    """Whose name would run it from then on, and list both."""
    mine = replace(get_card("pld"), name="sd", title="Mine")
    with pytest.raises(ValueError, match="'sd' names two cards: Speculative decoding and Mine"):
        apart([*CARDS, mine])
    assert apart(CARDS) == CARDS
