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
