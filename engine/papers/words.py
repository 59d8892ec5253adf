"""How the numbers behind a statement are told."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from engine.analysis.words import estimate, number
from engine.papers.entries import Check, Quantity

SHARES = ("accuracy", "majority", "voted", "same_as_ar")
MEASURES = {  # a measure -> its unit or noun, after the number
    "tau": "tokens a target call",
    "accepted_per_call": "accepted tokens a call",
    "accuracy": "% right",
    "majority": "% right by majority",
    "voted": "% right",
    "same_as_ar": "% of the outputs equal",
    "bleu": "BLEU",
    "bleu_to_ar": "BLEU against the greedy output",
    "rouge1": "ROUGE-1",
    "rouge2": "ROUGE-2",
    "rougeL": "ROUGE-L",
    "response_tokens": "tokens a response",
    "calls_each": "calls a prompt",
    "fed_each": "verified tokens a prompt",
    "fed_per_token": "verified tokens a token",
    "penalised_rate": "% of tokens penalised",
    "tokens_per_s": "tokens a second",
}
FIELDS = {  # the last name of a path into a file of results -> the scale it is told in, and its unit
    "accuracy": (100.0, "% right"),
    "accuracy_drop": (100.0, "points of right answers lost"),
    "repeated": (100.0, "%"),
    "latency_s": (1.0, "s"),
    "verify_s": (1.0, "s"),
    "draft_s": (1.0, "s"),
    "tau": (1.0, MEASURES["tau"]),
    "tokens_per_call_by_problem": (1.0, MEASURES["tau"]),
    "tokens_per_s": (1.0, MEASURES["tokens_per_s"]),
    "accepted_per_call": (1.0, MEASURES["accepted_per_call"]),
}
PARTS = {".above.": "ROC area, difference", ".intervals_by_c[": "ROC area"}  # within a path -> its unit
OUTCOMES = {"holds": "holds", "fails": "does not hold", "open": "left open", "missing": "not measured"}
LEAST = {"above": "at least ", "below": "at most "}  # of a factor
NAMED = re.compile(r"\[(?:name|label|method)=([^],]+)[],]")  # whose number a path gives
ENDS = ("mean", "low", "high")
Cell = Mapping[str, Any]


def scaled(cell: Cell | None, scale: float) -> Cell | None:
    """An estimate in another unit."""
    if cell is None or scale == 1:
        return cell
    return dict(cell) | {name: None if cell[name] is None else scale * cell[name] for name in ENDS}


def form(cells: Iterable[Cell | None]) -> str:
    """How estimates of one kind are told beside each other: whole numbers as such, else all with as many decimals, so
    that the largest has about three digits; two where tokens a call and ratios lie, as on the whole page."""
    known = [abs(cell[name]) for cell in cells if cell for name in ENDS if cell[name] is not None]
    if all(abs(value - round(value)) < 1e-9 for value in known):
        return "z.0f"
    most = max(known)
    return f"z.{sum(most <= least for least in (100, 30, 1, 0.1))}f"


def evidence(check: Check, told: Cell) -> str:
    """The numbers behind an outcome: "holds: 0.50 (0.10 to 0.90) % right, wanted above 0, 300 prompts". A number that
    is compared with so many times another stands beside the other's own: "2.20 tokens a target call, 1.10 times SD's
    2.00; at least 1.05 was wanted"."""
    outcome = OUTCOMES[told["outcome"]]
    if told["ours"] is None or told["outcome"] == "missing":
        return outcome
    name = check.q.measure.removesuffix("_difference").removesuffix("_quotient")
    scale = 100.0 if name in SHARES and not check.q.measure.endswith("_quotient") else 1.0
    unit = MEASURES.get(name, "")
    if check.q.measure.endswith("_quotient"):
        unit = f"times the {unit.removeprefix('% of ')}"
    if check.q.measure.endswith("_difference"):
        unit = unit.replace("% ", "points ", 1) + ", difference"
    if check.q.path:
        part = next((unit for part, unit in PARTS.items() if part in check.q.path), "")
        scale, unit = FIELDS.get(check.q.path.rpartition(".")[2], (1.0, part))
    ours, than = scaled(told["ours"], scale), scaled(told["than"], scale / check.times)
    shape = form([ours, than])
    words = " ".join(filter(None, [estimate(ours, shape), unit]))
    n = told["ours"]["n"]
    known = f", {n} prompts" if n > 1 and not check.q.path else ""
    if than and check.than and check.times != 1:
        factor = f"{number(ours['mean'] / than['mean'], check.times)} times " if ours and than["mean"] else "against "
        wanted = f"{LEAST.get(check.relation, '')}{check.times:g} was wanted"
        return f"{outcome}: {words}, {factor}{_whose(check.than)} {estimate(than, shape)}; {wanted}{known}"
    bound = f" against {estimate(than, shape)}" if than else _wanted(check, scale)
    return f"{outcome}: {words}{bound}{known}{_near(check, told, scale)}"


def _near(check: Check, told: Cell, scale: float) -> str:
    """Why numbers without an interval leave a statement open, where it is that they lie too near each other."""
    within = f"{scale * check.margin:g}" if check.margin else f"{100 * check.scatter:g} %" if check.scatter else ""
    bare = any(one and one["low"] is None for one in (told["ours"], told["than"]))
    return f"; up to {within} apart decides nothing" if within and bare and told["outcome"] == "open" else ""


def _whose(q: Quantity) -> str:
    """Whose number it is: "SD's", "EAGLE-3's"; of a method with knobs, whose name is long, "the other's"."""
    found = NAMED.search(q.path)
    name = found[1] if found else q.of.partition("@")[0]
    short = name and not set(":=/+") & set(name)
    return f"{name.upper() if len(name) < 4 else name}'s" if short else "the other's"


def _wanted(check: Check, scale: float) -> str:
    if check.relation == "within":
        return f", wanted {scale * check.value:g} to {scale * check.high:g}"
    relation = "" if check.relation == "equal" else f"{check.relation} "
    return f", wanted {relation}{scale * check.value:g}"
