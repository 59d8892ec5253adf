"""German noun phrases of the translation grammar: determiners and adjectives by case, gender and number, genitives,
relative pronouns."""

from __future__ import annotations

from dataclasses import dataclass

from engine.tasks.problem import Writer
from engine.tasks.vocabulary import ADJECTIVES, VOWELS, Noun

CASES = ("nom", "acc", "dat", "gen")
# Rows are cases; columns are m, f, n and plural.
_THE = ("der die das die", "den die das die", "dem der dem den", "des der des der")
_DIES = ("er e es e", "en e es e", "em er em en", "es er es er")
_EIN = ("- e - e", "en e - e", "em er em en", "es er es er")
_WEAK = ("e e e en", "en e e en", "en en en en", "en en en en")  # after der, dieser, jeder
_MIXED = ("er e es en", "en e es en", "en en en en", "en en en en")  # after ein, mein, kein
_STRONG = ("er e es e", "en e es e", "em er em en", "en er en er")  # after nothing
_WHO = ("der die das die", "den die das die", "dem der dem denen")
STEMS = {"this": "dies", "every": "jed", "a": "ein", "my": "mein", "his": "sein", "our": "unser", "no": "kein"}
PLURALS = {"this": "these"}


def ending(table: tuple[str, ...], case: str, column: int) -> str:
    """An entry of a table of endings; "-" is none."""
    return table[CASES.index(case)].split()[column].strip("-")


@dataclass(frozen=True, slots=True)
class Phrase:
    """A noun phrase: determiner (empty for an indefinite plural), adjectives, noun, and perhaps whose it is."""

    noun: Noun
    determiner: str
    adjectives: tuple[str, ...] = ()
    plural: bool = False
    owner: Phrase | None = None

    @property
    def column(self) -> int:
        """Of the tables above: gender, or plural."""
        return 3 if self.plural else "mfn".index(self.noun.gender)

    def english(self) -> str:
        """The phrase in English."""
        text = " ".join([*self.adjectives, self.noun.ens if self.plural else self.noun.en])
        determiner = PLURALS.get(self.determiner, self.determiner) if self.plural else self.determiner
        if determiner == "a" and text[0] in VOWELS and not text.startswith(("use", "uni")):
            determiner = "an"
        text = f"{determiner} {text}" if determiner else text
        return f"{text} of {self.owner.english()}" if self.owner else text

    def write(self, writer: Writer, case: str) -> None:
        """The phrase in German, after a blank."""
        if determiner := self._determiner(case):
            writer.say(f" {determiner}")
        self.write_rest(writer, case)

    def write_rest(self, writer: Writer, case: str) -> None:
        """The phrase without its determiner, which was written before."""
        endings = (
            _MIXED if self.determiner in ("a", "my", "his", "our", "no") else _WEAK if self.determiner else _STRONG
        )
        for adjective in self.adjectives:
            stem = ADJECTIVES[adjective].removesuffix("e")
            writer.say(f" {stem}{ending(endings, case, self.column)}")
        writer.say(f" {self.noun.german(case, self.plural)}")
        if self.owner and writer.pick(("genitive", "von")):
            writer.say(" von")
            self.owner.write(writer, "dat")
        elif self.owner:
            self.owner.write(writer, "gen")

    def _determiner(self, case: str) -> str:
        if self.determiner == "the":
            return ending(_THE, case, self.column)
        if not self.determiner:
            return ""
        der = self.determiner in ("this", "every")
        return STEMS[self.determiner] + ending(_DIES if der else _EIN, case, self.column)

    def who(self) -> str:
        """The relative pronoun that stands for the phrase as a subject."""
        return ending(_WHO, "nom", self.column)


@dataclass(frozen=True, slots=True)
class Pronoun:
    """A subject that was named before; empty where a relative pronoun stands for it."""

    en: str
    de: str
    plural: bool = False

    def english(self) -> str:
        """The pronoun in English."""
        return self.en

    def write(self, writer: Writer, case: str) -> None:
        """The pronoun in German, after a blank; it is only ever a subject."""
        writer.say(f" {self.de}" if self.de else "")


PRONOUNS = (Pronoun("he", "er"), Pronoun("she", "sie"), Pronoun("they", "sie", True), Pronoun("it", "es"))
