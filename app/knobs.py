"""Cards and knobs as the page shows them, and what comes back from the page. Every word is the card's own."""

from collections.abc import Iterable, Mapping
from typing import Any

from app.wire import KnobKind, PageCard, PageKnob
from engine.config import Card, Knob
from engine.errors import ConfigError, unknown
from engine.methods.compose import composed

ORIGINS = {"paper": "the paper's default", "code": "the authors' code", "ours": "our choice"}


def page_knob(knob: Knob) -> PageKnob:
    """A knob with the kind of control it needs and the origin of its default in words."""
    kind: KnobKind = (
        "choice"
        if knob.choices
        else "switch"
        if isinstance(knob.default, bool)
        else "text"
        if isinstance(knob.default, str)
        else "number"
    )
    whole = kind == "number" and isinstance(knob.default, int)
    return PageKnob(**vars(knob), kind=kind, whole=whole, origin_text=ORIGINS[knob.origin])


def card_json(card: Card, reason: str = "") -> dict[str, Any]:
    """A card for the page; `reason` says why it cannot run, empty when it can (or nobody knows yet)."""
    given = {**vars(card), "knobs": tuple(page_knob(knob) for knob in card.knobs)}
    return PageCard(**given, unavailable=reason).to_json()


def catalogue(cards: Iterable[Card], reasons: Mapping[str, str] | None = None) -> list[dict[str, Any]]:
    """All cards, in the order of the engine."""
    return [card_json(card, (reasons or {}).get(card.name, "")) for card in cards]


def find(cards: Iterable[Card], name: object) -> Card:
    """The card of a name; "drafter+shape+rule" is one too, where the parts fit.

    Raises:
        ConfigError: nobody knows the name, or the parts do not fit.
    """
    if isinstance(name, str) and (card := composed(name)):
        return card
    known = {card.name: card for card in cards}
    if not isinstance(name, str) or name not in known:
        raise ConfigError(unknown("method", name, known))
    return known[name]
