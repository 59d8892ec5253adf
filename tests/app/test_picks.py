"""What the picker chooses at once."""

from app import picks
from engine.methods import CARDS, FIVE, REFERENCE
from tests.app import synthetic


def test_one_of_each_family_is_one_of_each_and_the_five_papers_are_five():
    families, five = picks.among(CARDS)
    by_name = {card.name: card for card in CARDS}
    widely = {card.family for card in CARDS if card.writer != "nat"}  # the others need an encoder-decoder
    assert sorted(by_name[name].family for name in families["methods"]) == sorted(widely)
    assert five["methods"] == [REFERENCE, *FIVE]
    assert len({by_name[name].paper for name in FIVE}) == 5


def test_a_pick_without_its_methods_is_left_out():
    assert picks.among(synthetic.CARDS) == []
