"""What a head can do: its method run greedily on held-out problems, and the card made from it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from engine.errors import EngineFault
from engine.lab import Lab
from engine.model import load_model
from engine.tasks import FAMILIES, load_problems
from engine.trace.metrics import pooled

EVAL_SEED = 1
TITLES = {
    "eagle3": "EAGLE-3 head",
    "eagle2": "EAGLE-2 head",
    "medusa": "Medusa heads",
    "hydra": "Hydra heads",
    "mtp": "MTP head",
}
HELP = {
    "tau": "tokens a target call, greedy",
    "accept_rate_tested": "share of tested draft tokens accepted",
    "accepted_per_round": "draft tokens accepted a target call",
    "verify_tokens_per_call": "tokens verified a target call, the root included",
}


def evaluate(
    kind: str, target: Path, head: Path, items: int, max_new_tokens: int = 160, **knobs: Any
) -> dict[str, dict[str, float]]:
    """Numbers of the method of that head, by family of tasks, at its default knobs."""
    lab = Lab(load_model(target, device="cpu", dtype="float32"), {}, {kind: str(head.resolve())})
    found: dict[str, dict[str, float]] = {}
    for family in FAMILIES:
        traces = []
        for problem in load_problems(family, "heldout", items, EVAL_SEED):
            trace = lab.run(kind, problem.prompt, max_new_tokens=max_new_tokens, **knobs)
            if trace.end is None or trace.end.reason == "error":
                raise EngineFault(f"A run of {kind} failed: {'' if trace.end is None else trace.end.message}")
            traces.append(trace)
        numbers = pooled(traces)
        found[family] = {
            "tau": numbers["tau"],
            "accept_rate_tested": numbers["accept_rate_tested"],
            "accepted_per_round": numbers["accepted"] / numbers["rounds"],
            "verify_tokens_per_call": numbers["verify_tokens"] / numbers["rounds"],
        }
    return found


def write_card(folder: Path, title: str, found: dict[str, dict[str, float]], command: str) -> None:
    """card.json and README.md from the training record and the measurement; no number is typed by hand."""
    training = json.loads((folder / "training.json").read_text())
    (folder / "card.json").write_text(
        json.dumps({"role": title, "training": training, "evaluation": {"command": command, **found}}, indent=1) + "\n"
    )
    names = list(next(iter(found.values())))
    lines = [
        f"# Draftscope tiny: {title}",
        "",
        f"{training['parameters']:,} trained parameters for `assets/tiny/target` (weights {training['target']}) alone.",
        "",
        "## How it was made",
        "",
        *(f"- `{command}`" for command in training["commands"]),
        *(
            f"- {leg['step']:,} steps, {leg['tokens']:,} answer tokens, {leg['seconds'] / 60:.1f} minutes on "
            f"{training['device']}, on states of the target {leg['target']}"
            for leg in training["legs"]
        ),
        f"- learning rates {training['settings']['matrix_lr']:g} (Muon) and {training['settings']['other_lr']:g} "
        f"(AdamW), betas {tuple(training['settings']['betas'])}, gradient clip {training['settings']['clip']:g}",
        f"- versions: {', '.join(f'{k} {v}' for k, v in training['versions'].items())}",
        "",
        "## What it can do",
        "",
        f"Measured by `{command}`: greedy, fp32, held-out problems.",
        "",
        "| | " + " | ".join(found) + " |",
        "|---|" + "--:|" * len(found),
        *(f"| {HELP[n]} | " + " | ".join(f"{row[n]:.3f}" for row in found.values()) + " |" for n in names),
        "",
    ]
    (folder / "README.md").write_text("\n".join(lines))
