"""Cards and knobs as the page shows them, and what comes back from the page. Every word is the card's own."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from app.wire.catalogue import KnobKind, PageCard, PageKnob
from engine.config import Card, Knob
from engine.errors import ConfigError, unknown
from engine.files.presets import calibrations
from engine.methods import no_method
from engine.methods.compose import composed, titled

ORIGINS = {"paper": "the paper's default", "code": "the authors' code", "ours": "our choice"}


def page_knob(knob: Knob) -> PageKnob:
    """A knob with the kind of control it needs and the origin of its default in words."""
    kind: KnobKind = (
        "choice"
        if knob.choices
        else "switch"
        if isinstance(knob.default, bool)
        else "text"
        if isinstance(knob.typed, str)
        else "number"
    )
    whole = kind == "number" and isinstance(knob.typed, int)
    return PageKnob(**vars(knob), kind=kind, whole=whole, origin_text=_origin(knob))


def _origin(knob: Knob) -> str:
    """Where the default comes from; one for the loaded models says what it is elsewhere."""
    usual = ORIGINS[knob.origin]
    if not knob.calibrated:
        return usual
    return f"calibrated for these models by `{knob.calibrated}` ({usual}: {knob.published})"


def card_json(card: Card, reason: str = "", here: str = "") -> dict[str, Any]:
    """A card for the page; `reason` says why it cannot run, `here` how it runs otherwise with the loaded models; both
    are empty where there is nothing to say (or nobody knows yet)."""
    given = {**vars(card), "knobs": tuple(page_knob(knob) for knob in card.knobs)}
    return PageCard(**given, unavailable=reason, here=here).to_json()


def fitted(card: Card, models: str) -> Card:
    """A card with the defaults that the preset of a pair carries; as it is with models that no preset names."""
    return card.fitted(calibrations(models).get(card.rule))


def catalogue(
    cards: Iterable[Card],
    reasons: Mapping[str, str] | None = None,
    models: str = "",
    here: Callable[[Card], str] = lambda _: "",
) -> list[dict[str, Any]]:
    """All cards in the order of the engine, with the defaults of these models; see `card_json`."""
    against = reasons or {}
    return [
        card_json(fitted(card, models), against.get(card.name, ""), "" if card.name in against else here(card))
        for card in cards
    ]


def find(cards: Iterable[Card], name: object, models: str = "") -> Card:
    """The card of a name with the defaults of these models; "drafter+shape+rule" is one too, where the parts fit.

    Raises:
        ConfigError: nobody knows the name, or the parts do not fit.
    """
    if isinstance(name, str) and (card := composed(name, titled)):
        return fitted(card, models)
    known = {card.name: card for card in cards}
    if not isinstance(name, str):
        raise ConfigError(unknown("method", name, known))
    if name not in known:
        raise ConfigError(no_method(name, known))
    return fitted(known[name], models)
