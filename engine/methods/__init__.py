"""The catalogue of cards: an explicit tuple, in the order in which the page lists them."""

from engine.config import Card
from engine.errors import ConfigError, unknown
from engine.methods.chains import CHAINS
from engine.methods.compose import composed
from engine.methods.judges import JUDGES
from engine.methods.lookups import LOOKUPS
from engine.methods.trees import TREES

CARDS: tuple[Card, ...] = (*CHAINS, *LOOKUPS, *TREES, *JUDGES)


def get_card(name: str) -> Card:
    """The card of that name; "drafter+shape+rule" names a composed method.

    Raises:
        ConfigError: with the nearest right name, or why the parts do not fit.
    """
    known = {card.name: card for card in CARDS}
    if card := known.get(name) or composed(name):
        return card
    raise ConfigError(unknown("method", name, known))
