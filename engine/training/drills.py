"""Equations without a story: a dense diet of the facts that the word problems need."""

from __future__ import annotations

from random import Random

from engine.tasks.arithmetic import draw_equations

OPERANDS = 0.02  # weight of what cannot be known


def drill(rng: Random) -> list[tuple[str, float]]:
    """Pieces of text and their loss weights: the results count, the operands hardly."""
    parts = [("Practice:", 0.0)]
    for _ in range(2):
        for a, sign, b, c in draw_equations(rng):
            parts += [(f" {a} {sign} {b} =", OPERANDS), (f" {c}", 1.0), (";", OPERANDS)]
    return parts


def sums(rng: Random) -> list[tuple[str, float]]:
    """Additions and subtractions only, of numbers as large as in the word problems."""
    parts = [("Practice:", 0.0)]
    for _ in range(12):
        a = rng.randint(*rng.choices(((2, 99), (100, 260)), (70, 30))[0])
        b = rng.randint(*rng.choices(((2, 40), (41, 99), (100, 250)), (70, 25, 5))[0])
        a, b = (max(a, b), min(a, b)) if rng.random() < 0.5 else (a, b)
        sign, c = ("+", a + b) if a <= b or rng.random() < 0.5 else ("-", a - b)
        parts += [(f" {a} {sign} {b} =", OPERANDS), (f" {c}", 1.0), (";", OPERANDS)]
    return parts


DRILLS = {"drills": drill, "sums": sums}
