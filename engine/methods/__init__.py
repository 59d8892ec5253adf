"""The catalogue of cards: an explicit tuple, in the order in which the page lists them."""

from engine.config import Card
from engine.errors import ConfigError, unknown
from engine.methods.chains import CHAINS
from engine.methods.judges import JUDGES

CARDS: tuple[Card, ...] = (*CHAINS, *JUDGES)


def get_card(name: str) -> Card:
    """The card of that name.

    Raises:
        ConfigError: with the nearest right name.
    """
    for card in CARDS:
        if card.name == name:
            return card
    raise ConfigError(unknown("method", name, (card.name for card in CARDS)))
