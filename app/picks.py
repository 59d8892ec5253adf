"""Methods that the picker chooses several at once. No gradio, no torch."""

from collections.abc import Sequence

from app.wire import Pick
from engine.config import Card

REFERENCE = "ar"
FIVE = ("easd", "heterospec", "cm_asd", "stand", "autojudge")  # one method a paper
FAMILIES = ("sd", "eagle3", "sam", "autojudge")  # with the reference, one of each family


def among(cards: Sequence[Card]) -> list[Pick]:
    """The picks whose methods are there, each with the reference first; those that have none are left out."""
    known = {card.name for card in cards}
    wanted: tuple[tuple[str, tuple[str, ...]], ...] = (("One of each family", FAMILIES), ("The five papers", FIVE))
    found = ((title, [name for name in (REFERENCE, *names) if name in known]) for title, names in wanted)
    return [{"title": title, "methods": methods} for title, methods in found if len(methods) > 1]
