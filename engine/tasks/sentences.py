"""English to German sentences: case, gender, number, verb second, verb last, synonyms."""

from __future__ import annotations

import re
from dataclasses import dataclass
from random import Random

import sacrebleu

from engine.tasks.german import Phrase
from engine.tasks.lexicon import (
    ADJECTIVES,
    FIXED_OPENERS,
    GIVING,
    MIDDLES,
    OPENERS,
    PEOPLE,
    PLACES,
    PRONOUNS,
    SAYING,
    THINGS,
    VERBS,
    Noun,
    Verb,
)
from engine.tasks.problem import Measure, Problem, Writer
from engine.tasks.texts import first_line, sentence_bleu

FAMILY = "sentences"
ABOUT = "an English sentence to translate into German"
READS = "The answer is the first line of a text."
OPENING, CUE, TEXTUAL = "English:", "German:", True
MEASURES: tuple[Measure, ...] = ("accuracy", "translation")
_CANONICAL = {w: ws[0] for ws in (*OPENERS.values(), *MIDDLES.values()) for w in ws}


@dataclass(frozen=True, slots=True)
class Clause:
    """Who does what: subject, verb, object, and perhaps a receiver, an adverb and a place."""

    subject: Phrase
    verb: Verb
    thing: Phrase
    receiver: Phrase | None = None
    adverb: str = ""
    place: Noun | None = None
    perfect: bool = False

    def english(self) -> str:
        """The clause in English, in lower case."""
        plural = self.subject.plural
        if self.perfect:
            verb = f"{'have' if plural else 'has'} {self.verb.en_perfect}"
        else:
            verb = self.verb.en_plural if plural else self.verb.en
        words = [self.subject.english(), self.adverb, verb]
        words += [self.receiver.english()] if self.receiver else []
        words.append(self.thing.english())
        words += [f"in the {self.place.en}"] if self.place else []
        return " ".join(word for word in words if word)

    def write(self, writer: Writer, order: str) -> None:
        """The clause in German: `order` is main, inverted (verb first) or last (subordinate)."""
        plural = self.subject.plural
        present = self.verb.de_plural if plural else self.verb.de
        finite = ("haben" if plural else "hat") if self.perfect else present
        subject = self.subject.german("nom")
        heads = {"main": (subject, finite), "inverted": (finite, subject), "last": (subject,)}
        writer.say(" " + " ".join(heads[order]))
        if self.adverb:
            writer.say(" ")
            writer.choose(MIDDLES[self.adverb])
        for phrase, case in ((self.receiver, "dat"), (self.thing, "acc")):
            writer.say(f" {phrase.german(case)}" if phrase else "")
        if self.place:
            article = "in der" if self.place.gender == "f" else "im"
            writer.say(f" {article} {self.place.de}")
        writer.say(f" {self.verb.de_perfect}" if self.perfect else "")
        writer.say(f" {finite}" if order == "last" else "")


@dataclass(frozen=True, slots=True)
class Sentence:
    """A main clause, perhaps with an opener, a frame ("X says that"), and a reason."""

    clause: Clause
    opener: str = ""
    speaker: Phrase | None = None
    saying: str = ""
    reason: tuple[str, Phrase, Verb] | None = None

    def english(self) -> str:
        """The sentence in English."""
        words = [self.opener] if self.opener else []
        words += [f"{self.speaker.english()} {self.saying} that"] if self.speaker else []
        words.append(self.clause.english())
        if self.reason:
            pronoun, thing, verb = self.reason
            words.append(f"because {pronoun} {verb.en} {thing.english()}")
        text = " ".join(words)
        return text[0].upper() + text[1:] + "."

    def write(self, writer: Writer) -> None:
        """The sentence in German, after one space."""
        if self.opener in OPENERS:
            writer.say(" ")
            writer.choose(OPENERS[self.opener])
        elif self.opener:
            writer.say(" " + FIXED_OPENERS[self.opener])
        if self.speaker:
            writer.say(f" {self.speaker.german('nom')} {SAYING[self.saying]}, dass")
            self.clause.write(writer, "last")
        else:
            self.clause.write(writer, "inverted" if self.opener else "main")
        if self.reason:
            pronoun, thing, verb = self.reason
            writer.say(f", weil {PRONOUNS[pronoun]} {thing.german('acc')} {verb.de}")
        writer.say(".")
        writer.text = writer.text[0] + writer.text[1].upper() + writer.text[2:]


def generate(rng: Random) -> Problem:
    """Draw one sentence; its key is the English text, its answer the canonical German."""
    sentence = _sentence(rng)
    free, canonical = Writer(rng), Writer(None)
    sentence.write(free)
    sentence.write(canonical)
    english = sentence.english()
    prompt = f"English: {english}\nGerman:"
    return Problem(FAMILY, english, prompt, free.text, canonical.text.strip(), tuple(free.spans))


def _sentence(rng: Random) -> Sentence:
    giving = rng.random() < 0.3
    clause = Clause(
        subject=_phrase(rng, PEOPLE),
        verb=rng.choice(GIVING if giving else VERBS),
        thing=_phrase(rng, THINGS),
        receiver=_phrase(rng, PEOPLE) if giving else None,
        adverb=rng.choice(tuple(MIDDLES)) if rng.random() < 0.6 else "",
        place=rng.choice(PLACES) if rng.random() < 0.25 else None,
        perfect=rng.random() < 0.25,
    )
    kind = rng.choices(("plain", "opener", "fixed", "frame"), (2, 4, 2, 3))[0]
    reason = None
    if rng.random() < 0.35:
        reason = (rng.choice(tuple(PRONOUNS)), _phrase(rng, THINGS), rng.choice(VERBS))
    if kind == "frame":
        return Sentence(clause, "", _phrase(rng, PEOPLE, plural=False), rng.choice(tuple(SAYING)), reason)
    openers = {"plain": ("",), "opener": tuple(OPENERS), "fixed": tuple(FIXED_OPENERS)}[kind]
    return Sentence(clause, rng.choice(openers), reason=reason)


def _phrase(rng: Random, nouns: tuple[Noun, ...], plural: bool | None = None) -> Phrase:
    many = rng.random() < 0.25 if plural is None else plural
    article = rng.choice(("the", "" if many else "a"))
    adjective = rng.choice(tuple(ADJECTIVES)) if rng.random() < 0.5 else ""
    return Phrase(rng.choice(nouns), article, adjective, many)


extract, score = first_line, sentence_bleu


def equivalent(a: str | None, b: str | None) -> bool:
    """Whether two translations are equal once every synonym is the commonest one."""
    return a is not None and b is not None and _canonical(a) == _canonical(b)


def _canonical(text: str) -> list[str]:
    text = text.replace("mit Freude", "gern").strip()
    words = re.findall(r"\w+|[^\w\s]", text)
    return [_CANONICAL.get(w, _CANONICAL.get(w.capitalize(), w)) for w in words]


def corpus_scores(problems: list[Problem], texts: list[str]) -> dict[str, float]:
    """Corpus BLEU and chrF (0 to 100), by sacrebleu, of one text a problem."""
    translations = [extract(text) or "" for text in texts]
    references = [[problem.answer for problem in problems]]
    return {
        "bleu": sacrebleu.corpus_bleu(translations, references).score,
        "chrf": sacrebleu.corpus_chrf(translations, references).score,
    }
