"""How the numbers behind a statement are told."""

from typing import Any

from engine.papers.entries import Check

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
    "accuracy_drop": (100.0, "points right lost"),
    "repeated": (100.0, "%"),
    "latency_s": (1.0, "s"),
    "verify_s": (1.0, "s"),
    "draft_s": (1.0, "s"),
    "tau": (1.0, MEASURES["tau"]),
    "tokens_per_call_by_problem": (1.0, MEASURES["tau"]),
    "tokens_per_s": (1.0, MEASURES["tokens_per_s"]),
    "accepted_per_call": (1.0, MEASURES["accepted_per_call"]),
}
OUTCOMES = {"holds": "holds", "fails": "does not hold", "open": "left open", "missing": "not measured"}
Cell = dict[str, Any]


def spread(cell: Cell | None, scale: float = 1.0) -> str:
    """An estimate with its interval."""
    if cell is None:
        return "-"
    mean = f"{scale * cell['mean']:.4g}"
    return mean if cell["low"] is None else f"{mean} ({scale * cell['low']:.4g} to {scale * cell['high']:.4g})"


def evidence(check: Check, told: Cell) -> str:
    """The numbers behind an outcome: "holds: 0.5 % right, difference (0.1 to 0.9), 300 prompts"."""
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
        scale, unit = FIELDS.get(check.q.path.rpartition(".")[2], (1.0, ""))
    words = " ".join(filter(None, [spread(told["ours"], scale), unit]))
    n = told["ours"]["n"]
    known = f", {n} prompts" if n > 1 and not check.q.path else ""
    return f"{outcome}: {words}{_bound(check, told, scale)}{known}"


def _bound(check: Check, told: Cell, scale: float) -> str:
    if told["than"]:
        return f" against {spread(told['than'], scale)}"
    if check.relation == "within":
        return f", wanted {scale * check.value:g} to {scale * check.high:g}"
    relation = "" if check.relation == "equal" else f"{check.relation} "
    return f", wanted {relation}{scale * check.value:g}"
