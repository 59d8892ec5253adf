"""Cards from parts: knobs of all three, defaults and origins of the card, needs of the parts."""

import re
from dataclasses import replace
from inspect import signature
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from app.knobs import page_knob
from engine.config import Calibration, Knob
from engine.drafters import DRAFTERS
from engine.errors import ConfigError
from engine.lab import Lab
from engine.methods import CARDS, apart, get_card
from engine.methods.compose import OPTIONS, called_in, check_knobs, compose, composed, make_card, parts
from engine.parts import title_of
from engine.rules import RULES
from engine.runs.asking import DECODING
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


def test_a_number_whose_default_is_left_to_the_device_stays_a_number(zoo: Zoo) -> None:
    """What is given later is read and refused as where the default is a number, and not taken for a text."""
    left = compose(drafter="model", shape="chain", rule="exact", gamma="auto")
    given = make_card(drafter="model", shape="chain", rule="exact", defaults={"gamma": "auto"}, **WORDS)
    fitted = get_card("sd").fitted(Calibration({"gamma": "auto"}, "a command"))
    for card in (left, given, fitted):
        (gamma,) = (knob for knob in card.knobs if knob.name == "gamma")
        assert gamma.default == "auto" and gamma.span == "an integer from 0 to 128 tokens"
        assert card.resolve({})["gamma"] == "auto"
        assert [card.resolve({"gamma": value})["gamma"] for value in (7, "7", "auto")] == [7, 7, "auto"]
        for odd in ("foo", 129, 2.5):
            with pytest.raises(ConfigError, match=r"gamma must be an integer from 0 to 128 tokens, not"):
                card.resolve({"gamma": odd})
        assert (page_knob(gamma).kind, page_knob(gamma).whole) == ("number", True)
    ours, plain = (zoo.lab("llama", draft="noise").run(m, [5, 9], max_new_tokens=9, gamma=3) for m in (left, "sd"))
    assert ours.head.knobs == plain.head.knobs and ours.token_ids == plain.token_ids


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


def test_parts_of_a_composed_method_keep_knobs_of_one_name_apart(zoo: Zoo) -> None:
    """Both have an `alpha`, of another meaning: each has its own default, and is set by itself."""
    card = compose(drafter="sam", shape="confidence_chain", rule="exact", sam_alpha=3)
    knobs = {knob.name: knob for knob in card.knobs}
    assert knobs["alpha"] == next(knob for knob in SHAPES["confidence_chain"].KNOBS if knob.name == "alpha")
    own = next(knob for knob in DRAFTERS["sam"].KNOBS if knob.name == "alpha")
    assert (knobs["sam_alpha"].default, knobs["sam_alpha"].published, knobs["sam_alpha"].help) == (3.0, 4.0, own.help)
    lab = zoo.lab("llama")
    method = lab.living(card, alpha=0.5)
    drafter: Any = method.drafter
    assert (method.shape.alpha, drafter.alpha) == (0.5, 3.0)
    assert method.knobs["alpha"] == 0.5 and method.knobs["sam_alpha"] == 3.0
    trace = lab.run(card, [5, 9, 5, 9, 5], max_new_tokens=12)
    assert trace.token_ids == lab.run("ar", [5, 9, 5, 9, 5], max_new_tokens=12).token_ids


def test_every_knob_of_composed_parts_is_on_the_card_once() -> None:
    for drafter, shape, rule in product(DRAFTERS, SHAPES, RULES):
        try:
            chosen = parts(drafter, shape, rule)
        except ConfigError:
            continue
        names = [name for called in called_in(*chosen).values() for name in called.values()]
        assert len(names) == len(set(names)) == sum(len(part.KNOBS) for part in chosen), (drafter, shape, rule)


@pytest.mark.parametrize(
    ("knob", "words"),
    [
        (
            Knob("period", 200, "x", 1, 64),
            "'period' of 'mine' has a default that it refuses: period must be an integer",
        ),
        (
            Knob("period", 5, "x", 9, 3),
            "'period' of 'mine' has a default that it refuses: period must be an integer from",
        ),
        (Knob("mode", "a", "x", choices=("b",)), "'mode' of 'mine' has a default that it refuses: Unknown value"),
        (Knob("temperature", 1.0, "x"), "'temperature' of 'mine' has the name of an option of a run"),
        (Knob("two words", 1, "x"), "'two words' of 'mine' has no name that can be typed"),
        (("period", 5), "KNOBS of 'mine' must hold Knob"),
    ],
)
def test_a_knob_that_cannot_be_set_is_refused_with_its_part(knob: Any, words: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(words)):
        check_knobs(type("Mine", (), {"NAME": "mine", "KNOBS": (knob,)}))


def test_no_knob_has_the_name_of_an_option() -> None:
    """All that a run is asked with stands among the refused names."""
    asked = {*signature(Lab.run).parameters, *signature(Lab.stream).parameters, *signature(Lab.compose).parameters}
    assert DECODING | (asked - {"self", "options", "knobs"}) == OPTIONS
    for part in (*DRAFTERS.values(), *SHAPES.values(), *RULES.values()):
        check_knobs(part)


@pytest.mark.parametrize("name", ["a+b", "a:b", "a,b", "two words", "", "all", 5])
def test_a_method_whose_name_cannot_be_typed_is_refused(name: Any) -> None:
    with pytest.raises(
        ConfigError, match=r"A method's name must be one word .*, and not 'all': .* could not be asked for"
    ):
        apart([replace(CARDS[0], name=name)])
    with pytest.raises(ConfigError, match="CARDS must hold cards"):
        apart([name])


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
