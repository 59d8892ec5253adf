"""From three part names to a card, and from a card to a method ready to run."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from engine.config import Card, Guarantee, Knob, KnobValue
from engine.drafters import DRAFTERS
from engine.errors import ConfigError, shown, unknown
from engine.loop import Method
from engine.parts import Drafter, Kit, Rule, Shape, own_rule, title_of
from engine.rules import RULES
from engine.shapes import SHAPES

DISTRIBUTIONS = "draft distributions"  # what a rule needs of a drafter, not of a lab
PLUS = "+"  # joins the names of the parts in the name of a composed method


OPTIONS = frozenset(  # of a run, and names of what it is asked with: a knob called so could not be given
    [
        "method",
        "prompt",
        "reuse",
        "drafter",
        "shape",
        "rule",
        "max_new_tokens",
        "temperature",
        "top_p",
        "top_k",
        "seed",
        "chat",
        "record",
        "stop",
        "top_n",
        "looks",
        "extras",
    ]
)


Called = Callable[[type[Any]], str]  # what a part is called where two do not fit


def name_of(part: type[Any]) -> str:
    """A part by its name, as the command line takes it."""
    return str(part.NAME)


def titled(*chosen: type[Any]) -> str:
    """What parts are called together, and one in a menu: as `title_of` has it, with a capital letter."""
    title = " + ".join(map(title_of, chosen))
    return title[:1].upper() + title[1:]


def parts(
    drafter: str, shape: str, rule: str, called: Called = name_of
) -> tuple[type[Drafter], type[Shape], type[Rule]]:
    """The three classes, checked to fit each other; `called` is how an error names them.

    Raises:
        ConfigError: an unknown name, a shape the drafter cannot fill, or one the rule cannot judge, or a rule that
            compares the drafter's distributions where it has none.
    """
    for what, name, known in (("drafter", drafter, DRAFTERS), ("shape", shape, SHAPES), ("rule", rule, RULES)):
        if name not in known:
            raise ConfigError(unknown(what, name, known))
    d, s, r = DRAFTERS[drafter], SHAPES[shape], RULES[rule]
    if s.KIND not in d.SHAPES:
        fits = ", ".join(called(other) for other in SHAPES.values() if other.KIND in d.SHAPES)
        raise ConfigError(f"Drafter {called(d)!r} cannot fill shape {_named(s, called)}; it takes: {fits}.")
    if own_rule(s) and s.KIND not in r.SHAPES:
        fits = ", ".join(called(other) for other in RULES.values() if s.KIND in other.SHAPES)
        raise ConfigError(
            f"Rule {called(r)!r} cannot judge shape {called(s)!r}, whose drafts are no path; it takes: {fits}."
        )
    if r.SHAPES and s.KIND not in r.SHAPES:
        fits = ", ".join(called(other) for other in SHAPES.values() if other.KIND in r.SHAPES)
        raise ConfigError(f"Rule {called(r)!r} cannot judge shape {_named(s, called)}; it takes: {fits}.")
    if DISTRIBUTIONS in r.NEEDS and not d.DISTRIBUTIONS:
        fits = ", ".join(called(o) for o in DRAFTERS.values() if o.DISTRIBUTIONS and s.KIND in o.SHAPES)
        raise ConfigError(
            f"Rule {called(r)!r} compares the draft's distributions, and drafter {called(d)!r} has none; "
            f"it takes: {fits}."
        )
    return d, s, r


def _named(shape: type[Shape], called: Called) -> str:
    """A shape as it is called, and by its kind where that is another."""
    return repr(called(shape)) if shape.NAME == shape.KIND else f"{called(shape)!r} ({called(SHAPES[shape.KIND])})"


def called_in(drafter: type[Drafter], shape: type[Shape], rule: type[Rule]) -> dict[type[Any], dict[str, str]]:
    """What each part's knobs are called in a method of the three: their own names, and where two parts have a knob of
    one name, that of the drafter with the drafter's name before it (the shape's where only the rule has it too)."""
    called: dict[type[Any], dict[str, str]] = {}
    taken: set[str] = set()
    for part in (rule, shape, drafter):
        called[part] = {
            knob.name: f"{part.NAME}_{knob.name}" if knob.name in taken else knob.name for knob in part.KNOBS
        }
        taken |= {*called[part].values()}
    return called


def check_knobs(part: type[Any]) -> None:
    """See that each knob of a part can be set, and is at a value that it takes.

    Raises:
        ConfigError: the part's name, and what its knob lacks.
    """
    for knob in part.KNOBS:
        if not isinstance(knob, Knob):
            raise ConfigError(f"KNOBS of {part.NAME!r} must hold Knob(name, default, help, ...), not {shown(knob)}.")
        if not (isinstance(knob.name, str) and knob.name.isidentifier()) or knob.name in OPTIONS:
            why = "the name of an option of a run" if knob.name in OPTIONS else "no name that can be typed (a word)"
            raise ConfigError(f"Knob {shown(knob.name)} of {part.NAME!r} has {why}: call it otherwise.")
        try:
            knob.check(knob.default)
        except ConfigError as error:
            raise ConfigError(f"Knob {knob.name!r} of {part.NAME!r} has a default that it refuses: {error}") from None


def make_card(
    *,
    drafter: str,
    shape: str,
    rule: str,
    defaults: Mapping[str, KnobValue] | None = None,
    origins: Mapping[str, str] | None = None,
    guarantee: Guarantee | None = None,
    needs: tuple[str, ...] = (),
    **words: Any,
) -> Card:
    """A card whose knobs are those of its parts (`called_in`), with this method's defaults and their origins.

    Raises:
        ConfigError: the parts do not fit, a default is no knob of theirs, or a knob of theirs cannot be set.
    """
    d, s, r = parts(drafter, shape, rule)
    for part in (d, s, r):
        check_knobs(part)
    called = called_in(d, s, r)
    knobs = {
        called[part][knob.name]: replace(knob, name=called[part][knob.name])
        for part in (s, r, d)
        for knob in part.KNOBS
    }
    for name, value in (defaults or {}).items():
        if name not in knobs:
            raise ConfigError(unknown(f"knob of {drafter} x {shape} x {rule}", name, knobs))
        knobs[name] = replace(knobs[name], default=knobs[name].check(value))
    for name, origin in (origins or {}).items():
        knobs[name] = replace(knobs[name], origin=origin)  # type: ignore[arg-type]
    wanted = tuple(dict.fromkeys((*d.NEEDS, *s.NEEDS, *(n for n in r.NEEDS if n != DISTRIBUTIONS), *needs)))
    return Card(
        drafter=drafter,
        shape=shape,
        rule=rule,
        guarantee=guarantee or r.GUARANTEE,
        knobs=_ordered(knobs.values()),
        needs=wanted,
        threshold=r.THRESHOLD,
        writer="nat" if s.KIND == "canvas" else "target",
        **words,
    )


def compose(*, drafter: str, shape: str, rule: str, **knobs: KnobValue) -> Card:
    """A card of any three parts with the knobs given as its defaults; it promises what its rule promises.

    Raises:
        ConfigError: an unknown part or knob, or parts that do not fit, with the reason.
    """
    for part in (drafter, shape, rule):
        if not isinstance(part, str):
            raise ConfigError(f"A part is named by a text, such as 'model', 'chain', 'exact', not {shown(part)}.")
    card = make_card(
        name=PLUS.join((drafter, shape, rule)),
        title=titled(*parts(drafter, shape, rule)),
        paper="composed",
        drafter=drafter,
        shape=shape,
        rule=rule,
        defaults=knobs,
        summary=f"Composed: drafter {drafter}, shape {shape}, rule {rule}.",
    )
    own = called_in(*parts(drafter, shape, rule))
    plain = {own[part][knob.name]: knob.default for part in own for knob in part.KNOBS}
    given = (replace(knob, published=plain[knob.name]) if knob.name in knobs else knob for knob in card.knobs)
    return replace(card, knobs=tuple(given))


def composed(name: str, called: Called = name_of) -> Card | None:
    """The card that a composed method's name, "drafter+shape+rule", stands for; None for a name of another form.
    `called` is how an error names parts that do not fit.

    Raises:
        ConfigError: the parts are unknown or do not fit.
    """
    chosen = name.split(PLUS)
    if len(chosen) != 3:
        return None
    drafter, shape, rule = chosen
    parts(drafter, shape, rule, called)
    return compose(drafter=drafter, shape=shape, rule=rule)


def _ordered(knobs: Any) -> tuple[Knob, ...]:
    """Everyday knobs first, advanced ones after."""
    return tuple(sorted(knobs, key=lambda knob: knob.advanced))


def build(card: Card, kit: Kit, knobs: Mapping[str, object]) -> Method:
    """The method with fresh parts.

    Raises:
        ConfigError: a knob is unknown or out of range, or a model it needs is missing.
    """
    d, s, r = parts(card.drafter, card.shape, card.rule)
    values = card.resolve(knobs)
    called = called_in(d, s, r)
    of = {part: values | {own: values[name] for own, name in called[part].items()} for part in called}
    return Method(card, d(kit, of[d]), s(kit, of[s]), r(kit, of[r]), values)
