"""The catalogue of cards, as the page orders them: those of the families below, then those of other files here."""

from collections.abc import Collection, Iterable
from importlib import import_module
from pkgutil import iter_modules

from engine.config import Card, parse_method
from engine.errors import ConfigError, shown, unknown
from engine.files.own import own_files
from engine.methods.compose import composed

FAMILIES = ("chains", "lookups", "trees", "judges", "nat")
EVERY = "all"  # in a list of methods: those that the pair can run
__path__.extend(own_files("methods", __path__))
_others = [info.name for info in iter_modules(__path__) if info.name not in (*FAMILIES, "compose")]


def apart(cards: Iterable[Card]) -> tuple[Card, ...]:
    """The cards, none of which stands in place of another.

    Raises:
        ConfigError: something that is no card, or one whose name cannot be typed. ValueError: two have the same name.
    """
    found: dict[str, Card] = {}
    for card in cards:
        if not isinstance(card, Card):
            raise ConfigError(f"CARDS must hold cards, as `make_card` makes them, not {shown(card)}.")
        if not isinstance(card.name, str) or not card.name.isidentifier() or card.name == EVERY:
            raise ConfigError(
                f"A method's name must be one word of letters, digits and underscores, and not {EVERY!r}: "
                f"{shown(card.name)} could not be asked for."
            )
        if card.name in found:
            raise ValueError(f"{card.name!r} names two cards: {found[card.name].title} and {card.title}")
        found[card.name] = card
    return tuple(found.values())


CARDS: tuple[Card, ...] = apart(
    card for name in (*FAMILIES, *_others) for card in import_module(f"{__name__}.{name}").CARDS
)

REFERENCE = "ar"
FIVE = ("easd", "heterospec", "cm_asd", "stand", "autojudge")  # one method a paper
ONE_EACH = ("sd", "eagle3", "sam", "autojudge")  # with the reference, one of each family
PICKS = {"One of each family": (REFERENCE, *ONE_EACH), "The five papers": (REFERENCE, *FIVE)}  # worth running together


def get_card(name: str) -> Card:
    """The card of that name; "drafter+shape+rule" names a composed method.

    Raises:
        ConfigError: with the nearest right name, or why the parts do not fit; knobs stand behind the name.
    """
    if not isinstance(name, str):
        raise ConfigError(f"A method is named by a text, such as 'sd', not {shown(name)}.")
    known = {card.name: card for card in CARDS}
    if card := known.get(name) or composed(name):
        return card
    raise ConfigError(no_method(name, known))


def no_method(name: str, known: Collection[str]) -> str:
    """The sentence for what is none of the `known` methods: the nearest, or where knobs go that stand behind one."""
    alone, knobs = parse_method(name)
    if alone not in known or not knobs:
        return unknown("method", name, known)
    apart = ", ".join(f"{knob}={value!r}" for knob, value in knobs.items())
    return f"Knobs are given beside the method's name here: {alone!r} with {apart}, not {name!r}."
