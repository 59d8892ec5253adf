"""Methods as typed: `sd:gamma=7:correction=target`, several of them with commas between."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from engine.cli.options import knobs
from engine.config import label, parse_method
from engine.errors import ConfigError
from engine.methods import get_card
from engine.rules import RULES

Spec = tuple[str, dict[str, str]]  # a method and its knobs


def split(text: str) -> list[str]:
    """Methods at commas; a part that begins like a number goes on with the list that is a knob's value before it."""
    parts: list[str] = []
    for part in map(str.strip, text.split(",")):
        if parts and "=" in parts[-1] and part[:1] in set("0123456789.-+"):
            parts[-1] += "," + part
        else:
            parts.append(part)
    return parts


def checked(text: str, sets: Sequence[str]) -> Spec:
    """The method of a command that runs one, with knobs behind its name and by --set, which wins; to be asked before
    models are loaded.

    Raises:
        ConfigError: an unknown method or knob, or a value that it does not take.
    """
    name, given = parse_method(text)
    given |= knobs(list(sets))
    get_card(name).resolve(given)
    return name, given


def once(specs: Iterable[tuple[str, Mapping[str, Any]]]) -> None:
    """Nothing when all are methods with knobs of theirs, and each is named once, however its knobs are spelt.

    Raises:
        ConfigError: an unknown method or knob, or one is named twice.
    """
    seen: dict[str, str] = {}
    for name, given in specs:
        card = get_card(name)
        known = card.resolve(given)
        if card.threshold is not None:  # a pair may bring defaults of its own, for what is not given of the rule
            of_rule = {knob.name for knob in RULES[card.rule].KNOBS}
            known = {knob: value for knob, value in known.items() if knob in given or knob not in of_rule}
        as_typed, key = label((name, dict(given))), repr((name, sorted(known.items())))
        before = seen.get(key)
        seen[key] = as_typed
        if before is not None:
            also = "" if before == as_typed else f", the first time as {before!r}"
            raise ConfigError(
                f"{as_typed!r} is named twice{also}: a method is compared with others, or with itself under other "
                "knobs."
            )


def file_name(name: str) -> str:
    """A label as the middle of a file's name."""
    return name.replace(":", "_").replace("=", "-").replace("/", "-").replace(",", "+")
