"""Word problems of four to six equations, with one sentence of reasoning for each."""

from __future__ import annotations

import re
from dataclasses import dataclass
from random import Random

from engine.tasks.numbers import number
from engine.tasks.problem import Measure, Problem, Writer
from engine.tasks.stories import BEGINNINGS, DISTRACTORS, EVENTS, ITEMS, NAMES, QUESTIONS

FAMILY = "arithmetic"
ABOUT = "a word problem of four to six steps, answered with its reasoning"
READS = "The answer is the last number of a text."
OPENING, CUE, TEXTUAL = "Question:", "Answer:", True
MEASURES: tuple[Measure, ...] = ("accuracy",)
LIMIT = 999  # no number in a problem is larger
FIRST = (" First", " Initially", " Starting out", " Beginning with this")
MIDDLE = (" Then", " Next", " After that", " Now")
LAST = (" So", " Finally", " Thus", " Hence")

_ANSWER = re.compile(r"[Tt]he answer is[\s*]*+:?[\s*]*+\$?(-?[\d,]*\.?\d+(?:\s*/\s*\d+)?)")
_NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?(?:\s*/\s*\d+)?")


@dataclass(frozen=True, slots=True)
class Event:
    """One sentence of a story: what happens, with which numbers, and its equations."""

    kind: str
    numbers: tuple[int, ...]
    equations: tuple[tuple[int, str, int, int], ...]


def generate(rng: Random) -> Problem:
    """Draw one problem; its key holds the start and the events, not names or wording."""
    start = _start(rng)
    events = _events(rng, start)
    equations = [equation for event in events for equation in event.equations]
    key = f"{start}" + "".join(f"|{e.kind}:{','.join(map(str, e.numbers))}" for e in events)
    item = rng.choice(ITEMS)
    writer = Writer(rng)
    for i, (a, sign, b, c) in enumerate(equations):
        writer.choose(FIRST if i == 0 else LAST if i == len(equations) - 1 else MIDDLE)
        writer.say(f" {a} {sign} {b} = {c} {item}.")
    answer = equations[-1][3]
    writer.say(f" The answer is {answer}.")
    prompt = f"Question: {_story(rng, start, events, item)}\nAnswer:"
    return Problem(FAMILY, key, prompt, writer.text, str(answer), tuple(writer.spans))


def draw_equations(rng: Random) -> list[tuple[int, str, int, int]]:
    """The equations of one random problem, as (a, sign, b, result)."""
    return [equation for event in _events(rng, _start(rng)) for equation in event.equations]


def _start(rng: Random) -> int:
    return rng.randint(10, 99) if rng.random() < 0.85 else rng.randint(100, 250)


def _events(rng: Random, start: int) -> list[Event]:
    wanted = rng.randint(4, 6)
    total, left, events = start, wanted, list[Event]()
    while left:
        event = _draw(rng, total)
        if len(event.equations) > left:
            continue
        events.append(event)
        left -= len(event.equations)
        total = event.equations[-1][3]
    return events


def _draw(rng: Random, total: int) -> Event:
    """One event that keeps the total within 1 to `LIMIT` and every division exact."""
    while True:
        fall = 3 if total > 100 else 0  # large totals tend to shrink
        kind = rng.choices(("gain", "lose", "packs", "gifts", "times", "share"), (5, 5 + fall, 3, 3, 2, 3))[0]
        if kind in ("gain", "lose"):
            n = rng.randint(*rng.choices(((2, 40), (41, 99), (100, 250)), (80, 15, 5))[0])
            after = total + n if kind == "gain" else total - n
            event = Event(kind, (n,), ((total, "+" if kind == "gain" else "-", n, after),))
        elif kind in ("packs", "gifts"):
            k, m = rng.randint(2, 9), rng.randint(3, 12) if rng.random() < 0.75 else rng.randint(13, 25)
            after = total + k * m if kind == "packs" else total - k * m
            sign = "+" if kind == "packs" else "-"
            event = Event(kind, (k, m), ((m, "*", k, m * k), (total, sign, m * k, after)))
        elif kind == "times":
            k = rng.randint(2, 4)
            after = total * k
            event = Event(kind, (k,), ((total, "*", k, after),))
            if total > 60:
                continue
        else:
            divisors = [k for k in range(2, 10) if total % k == 0 and total // k > 4]
            if not divisors or total > 150:
                continue
            k = rng.choice(divisors)
            after = total // k
            event = Event(kind, (k,), ((total, "/", k, after),))
        if 1 <= after <= LIMIT:
            return event


def _story(rng: Random, start: int, events: list[Event], item: str) -> str:
    name, pronoun = rng.choice(NAMES)
    other = rng.choice([n for n, _ in NAMES if n != name])
    words = {"name": name, "item": item, "other": other}
    lines = [rng.choice(BEGINNINGS).format(n=start, **words)]
    for event in events:
        pattern = rng.choice(EVENTS[event.kind])
        numbers = dict(zip(("n", "m"), event.numbers, strict=False))
        lines.append(pattern.format(who=rng.choice((name, pronoun, pronoun)), **numbers, **words))
    for _ in range(rng.choices((0, 1, 2), (4, 4, 1))[0]):
        fact = rng.choice(DISTRACTORS).format(n=rng.randint(2, 99), **words)
        lines.insert(rng.randint(1, len(lines)), fact)
    return " ".join([*lines, rng.choice(QUESTIONS).format(**words)])


def extract(text: str) -> str | None:
    """The number after the last "The answer is", perhaps in bold, else the last number, else None."""
    text = text.replace("\N{MINUS SIGN}", "-")
    found = _ANSWER.findall(text) or _NUMBER.findall(text)
    return found[-1].replace(",", "").replace(" ", "") if found else None


def equivalent(a: str | None, b: str | None) -> bool:
    """Whether two extracted answers are the same number (1.5 equals 3/2)."""
    if a is None or b is None:
        return False
    x, y = number(a), number(b)
    return a.strip() == b.strip() if x is None or y is None else x == y


def score(problem: Problem, text: str) -> float:
    """1.0 when the answer of `text` is the problem's, else 0.0."""
    return float(equivalent(extract(text), problem.answer))
