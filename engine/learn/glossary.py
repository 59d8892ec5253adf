"""The glossary: every word of the page, as data (presets/lessons/glossary.toml, docs/design/0013-learn.md)."""

import tomllib
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

from engine.errors import ConfigError, unknown
from engine.files.places import PRESETS
from engine.learn.pages import anchor
from engine.learn.recorded import NUMBERS

FILE = PRESETS / "lessons" / "glossary.toml"
KEYS = ("term", "text", "formula", "symbols", "see", "names")


@dataclass(frozen=True)
class Term:
    """One word: `text` is Markdown, `formula` LaTeX or empty, `symbols` pairs of a symbol and a recorded field."""

    term: str
    anchor: str
    text: str
    formula: str = ""
    symbols: tuple[tuple[str, str], ...] = ()
    see: tuple[str, ...] = ()  # anchors of other terms, or methods/NAME
    names: tuple[str, ...] = ()  # numbers of a run that this word explains, as `engine.trace.metrics` calls them


def read_glossary(text: str) -> list[Term]:
    """The terms of a glossary file, in alphabetical order.

    Raises:
        ConfigError: damaged TOML, an unknown key or field, a term given twice, or a reference to none.
    """
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"The glossary is not valid TOML: {error}.") from None
    terms = [_term(entry) for entry in raw.get("word", ())]
    known = [term.anchor for term in terms]
    for term in terms:
        if known.count(term.anchor) > 1:
            raise ConfigError(f"The glossary explains {term.term!r} twice.")
        for other in term.see:
            if not other.startswith("methods/") and other not in known:
                raise ConfigError(f"{term.term}: " + unknown("word of the glossary", other, known))
    return sorted(terms, key=lambda term: term.term.lower())


def _term(entry: dict[str, Any]) -> Term:
    name = str(entry.get("term", ""))
    for key in entry:
        if key not in KEYS:
            raise ConfigError(f"{name}: " + unknown("key of a word", key, KEYS))
    if not name or not entry.get("text"):
        raise ConfigError(f"A word of the glossary needs a term and a text, not {entry!r}.")
    symbols = tuple((str(a), str(b)) for a, b in entry.get("symbols", {}).items())
    for symbol, field in symbols:
        if field not in NUMBERS:
            raise ConfigError(f"{name}, {symbol}: " + unknown("field of a place", field, NUMBERS))
    lists = {key: tuple(map(str, entry.get(key, ()))) for key in ("see", "names")}
    return Term(name, anchor(name), str(entry["text"]).strip(), str(entry.get("formula", "")), symbols, **lists)


def glossary() -> list[Term]:
    """The terms of the page.

    Raises:
        ConfigError: as `read_glossary`.
    """
    return read_glossary(FILE.read_text(encoding="utf-8"))


@lru_cache(maxsize=1)
def glossary_json() -> list[dict[str, Any]]:
    """The terms in JSON types, for the page.

    Raises:
        ConfigError: as `read_glossary`.
    """
    return [asdict(term) for term in glossary()]
