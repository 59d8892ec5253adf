"""The words of prompts: the server tells those that a kind of problem has, the page looks for others."""

from typing import Any

from app.fresh import words_in
from engine.tasks import FAMILIES, SOURCED, load_problems

ODD = ("", "1 + 1 = 2", "it's \"quoted 'twice'\"\nand 'open", "Größe_und café9x", "naïve\u00a0Ωμέγα 東京 x")


def vectors() -> dict[str, Any]:
    prompts = [load_problems(family, "heldout", 1)[0].prompt for family in (*FAMILIES, *SOURCED)]
    return {"cases": [{"prompt": prompt, "words": sorted(words_in(prompt))} for prompt in (*ODD, *prompts)]}
