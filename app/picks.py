"""Methods that the picker chooses several at once. No gradio."""

from collections.abc import Sequence

from app.wire.catalogue import Pick
from engine.config import Card
from engine.methods import PICKS


def among(cards: Sequence[Card]) -> list[Pick]:
    """The picks whose methods are there; those with fewer than two are left out."""
    known = {card.name for card in cards}
    found = ((title, [name for name in names if name in known]) for title, names in PICKS.items())
    return [{"title": title, "methods": methods} for title, methods in found if len(methods) > 1]
