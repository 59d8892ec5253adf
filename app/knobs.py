"""Cards and knobs as the page shows them, and what comes back from the page. Every word is the card's own."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from engine.config import Card, Knob
from engine.errors import ConfigError, unknown

ORIGINS = {"paper": "the paper's default", "code": "the authors' code", "ours": "our choice"}


def knob_json(knob: Knob) -> dict[str, Any]:
    """A knob with the kind of control it needs and the origin of its default in words."""
    kind = (
        "choice"
        if knob.choices
        else "switch"
        if isinstance(knob.default, bool)
        else "text"
        if isinstance(knob.default, str)
        else "number"
    )
    return {
        **asdict(knob),
        "kind": kind,
        "whole": kind == "number" and isinstance(knob.default, int),
        "origin_text": ORIGINS[knob.origin],
    }


def card_json(card: Card, reason: str = "") -> dict[str, Any]:
    """A card for the page; `reason` says why it cannot run, empty when it can (or nobody knows yet)."""
    return {**card.to_json(), "knobs": [knob_json(knob) for knob in card.knobs], "unavailable": reason}


def catalogue(cards: Iterable[Card], reasons: Mapping[str, str] | None = None) -> list[dict[str, Any]]:
    """All cards, in the order of the engine."""
    return [card_json(card, (reasons or {}).get(card.name, "")) for card in cards]


def find(cards: Iterable[Card], name: object) -> Card:
    """The card of a name.

    Raises:
        ConfigError: nobody knows the name.
    """
    known = {card.name: card for card in cards}
    if not isinstance(name, str) or name not in known:
        raise ConfigError(unknown("method", name, known))
    return known[name]


def changed(card: Card, values: Mapping[str, object]) -> dict[str, object]:
    """The knobs that differ from the card's defaults: what a link or a lane's title needs to say.

    Raises:
        ConfigError: a name this method does not have, or a value its knob refuses.
    """
    defaults = {knob.name: knob.default for knob in card.knobs}
    return {name: value for name, value in card.resolve(values).items() if name in values and value != defaults[name]}
