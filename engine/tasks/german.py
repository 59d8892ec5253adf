"""German noun phrases: articles and adjective endings by case, gender and number."""

from __future__ import annotations

from dataclasses import dataclass

from engine.tasks.lexicon import ADJECTIVES, Noun

# Rows are cases; columns are m, f, n and plural.
_DEFINITE = {"nom": "der die das die", "acc": "den die das die", "dat": "dem der dem den"}
_INDEFINITE = {"nom": "ein eine ein", "acc": "einen eine ein", "dat": "einem einer einem"}
_WEAK = {"nom": "e e e en", "acc": "en e e en", "dat": "en en en en"}  # after der, die, das
_MIXED = {"nom": "er e es e", "acc": "en e es e", "dat": "en en en en"}  # after ein, or no article


@dataclass(frozen=True, slots=True)
class Phrase:
    """A noun phrase: `article` is the, a, or empty (indefinite plural); `adjective` may be empty."""

    noun: Noun
    article: str
    adjective: str = ""
    plural: bool = False

    def english(self) -> str:
        """The phrase in English."""
        head = self.noun.ens if self.plural else self.noun.en
        text = f"{self.adjective} {head}" if self.adjective else head
        article = "an" if self.article == "a" and text[0] in "aeiou" else self.article
        return f"{article} {text}" if article else text

    def german(self, case: str) -> str:
        """The phrase in German in the given case (nom, acc or dat)."""
        column = 3 if self.plural else "mfn".index(self.noun.gender)
        words = []
        if self.article == "the":
            words.append(_DEFINITE[case].split()[column])
        elif self.article == "a":
            words.append(_INDEFINITE[case].split()[column])
        if self.adjective:
            endings = _WEAK if self.article == "the" else _MIXED
            words.append(ADJECTIVES[self.adjective] + endings[case].split()[column])
        plural = self.noun.dative_plural if case == "dat" else self.noun.des
        return " ".join([*words, plural if self.plural else self.noun.de])
