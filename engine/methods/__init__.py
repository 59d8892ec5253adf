"""The catalogue of cards: an explicit tuple, in the order in which the page lists them."""

from engine.config import Card
from engine.errors import ConfigError, unknown
from engine.methods.chains import CHAINS
from engine.methods.judges import JUDGES
from engine.methods.lookups import LOOKUPS
from engine.methods.trees import TREES

CARDS: tuple[Card, ...] = (*CHAINS, *LOOKUPS, *TREES, *JUDGES)


def get_card(name: str) -> Card:
    """The card of that name.

    Raises:
        ConfigError: with the nearest right name.
    """
    for card in CARDS:
        if card.name == name:
            return card
    raise ConfigError(unknown("method", name, (card.name for card in CARDS)))
