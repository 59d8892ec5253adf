"""GSM8K (Cobbe et al. 2021): grade-school word problems, read from a file that the user gives.

Prompt and answer pattern follow `gsm8k_cot_llama` of lm-evaluation-harness: the last "The final answer is ...", commas,
dollar signs, a closing dot and the stars of bold text ignored. Only the response is searched (AutoJudge register A11).
"""

from __future__ import annotations

import re
from typing import Any

from engine.tasks.numbers import same_number
from engine.tasks.problem import Problem
from engine.tasks.rows import words

FAMILY = "gsm8k"
STOPS = ("<|eot_id|>", "<|start_header_id|>user<|end_header_id|>", "Q:", "</s>", "<|im_end|>", "\nProblem:")
PROMPT = (
    "Given the following problem, reason and give a final answer to the problem.\nProblem: {question}\n"
    'Your response should end with "The final answer is [answer]" where [answer] is the response to the problem.\n'
)
_NUMBER = re.compile(
    r"[Tt]he final answer is:?[\s*]*\$?((?:-?[$0-9.,]{2,})|(?:-?[0-9]+))(?![0-9]|[.,][0-9]|\s*/\s*[0-9])"
)
_ANY = re.compile(r"[Tt]he final answer is:?[\s*]*(.+?)(?:\.?(?<!\s)\s*$|\.\s|\n)", re.MULTILINE)
_GOLD = re.compile(r"####\s*(.+)")


def problem(row: dict[str, Any]) -> Problem:
    """A row with `question` and `answer` ("... #### 18")."""
    question, worked = words(row, "question", FAMILY).strip(), words(row, "answer", FAMILY)
    gold = _GOLD.findall(worked)
    answer = gold[-1].strip().replace(",", "") if gold else worked.strip()
    reasoning = re.sub(r"<<.*?>>", "", worked.split("####")[0]).strip()
    solution = f"{reasoning} The final answer is {answer}"
    return Problem(FAMILY, question, PROMPT.format(question=question), solution, answer)


def extract(text: str) -> str | None:
    """The last final answer, a number or else an expression; None when the response states none."""
    for stop in STOPS:
        text = text.split(stop)[0]
    found = [(m.start(), m.group(1)) for pattern in (_ANY, _NUMBER) for m in pattern.finditer(text)]
    if not found:
        return None
    last = max(start for start, _ in found)
    said = [answer for start, answer in found if start == last][-1]  # the number, where both patterns match
    return said.replace(",", "").replace("$", "").strip("* ").rstrip(".").strip()


def equivalent(a: str | None, b: str | None) -> bool:
    """Equal as numbers or expressions."""
    return same_number(a, b)


def score(problem: Problem, text: str) -> float:
    """1.0 when the response's final answer is the problem's, else 0.0."""
    return float(same_number(extract(text), problem.answer))
