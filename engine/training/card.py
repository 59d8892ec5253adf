"""Model cards: what a model was made from and how, and what it can do; no number is typed by hand."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from engine.errors import ConfigError
from engine.files.places import ROOT
from engine.files.written import ready
from engine.files.written import write as written

TRAINING = "training.json"  # written by the export, read here
SUMS = "SHA256SUMS"
TOLD = ("README.md", "card.json", TRAINING, SUMS)  # what is said of the files that are read
METRICS_HELP = {
    "accuracy": "share of problems answered rightly (for sentences: the reference, up to synonyms)",
    "bleu": "corpus BLEU against one reference",
    "chrf": "corpus chrF against one reference",
    "exact": "share of texts that are the canonical one",
    "rouge1": "ROUGE-1",
    "rouge2": "ROUGE-2",
    "rougeL": "ROUGE-L",
    "loss": "nats a token on reference solutions",
    "entropy_at_choices": "mean entropy in nats where the wording is free",
    "entropy_elsewhere": "mean entropy in nats at all other places",
    "choices_per_100_tokens": "free choices in 100 tokens of solution",
    "same": "share of texts that are the target's own, token for token",
    "as_long": "share of texts as long as the target's own",
    "repeats": "share of tokens that repeat the one before",
    "iterations": "iterations a text, mean",
    "accept_rate_tested": "share of tested draft tokens that the target accepts, greedy",
    "tested_guesses": "draft tokens tested",
    "tested": "draft tokens tested",
    "tau": "tokens a target call, greedy",
    "top1_agreement": "share of the target's own tokens that the draft would also have chosen",
}

SYSTEMS = {  # what each non-autoregressive system is after, and where it is less than its paper's
    "cmlm": "CMLM (Ghazvininejad et al. 2019, arXiv 1904.09324): it predicts hidden tokens, and writes by mask-predict",
    "rewrite_nat": "RewriteNAT (Geng, Feng and Qin 2021, EMNLP): a locator finds the tokens that are wrong, a revisor "
    "writes them anew. Both run through the same layers, where the paper's locator has six of its own",
    "glat_ctc": "GLAT with CTC (Qian et al. 2021, arXiv 2008.07905; Gu and Kong 2021, arXiv 2012.15833): one pass over "
    "two places for each of the source, trained with glimpses of the text. It reads the alignment off place by place, "
    "without a beam",
    "dat": "DA-Transformer (Huang et al. 2022, arXiv 2205.07459): one pass over a graph, of which a path is the text. "
    "The graph has three vertices for each place of the source, where the paper has eight; they begin as copies of the "
    "source's states, and transitions have half the model's width",
}


def ready_for_cards(folders: Iterable[Path], otherwise: str, record: str = TRAINING) -> None:
    """Nothing where cards can be written of all models in these folders, with what their `record` tells; to be asked
    before they are measured.

    Raises:
        ConfigError: one has no training record, may not be written in, or is found in this repository alone, where the
        command is given elsewhere; `otherwise` are the words for going without.
    """
    for folder in folders:
        if not folder.is_dir() and (shipped := ROOT / folder).is_dir():
            raise ConfigError(
                f"{folder} is not in this folder, and cards are written beside what they tell of: measure it "
                f"{otherwise}, or name {shipped}."
            )
        if folder.is_dir() and not (folder / record).is_file():
            raise ConfigError(f"{folder} has no {record}, without which no card is written: measure it {otherwise}.")
        ready(folder / "card.json")


def write(folder: Path, role: str, metrics: dict[str, Any], command: str) -> None:
    """Write card.json and README.md of one model from its training record and its metrics."""
    training = json.loads((folder / TRAINING).read_text())
    config = json.loads((folder / "config.json").read_text())
    card = {"role": role, "training": training, "evaluation": {"command": command, **metrics}}
    written(folder / "card.json", (json.dumps(card, indent=1) + "\n").encode())
    written(folder / "README.md", _page(role, config, training, card["evaluation"]).encode())


def _page(role: str, config: dict[str, Any], training: dict[str, Any], evaluation: dict[str, Any]) -> str:
    run = training["progress"]
    lines = [
        *_about(role, config, training["parameters"]),
        "",
        "## How it was made",
        "",
        *(f"- command: `{command}`" for command in training["commands"]),
        f"- seed {training['settings']['seed']}, {run['step']:,} steps, {run['tokens']:,} tokens, "
        f"{run['seconds'] / 60:.1f} minutes of wall time on {training['hardware']}",
        f"- data: `engine/tasks`, training split; sha256 of the first {training['data_steps']} steps of batches "
        + ", ".join(f"`{value}`" for value in training["data_sha256"]),
        f"- versions: {', '.join(f'{k} {v}' for k, v in training['versions'].items())}",
        "",
        "## What it can do",
        "",
        f"Measured by `{evaluation['command']}` on {evaluation['items']} held-out problems a family "
        "(no problem is shared with training; the split is by the facts, not the words), fp32, greedy.",
        "",
    ]
    for title in ("model", "pair"):
        if title in evaluation:
            lines += [*_table(evaluation[title]), ""]
    if "checks" in evaluation:
        lines += ["## Against what was asked of it", ""]
        lines += [f"- {'met' if c['met'] else 'MISSED'}: {c['what']}: {c['value']:.3f}" for c in evaluation["checks"]]
        lines.append("")
    return "\n".join(lines)


def _about(role: str, config: dict[str, Any], parameters: int) -> list[str]:
    """Title and first sentences."""
    if config.get("model_type") == "nat":
        return [
            f"# Draftscope crossed: {role}",
            "",
            f"{SYSTEMS[config['kind']]}.",
            "",
            f"A decoder of {parameters:,} trained parameters ({config['layers']} layers, width {config['width']}) over "
            "encoder and embeddings of `source_target`, which stay as they are. It is trained on that model's own "
            "translations of the training split (`nat-texts`), and knows nothing else.",
        ]
    if config.get("is_encoder_decoder"):
        shape = f"{config['encoder_layers']} layers of encoder, {config['decoder_layers']} of decoder"
        family, style, width = "crossed", "Pegasus", config["d_model"]
        texts = "English sentences with their German, reports with their summaries"
    else:
        shape, family, style, width = f"{config['num_hidden_layers']} layers", "tiny", "Llama", config["hidden_size"]
        texts = "word problems, small functions, English to German sentences"
    return [
        f"# Draftscope {family}: {role}",
        "",
        f"A {style}-style model of {parameters:,} trained parameters ({shape}, width {width}), trained from nothing by "
        f"this repository on text that it generates itself: {texts}. It knows nothing else.",
    ]


def _table(metrics: dict[str, dict[str, float]]) -> list[str]:
    names = list(dict.fromkeys(name for row in metrics.values() for name in row))
    lines = ["| | " + " | ".join(metrics) + " |", "|---|" + "--:|" * len(metrics)]
    for name in names:
        cells = [_cell(row.get(name, math.nan)) for row in metrics.values()]
        lines.append(f"| {METRICS_HELP.get(name, name)} | " + " | ".join(cells) + " |")
    return lines


def _cell(value: float) -> str:
    return "" if not math.isfinite(value) else f"{value:,.0f}" if value >= 1000 else f"{value:.3f}"


def write_sums(root: Path) -> None:
    """Write SHA256SUMS over all files below `root` but those of `TOLD`, as `sha256sum -c` reads it."""
    files = sorted(p for p in root.rglob("*") if p.is_file() and p.name not in TOLD)
    lines = [f"{hashlib.sha256(p.read_bytes()).hexdigest()}  {p.relative_to(root).as_posix()}\n" for p in files]
    written(root / SUMS, "".join(lines).encode())


def renew_sums(root: Path) -> None:
    """The same where the folder has such a file: others are whoever trains', and may hold anything."""
    if (root / SUMS).is_file():
        write_sums(root)
