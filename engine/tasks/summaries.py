"""Short reports to sum up in one sentence: what happened and where, and the weightiest of what came of it.

A report tells its facts in any order, with others around them that weigh little. Names and numbers are drawn anew, so
that they must be copied; which fact is the weightiest must be understood.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from random import Random

from engine.tasks.problem import Measure, Problem, Writer
from engine.tasks.texts import first_line, same_words

FAMILY = "summaries"
ABOUT = "a short report to sum up in one sentence"
READS = "The answer is the first line of a text."
OPENING, CUE, TEXTUAL = "Summarise:", "", True
MEASURES: tuple[Measure, ...] = ("summary",)
NAMES = """
Kal Mor Bren Ost Wald Lin Har Eber Sten Tor Win Alt Rot Grün
dorf hausen feld stein berg bach burg heim wick hafen
Berger Keller Vogt Lindner Sommer Hahn Brandt Winter Krause Engel Roth Fuchs Baumann Seidel
Anna Paul Clara Max Nora Hugo Ines Leo Ruth Ivan Emma Omar
Monday Tuesday Wednesday Thursday Friday Saturday Sunday
"""
BEGINS, ENDS, SURNAMES, FIRST, DAYS = (tuple(line.split()) for line in NAMES.strip().splitlines())  # first: of towns


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of event: how a report tells it, how a summary does, and what may come of it, the weightiest first."""

    told: tuple[str, ...]
    summed: tuple[str, ...]
    what: tuple[str, ...]
    effects: tuple[tuple[str, str], ...]  # as told, as summed


HURT = ("{n} people were taken to hospital.", "{n} people were hurt")
DEAD = ("{n} people lost their lives.", "{n} people died")
COST = ("The damage is put at {m} thousand euros.", "the damage is {m} thousand euros")
SHUT = ("The {street} stays closed for {n} days.", "the {street} is closed for {n} days")
LATE = ("Trains were late by {m} minutes.", "trains were {m} minutes late")
JOBS = ("{m} people will find work there.", "{m} jobs are created")
FREE = ("Children pay nothing on the first {n} days.", "children enter free for {n} days")
CAUGHT = ("The police caught {n} men the same night.", "{n} men were caught")
LOST = ("{m} thousand euros are missing.", "{m} thousand euros are missing")
KINDS = (
    Kind(
        ("On {day} a fire broke out in the {what} of {place}.", "In {place} the {what} went up in flames on {day}."),
        ("A fire damaged the {what} of {place}", "On {day} the {what} of {place} burned"),
        ("school", "library", "town hall", "old mill", "theatre", "market hall"),
        (DEAD, HURT, COST, SHUT),
    ),
    Kind(
        ("On {day} the river flooded the {what} of {place}.", "High water reached the {what} of {place} on {day}."),
        ("A flood hit the {what} of {place}", "On {day} water flooded the {what} of {place}"),
        ("station", "old town", "harbour", "sports ground", "cellars", "industrial area"),
        (DEAD, HURT, COST, LATE),
    ),
    Kind(
        ("Thieves broke into the {what} of {place} on {day}.", "On {day} the {what} of {place} was robbed."),
        ("Thieves robbed the {what} of {place}", "On {day} the {what} of {place} was robbed"),
        ("bank", "museum", "post office", "jewellery shop", "casino", "art gallery"),
        (HURT, LOST, CAUGHT, SHUT),
    ),
    Kind(
        ("A new {what} was opened in {place} on {day}.", "On {day} {place} celebrated the opening of its new {what}."),
        ("A new {what} opened in {place}", "On {day} {place} opened its new {what}"),
        ("hospital", "swimming pool", "railway bridge", "concert hall", "zoo", "factory"),
        (JOBS, COST, FREE, SHUT),
    ),
    Kind(
        ("On {day} a storm tore the roof off the {what} of {place}.", "A storm struck the {what} of {place} on {day}."),
        ("A storm damaged the {what} of {place}", "On {day} a storm struck the {what} of {place}"),
        ("church", "airport", "gym", "fire station", "power plant", "castle"),
        (DEAD, HURT, LATE, COST),
    ),
)
SMALL = (
    "The {what} was built {m} years ago.",
    "{who}, who lives nearby, heard a loud noise.",
    "It was a mild evening with little wind.",
    "{who} runs a bakery across the street.",
    "The mayor, {who}, came at once.",
    "{place} lies {m} kilometres from the sea.",
    "About {m} visitors come every week.",
    "A spokeswoman named {who} answered questions.",
    "Neighbours brought tea and blankets.",
    "{who} has worked there for {n} years.",
    "Last year the town spent {m} thousand euros on flowers.",
    "The weather is expected to stay dry until {day2}.",
    "Many people took pictures with their phones.",
    "A school class from a nearby village happened to be there.",
)


def generate(rng: Random) -> Problem:
    """Draw one report; its key is the report's facts, its answer the canonical summary."""
    kind = rng.choice(KINDS)
    fields = {
        "what": rng.choice(kind.what),
        "place": rng.choice(BEGINS) + rng.choice(ENDS),
        "day": rng.choice(DAYS),
        "street": f"{rng.choice(SURNAMES)} street",
    }
    effects = sorted(rng.sample(range(len(kind.effects)), rng.choice((2, 2, 3))))
    numbered = [{**fields, **_numbers(rng)} for _ in effects]
    told = [kind.effects[i][0].format(**n) for i, n in zip(effects, numbered, strict=True)]
    small = [
        text.format(**fields, **_numbers(rng), who=f"{rng.choice(FIRST)} {rng.choice(SURNAMES)}", day2=rng.choice(DAYS))
        for text in rng.sample(SMALL, rng.randint(4, 8))
    ]
    body = told + small
    rng.shuffle(body)
    event = rng.choice(kind.told).format(**fields)
    body.insert(0 if rng.random() < 0.6 else rng.randint(0, len(body)), event)
    effect = kind.effects[effects[0]][1].format(**numbered[0])
    write = partial(_sum_up, [text.format(**fields) for text in kind.summed], effect)
    free, canonical = Writer(rng), Writer(None)
    write(free)
    write(canonical)
    key = f"{event} {effect} {' '.join(sorted(told))}"
    return Problem(FAMILY, key, f"{OPENING} {' '.join(body)}", free.text, canonical.text, tuple(free.spans), write)


def _sum_up(events: Sequence[str], effect: str, writer: Writer) -> None:
    writer.choose(events)
    writer.choose((", and ", "; "))
    writer.say(f"{effect}.")


def _numbers(rng: Random) -> dict[str, int]:
    return {"n": rng.randint(2, 9), "m": rng.randint(11, 99)}


extract, equivalent = first_line, same_words


def score(problem: Problem, text: str) -> float:
    """1.0 when the text is the canonical summary; summaries are measured by ROUGE."""
    return float(equivalent(extract(text), problem.answer))
