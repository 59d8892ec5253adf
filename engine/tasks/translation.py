"""English to German with subordinate clauses: verbs second, first and last, separable verbs, four cases, three tenses,
infinitives, and several right translations of most sentences.

What is free in German and not in English is chosen by weight (`engine.tasks.problem.Writer`): synonyms, the simple past
or the perfect, the genitive or "von", where an adverb stands. The canonical translation takes the commonest each time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random

from engine.tasks.inflection import PRONOUNS, Phrase, Pronoun
from engine.tasks.problem import Measure, Problem, Writer
from engine.tasks.texts import first_line, same_words, sentence_bleu
from engine.tasks.vocabulary import (
    ADJECTIVES,
    ANIMALS,
    GIVING,
    GOING,
    JOINING,
    MIDDLES,
    MODALS,
    ON_PEOPLE,
    ON_THINGS,
    OPENERS,
    PEOPLE,
    PLACES,
    RESTING,
    SAYING,
    THINGS,
    TO_PEOPLE,
    TRYING,
    Noun,
    Verb,
)

FAMILY = "translation"
ABOUT = "an English sentence with subordinate clauses to translate into German"
READS = "The answer is the first line of a text."
OPENING, CUE, TEXTUAL = "Translate:", "", True
MEASURES: tuple[Measure, ...] = ("translation",)
KINDS = {  # of what a verb takes, and how often
    "thing": (ON_THINGS, 38),
    "person": (ON_PEOPLE, 18),
    "dative": (TO_PEOPLE, 8),
    "giving": (GIVING, 14),
    "going": (GOING, 10),
    "resting": (RESTING, 12),
}
ADJECTIVE, NOUNS = tuple(ADJECTIVES), {"thing": THINGS, "person": PEOPLE + ANIMALS, "place": PLACES}


@dataclass(frozen=True, slots=True)
class Clause:
    """Who does what to whom, when and where. `tense`: present, past, perfect, or a modal verb."""

    subject: Phrase | Pronoun
    verbs: Sequence[Verb]
    tense: str
    thing: Phrase | None = None
    receiver: Phrase | None = None
    adverb: str = ""
    place: Phrase | None = None
    into: bool = False
    relative: Clause | None = None  # about the subject

    def english(self, finite: bool = True) -> str:
        """The clause in English, in lower case; without `finite` what follows "to"."""
        words = [self._head(), self._verb()] if finite else [self.adverb, self.verbs[0].en[0]]
        words += [phrase.english() for phrase in (self.receiver, self.thing) if phrase]
        if self.place:
            words.append(f"{'into' if self.into else 'in'} {self.place.english()}")
        return " ".join(filter(None, words))

    def _head(self) -> str:
        head = self.subject.english()
        return f"{head} who {self.relative.predicate()}" if self.relative else head

    def predicate(self) -> str:
        """The clause in English without its subject."""
        return self.english().removeprefix(self.subject.english() + " ")

    def _verb(self) -> str:
        base, third, past, participle = self.verbs[0].en
        plural = self.subject.plural
        if self.tense == "perfect":
            return " ".join(filter(None, ("have" if plural else "has", self.adverb, participle)))
        if self.tense in MODALS:
            return " ".join(filter(None, (self.tense, self.adverb, base)))
        return f"{self.adverb} {past if self.tense == 'past' else base if plural else third}".strip()

    def write(self, writer: Writer, order: str) -> None:
        """The clause in German. `order` of the finite verb: main (second), inverted (first), last; zu is an infinitive
        without a subject."""
        verb = self.verbs[writer.pick(self.verbs)] if len(self.verbs) > 1 else self.verbs[0]
        finite, end = ("", verb.zu()) if order == "zu" else self._finite(writer, verb)
        if order == "inverted":
            writer.say(f" {finite}")
        if order != "zu":
            self.subject.write(writer, "nom")
            self._write_relative(writer)
        if order == "main":
            writer.say(f" {finite}")
        self._write_middle(writer)
        tail = verb.prefix + finite if order == "last" and not end else f"{end} {finite}".strip()
        if order == "last":
            writer.say(f" {tail}")
        elif end or verb.prefix:
            writer.say(f" {end or verb.prefix}")

    def _finite(self, writer: Writer, verb: Verb) -> tuple[str, str]:
        """The finite verb, and the infinitive or participle at the end, where there is one."""
        plural = self.subject.plural
        if self.tense in MODALS:
            return MODALS[self.tense][plural], verb.infinitive
        if self.tense == "perfect" or (self.tense == "past" and writer.pick(("simple", "perfect"))):
            haben = ("ist", "sind") if verb.sein else ("hat", "haben")
            return haben[plural], verb.participle
        return verb.finite(self.tense == "past", plural), ""

    def _write_relative(self, writer: Writer) -> None:
        if self.relative and isinstance(self.subject, Phrase):
            writer.say(f", {self.subject.who()}")
            replace(self.relative, subject=Pronoun("", "", self.subject.plural)).write(writer, "last")
            writer.say(",")

    def _write_middle(self, writer: Writer) -> None:
        if self.receiver:
            self.receiver.write(writer, "dat")
        if self.adverb:
            writer.say(" ")
            writer.choose(MIDDLES[self.adverb])
        if self.thing:
            self.thing.write(writer, "acc")
        if self.place:
            self._write_place(writer, self.place)

    def _write_place(self, writer: Writer, place: Phrase) -> None:
        case, melted = ("acc", {2: "ins"}) if self.into else ("dat", {0: "im", 2: "im"})
        if place.determiner == "the" and place.column in melted and not writer.pick(("melted", "apart")):
            writer.say(f" {melted[place.column]}")
            place.write_rest(writer, case)
        else:
            writer.say(" in")
            place.write(writer, case)


@dataclass(frozen=True, slots=True)
class Sentence:
    """A main clause and what surrounds it: an opener, "X says that", another clause before or after, an infinitive."""

    clause: Clause
    opener: str = ""
    speaker: Phrase | None = None
    saying: Sequence[Verb] = ()
    joining: str = ""
    other: Clause | None = None
    first: bool = False  # whether the other clause stands before
    aim: Clause | None = None  # "in order to"
    trying: Sequence[Verb] = ()

    def english(self) -> str:
        """The sentence in English."""
        text = self.clause.english()
        if self.trying:
            plural = self.clause.subject.plural
            verb = self.trying[0].en[0 if plural else 1]
            text = f"{self.clause.subject.english()} {verb} to {self.clause.english(finite=False)}"
        if self.speaker:
            text = f"{self.speaker.english()} {self.saying[0].en[1]} that {text}"
        if self.aim:
            text = f"{text} in order to {self.aim.english(finite=False)}"
        if self.other:
            side = f"{self.joining} {self.other.english()}"
            text = f"{side}, {text}" if self.first else f"{text} {side}"
        text = f"{self.opener} {text}" if self.opener else text
        return text[0].upper() + text[1:] + "."

    def write(self, writer: Writer) -> None:
        """The sentence in German."""
        order = "main"
        if self.other and self.first:
            self._join(writer, self.other)
            writer.say(",")
            order = "inverted"
        elif self.opener:
            writer.choose(OPENERS[self.opener])
            order = "inverted"
        if self.speaker:
            verb = self.saying[writer.pick(self.saying)]
            self.speaker.write(writer, "nom")
            writer.say(f" {verb.finite(False, False)}{' ' + verb.prefix if verb.prefix else ''}, dass")
            order = "last"
        if self.trying:
            self._try(writer, order)
        else:
            self.clause.write(writer, order)
        if self.aim:
            writer.say(", um")
            self.aim.write(writer, "zu")
        if self.other and not self.first:
            writer.say(", ")
            self._join(writer, self.other)
        writer.say(".")
        _capitalise(writer)

    def _join(self, writer: Writer, clause: Clause) -> None:
        writer.choose(JOINING[self.joining])
        clause.write(writer, "last")

    def _try(self, writer: Writer, order: str) -> None:
        verb = self.trying[writer.pick(self.trying)]
        finite = verb.finite(False, self.clause.subject.plural)
        if order == "inverted":
            writer.say(f" {finite}")
        self.clause.subject.write(writer, "nom")
        writer.say(f" {verb.prefix}{finite}" if order == "last" else "" if order == "inverted" else f" {finite}")
        writer.say(f" {verb.prefix}" if verb.prefix and order != "last" else "")
        writer.say(",")
        self.clause.write(writer, "zu")


def _capitalise(writer: Writer) -> None:
    """The first letter as at the start of a sentence; a blank before it goes, and the spans with it."""
    gone = len(writer.text) - len(writer.text.lstrip())
    writer.text = writer.text[gone].upper() + writer.text[gone + 1 :]
    writer.spans = [(start - gone, end - gone) for start, end in writer.spans]


def generate(rng: Random) -> Problem:
    """Draw one sentence; its key is the English text, its answer the canonical German."""
    sentence = draw(rng)
    free, canonical = Writer(rng), Writer(None)
    sentence.write(free)
    sentence.write(canonical)
    english = sentence.english()
    return Problem(
        FAMILY, english, f"{OPENING} {english}", free.text, canonical.text, tuple(free.spans), sentence.write
    )


def draw(rng: Random) -> Sentence:
    """A sentence of the grammar."""
    kind = rng.choices(("plain", "opener", "frame", "joined", "before", "aim", "trying"), (14, 18, 16, 20, 12, 8, 12))[
        0
    ]
    if kind == "opener":
        return Sentence(_clause(rng), opener=rng.choice(tuple(OPENERS)))
    if kind == "frame":
        clause = _clause(rng, relative=0.15)
        return Sentence(clause, speaker=_phrase(rng, "person", plural=False), saying=_one(rng, SAYING))
    if kind in ("joined", "before"):
        joining = rng.choice(tuple(JOINING))
        return Sentence(_clause(rng), joining=joining, other=_clause(rng, pronoun=0.4), first=kind == "before")
    if kind == "aim":
        return Sentence(_clause(rng, kinds=("going", "thing")), aim=_clause(rng, tense="present"))
    if kind == "trying":
        opener = rng.choice(tuple(OPENERS)) if rng.random() < 0.3 else ""
        return Sentence(_clause(rng, tense="present"), opener=opener, trying=_one(rng, TRYING))
    return Sentence(_clause(rng, relative=0.4))


def _clause(
    rng: Random, pronoun: float = 0.0, relative: float = 0.0, tense: str = "", kinds: Sequence[str] = tuple(KINDS)
) -> Clause:
    kind = rng.choices(kinds, [KINDS[kind][1] for kind in kinds])[0]
    subject: Phrase | Pronoun = rng.choice(PRONOUNS) if rng.random() < pronoun else _phrase(rng, "person")
    placed = kind in ("going", "resting") or rng.random() < 0.15
    more = None
    if isinstance(subject, Phrase) and rng.random() < relative:
        subject = replace(subject, owner=None)
        more = replace(_clause(rng, kinds=("thing", "person", "resting")), subject=subject)
    return Clause(
        subject=subject,
        verbs=_one(rng, KINDS[kind][0]),
        tense=tense or rng.choices(("present", "past", "perfect", rng.choice(tuple(MODALS))), (38, 24, 14, 24))[0],
        thing=_phrase(rng, {"thing": "thing", "giving": "thing"}.get(kind, "person"))
        if kind in ("thing", "person", "giving")
        else None,
        receiver=_phrase(rng, "person") if kind in ("dative", "giving") else None,
        adverb=rng.choice(tuple(MIDDLES)) if rng.random() < 0.35 else "",
        place=_phrase(rng, "place", plural=False, the=True) if placed else None,
        into=kind == "going",
        relative=more,
    )


def _one(rng: Random, table: dict[str, tuple[Verb, ...]]) -> tuple[Verb, ...]:
    return table[rng.choice(tuple(table))]


def _phrase(rng: Random, what: str, plural: bool | None = None, the: bool = False) -> Phrase:
    many = rng.random() < 0.25 if plural is None else plural
    determiners = ("the", "this", "my", "his", "our", "no", *(("",) if many else ("a", "every")))
    determiner = "the" if the else rng.choices(determiners, [8, 2, 2, 1, 1, 1, *((4,) if many else (6, 1))])[0]
    count = 0 if the and rng.random() < 0.6 else rng.choices((0, 1, 2), (60, 34, 6))[0]
    owner = None
    if not the and determiner == "the" and rng.random() < 0.15:
        owner = _owner(rng)
    noun: Noun = rng.choice(NOUNS[what])
    return Phrase(noun, determiner, tuple(rng.sample(ADJECTIVE, count)), many, owner)


def _owner(rng: Random) -> Phrase:
    return Phrase(rng.choice(PEOPLE), rng.choice(("the", "my", "a")), (), False)


extract, equivalent, score = first_line, same_words, sentence_bleu
