"""What a head can do: its method run greedily on held-out problems, and the card made from it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean
from typing import Any

from engine.config import Card
from engine.files.written import write
from engine.lab import Lab
from engine.model import load_model
from engine.tasks import FAMILIES, SOURCED, load_problems
from engine.trace.metrics import pooled
from engine.trace.store import Trace, sound
from engine.training.asked import Asked
from engine.training.card import TRAINING
from engine.training.evaluate import EVAL_SEED

ITEMS = 30  # held-out problems a family, where no number is asked for
BLOCKS = (10, 25)  # lengths of blocks that CM-ASD's tables list; a block is one longer than its draft tokens
TITLES = {
    "eagle3": "EAGLE-3 head",
    "eagle2": "EAGLE-2 head",
    "medusa": "Medusa heads",
    "blockwise": "Blockwise heads",
    "hydra": "Hydra heads",
    "mtp": "MTP head",
    "dflash": "DFlash drafter",
}
HELP = {
    "tau": "tokens a target call, greedy",
    "accept_rate_tested": "share of tested draft tokens accepted",
    "same_as_ar": "share of texts that are the target's own greedy text",
    "accepted_per_round": "draft tokens accepted a target call",
    "verify_tokens_per_call": "tokens verified a target call, the root included",
}


def evaluate(
    kind: str,
    target: Path,
    head: Path,
    items: int | None,
    asked: Asked | None = None,
    max_new_tokens: int = 160,
    **knobs: Any,
) -> dict[str, dict[str, float]]:
    """Numbers of the method of that head at its default knobs, by family of tasks of its target, or of the prompts that
    are `asked`; of blockwise heads those of its blocks.

    Raises:
        ConfigError: prompts that cannot be read. EngineFault: a run failed.
    """
    role = "medusa" if kind == "blockwise" else kind
    lab = Lab(load_model(target, device="cpu", dtype="float32"), {}, {role: str(head.resolve())})
    found: dict[str, dict[str, float]] = {}
    how = {"max_new_tokens": asked.limit, "chat": asked.chat} if asked else {"max_new_tokens": max_new_tokens}
    for family, prompts in _sets(lab, items, asked):
        if kind == "blockwise":
            found[family] = _blocks(lab, prompts, **how)
            continue
        numbers = pooled(runs_of(lab, kind, prompts, **how, **knobs))
        found[family] = {
            "tau": numbers["tau"],
            "accept_rate_tested": numbers["accept_rate_tested"],
            "accepted_per_round": numbers["accepted"] / numbers["rounds"],
            "verify_tokens_per_call": numbers["verify_tokens"] / numbers["rounds"],
        }
    return found


def _sets(lab: Lab, items: int | None, asked: Asked | None) -> Iterator[tuple[str, list[str]]]:
    """Names of sets, and their prompts."""
    if asked:
        yield asked.source.stem, [prompt.text for prompt in asked.prompts(items)]
        return
    for family in SOURCED if lab.target.seam else FAMILIES:
        yield family, [problem.prompt for problem in load_problems(family, "heldout", items or ITEMS, EVAL_SEED)]


def runs_of(lab: Lab, method: str | Card, prompts: list[str], **options: Any) -> list[Trace]:
    """A run of each prompt.

    Raises:
        EngineFault: one failed.
    """
    name = method if isinstance(method, str) else method.name
    return [sound(lab.run(method, prompt, **options), name) for prompt in prompts]


def _blocks(lab: Lab, prompts: list[str], **how: Any) -> dict[str, float]:
    """Tokens a target call by length of a block; in the longest, the share of texts that are the target's own, and of
    each place's draft tokens the share that is accepted where all before them were."""
    heads, found = lab.asset("medusa").heads, dict[str, float]()
    wanted = [trace.token_ids for trace in runs_of(lab, "ar", prompts, **how, record="light")]
    rounds, same = list[Any](), 0.0
    for k in sorted({min(k, heads + 1) for k in BLOCKS}):
        traces = runs_of(lab, "blockwise", prompts, **how, record="light", gamma=k - 1)
        found[f"tau_{k}"] = pooled(traces)["tau"]
        rounds = [r for trace in traces for r in trace.rounds]
        same = fmean(trace.token_ids == text for trace, text in zip(traces, wanted, strict=True))
    found["same_as_ar"] = same
    for place in range(heads):
        tested = sum(r.drafted > place and r.accepted >= place for r in rounds)
        accepted = sum(r.drafted > place and r.accepted > place for r in rounds)
        if tested:
            found[f"place_{place + 1}"] = accepted / tested
    return found


def write_card(
    folder: Path, title: str, found: dict[str, dict[str, float]], command: str, asked: Asked | None = None
) -> None:
    """card.json and README.md from the training record and the measurement; no number is typed by hand."""
    training = json.loads((folder / TRAINING).read_text())
    target = training["settings"].get("target") or "assets/tiny/target"
    told = {"role": title, "training": training, "evaluation": {"command": command, **found}}
    write(folder / "card.json", (json.dumps(told, indent=1) + "\n").encode())
    names = list(dict.fromkeys(name for row in found.values() for name in row))
    lines = [
        f"# Draftscope {folder.resolve().parent.name}: {title}",
        "",
        f"{training['parameters']:,} trained parameters for `{target}` (weights {training['target']}) alone.",
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
        f"Measured by `{command}`: greedy, fp32, {_measured_on(asked, training)}.",
        "",
        "| | " + " | ".join(found) + " |",
        "|---|" + "--:|" * len(found),
        *(f"| {_told(n)} | " + " | ".join(_cell(row.get(n)) for row in found.values()) + " |" for n in names),
        "",
    ]
    write(folder / "README.md", "\n".join(lines).encode())


def _measured_on(asked: Asked | None, training: dict[str, Any]) -> str:
    """Which prompts, in words."""
    if asked is None:
        return "held-out problems"
    learned = asked.digest() in training.get("prompts", ())
    return f"prompts of {asked.source.name}" + (", from which the head learned" if learned else "")


def _told(name: str) -> str:
    """What a number is, in words."""
    what, _, n = name.partition("_")
    if n.isdigit():
        return f"tokens a target call, blocks of {n}" if what == "tau" else f"accepted where tested, draft token {n}"
    return HELP[name]


def _cell(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"
