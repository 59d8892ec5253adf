"""The command that makes the embedded process reward model: labels by rollouts of the target, training, card."""

from __future__ import annotations

import argparse
import json
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, LlamaForCausalLM, PreTrainedTokenizerBase

from engine.errors import ConfigError
from engine.files.documents import read_object
from engine.files.written import write
from engine.kinds import ABOVE, COUNT, LEAST, PORTION, TO_FOLDER
from engine.model import load_model
from engine.model.checkpoint import revision_of
from engine.reward.likelihood import load_likelihood, save_likelihood
from engine.reward.steps import SENTENCES
from engine.tasks import FAMILIES, Problem, load_problems
from engine.training.budget import read_checkpoint
from engine.training.card import ready_for_cards, renew_sums
from engine.training.checkpoints import read_shared_words, read_weights
from engine.training.evaluate import EVAL_SEED
from engine.training.options import ASSETS, folders_told, here, say, say_meanwhile, say_where
from engine.training.prm import CHECKPOINT, HALF, PrmSettings, PrmTrainer, area, bounds, read, scores
from engine.training.rollouts import Labelled, Labeller, Plan, labelled_in

TRAIN_SEED = 11  # problems that neither heads nor judges learnt from
MIXED = (("draft", 0.0), ("draft", 0.7), ("draft", 0.0), ("target", 0.7))  # who writes what is learnt from, in turns
GREEDY = (("draft", 0.0), ("target", 0.0))  # and what is measured on: as decoding writes
SEEN = 2_000  # held-out problems of EVAL_SEED that a check leaves out: variants were compared on some of them
CARD = "card.json"
CHECKED = ("task", "heldout", "heldout_rollouts", "temperature", "problem_seed", "seed")
MADE = (
    "task",
    "items",
    "heldout",
    "rollouts",
    "heldout_rollouts",
    "temperature",
    "updates",
    "lr",
    "decay",
    "seed",
)


def register(add: Any) -> None:
    """Add the subcommand to the parser of `python -m engine.training`."""
    sub = add("prm", make, "label steps by rollouts of the target, train the process reward model, measure it")
    sub.add_argument("--task", choices=FAMILIES, default="arithmetic", help="family of problems")
    sub.add_argument("--items", type=COUNT, default=640, help="training problems, one response each")
    sub.add_argument("--heldout", type=COUNT, default=240, help="held-out problems, one response each")
    sub.add_argument("--rollouts", type=COUNT, default=2, help="tries of the target from each step to learn from")
    sub.add_argument("--heldout-rollouts", type=COUNT, default=4, help="tries from each step to measure on")
    sub.add_argument("--temperature", type=LEAST, default=0.7, help="at which the target goes on")
    sub.add_argument("--updates", type=COUNT, default=300, help="updates, each over all responses")
    sub.add_argument("--lr", type=ABOVE, default=3e-3, help="learning rate")
    sub.add_argument("--decay", type=PORTION, default=0.1, help="weight decay")
    sub.add_argument("--seed", type=int, default=0, help="seed of draws")
    sub.add_argument("--resume", action="store_true", help="go on from the checkpoint in --work")
    sub.add_argument("--labels-only", action="store_true", help="stop once all steps are labelled")
    sub.add_argument("--work", type=TO_FOLDER, default=Path("build/prm"), help="folder of labels and checkpoint")
    sub.add_argument("--out", type=TO_FOLDER, default=ASSETS / "prm", help="folder of the export")
    check = add("prm-check", check_again, "measure the exported process reward model on fresh problems, into its card")
    check.add_argument("--task", choices=FAMILIES, default="arithmetic", help="family of problems")
    check.add_argument("--heldout", type=COUNT, default=240, help="held-out problems, one response each")
    check.add_argument("--heldout-rollouts", type=COUNT, default=4, help="tries from each step")
    check.add_argument("--temperature", type=LEAST, default=0.7, help="at which the target goes on")
    check.add_argument(
        "--problem-seed", type=int, default=21, help="of the held-out problems; those known are left out"
    )
    check.add_argument("--seed", type=int, default=1, help="seed of draws")
    check.add_argument("--work", type=TO_FOLDER, default=Path("build/prm-check"), help="folder of labels")
    check.add_argument("--out", type=Path, default=ASSETS / "prm", help="folder of the export and its card")
    check.add_argument("--no-cards", action="store_true", help="only print; write nothing but labels")
    for one in (sub, check):
        one.add_argument("--target", type=Path, default=ASSETS / "target", help="folder")
        one.add_argument("--draft", type=Path, default=ASSETS / "draft", help="folder")


def make(options: argparse.Namespace) -> None:
    """Labels that are there are kept, whatever was stopped; training goes on with --resume.

    Raises:
        ConfigError: all steps are equally right.
    """
    torch.set_num_threads(options.threads)
    words, pair = _pair(options)
    say_where(labels=options.work, export=options.out)
    known = {name: _labels(options, pair, words, name) for name in ("train", "heldout")}
    if options.labels_only:
        return
    _tellable(known["train"])
    target = load_model(here(options.target), device="cpu", dtype="float32")
    trainer = PrmTrainer(PrmSettings(options.updates, options.lr, options.decay), read(target, known["train"]))
    if options.resume:
        trainer.load(read_checkpoint(options.work / CHECKPOINT))
    trainer.run(say, lambda: trainer.save(options.work))
    meta = {"target": target.revision, "task": options.task, "step_delimiters": list(SENTENCES)}
    save_likelihood(options.out, *trainer.line(), meta)
    made = load_likelihood(options.out, target)
    found = scores(read(target, known["heldout"]), made.weight, made.bias)
    _card(options, trainer, found, known)
    renew_sums(options.out.parent)


def _tellable(labelled: list[Labelled]) -> None:
    """Nothing where some steps are better than others.

    Raises:
        ConfigError: all are alike.
    """
    shares = {share for one in labelled for share in one.shares}
    if len(shares) < 2:
        told = (
            f"{100 * shares.pop():.0f} % of the rollouts from each step reached the right answer"
            if shares
            else "there are no steps"
        )
        raise ConfigError(
            f"There is nothing by which to tell right steps from wrong ones: {told}. Take more --items, or a --task "
            "that the target solves sometimes."
        )


def check_again(options: argparse.Namespace) -> None:
    """Once more, on problems that no choice was made on; the numbers are printed and join the card, whatever they are.

    Raises:
        ConfigError: a card that cannot be written.
    """
    export = here(options.out)
    if not options.no_cards:
        ready_for_cards([options.out], "with --no-cards", CARD)
    torch.set_num_threads(options.threads)
    card = {} if options.no_cards else read_object(export / CARD)
    used = {problem.key for problem in load_problems(options.task, "heldout", SEEN, EVAL_SEED)}
    drawn = load_problems(options.task, "heldout", SEEN + options.heldout, options.problem_seed)
    problems = [problem for problem in drawn if problem.key not in used][: options.heldout]
    words, pair = _pair(options)
    plan = Plan(GREEDY, options.heldout_rollouts, options.temperature, options.seed)
    labelled = _labelled(options, pair, words, problems, plan, options.work, options.problem_seed)
    target = load_model(here(options.target), device="cpu", dtype="float32")
    made = load_likelihood(export, target)
    found = scores(read(target, labelled), made.weight, made.bias)
    told = {name: row | bounds(found, labelled, name) for name, row in _by_writer(found, labelled).items()}
    card["fresh"] = {"command": _command("prm-check", options, CHECKED), "evaluation": told}
    if not options.no_cards:
        write(export / CARD, (json.dumps(card, indent=1) + "\n").encode())
        write(export / "README.md", _page(card, export.resolve().parent.name).encode())
        renew_sums(export.parent)
        say_where(card=export)
    say(json.dumps(told, indent=1))


def _pair(options: argparse.Namespace) -> tuple[PreTrainedTokenizerBase, dict[str, LlamaForCausalLM]]:
    target, draft = here(options.target), here(options.draft)
    words = read_shared_words(target, draft)
    return words, {
        name: read_weights(AutoModelForCausalLM, folder) for name, folder in (("target", target), ("draft", draft))
    }


def _labels(
    options: argparse.Namespace, pair: dict[str, LlamaForCausalLM], words: PreTrainedTokenizerBase, split: str
) -> list[Labelled]:
    """The labels of one split."""
    train = split == "train"
    tries = options.rollouts if train else options.heldout_rollouts
    plan = Plan(MIXED if train else GREEDY, tries, options.temperature, options.seed)
    count, seed = (options.items, TRAIN_SEED) if train else (options.heldout, EVAL_SEED)
    problems = load_problems(options.task, split, count, seed)
    return _labelled(options, pair, words, problems, plan, options.work / split, seed)


def _labelled(
    options: argparse.Namespace,
    pair: dict[str, LlamaForCausalLM],
    words: PreTrainedTokenizerBase,
    problems: list[Problem],
    plan: Plan,
    folder: Path,
    seed: int,
) -> list[Labelled]:
    """Labels of these problems, kept in a folder; those of other settings, or of none that are known, are thrown
    away."""
    about = {"plan": repr(plan), "task": options.task, "seed": seed, "models": _revisions(options)}
    told = folder / "plan.json"
    if not told.exists() or read_object(told) != about:
        for old in folder.glob("part-*.jsonl"):
            old.unlink()
    folder.mkdir(parents=True, exist_ok=True)
    write(told, (json.dumps(about) + "\n").encode())
    Labeller(pair, words, plan).write(problems, folder, lambda line: say_meanwhile(f"{folder.name}: {line}"))
    keys = {problem.key for problem in problems}
    return [one for one in labelled_in(folder) if one.key in keys]


def _revisions(options: argparse.Namespace) -> dict[str, str]:
    return {"target": revision_of(here(options.target)), "draft": revision_of(here(options.draft))}


def _card(
    options: argparse.Namespace,
    trainer: PrmTrainer,
    given: list[float],
    known: dict[str, list[Labelled]],
) -> None:
    """card.json and README.md, from the export itself; no number is typed by hand."""
    found = _by_writer(given, known["heldout"])
    command = _command("prm", options, MADE)
    card = {
        "role": "process reward model",
        "command": command,
        "parameters": len(trainer.weight) + 1,
        "labels": {
            "made": f"share of {options.rollouts} rollouts of the target at temperature {options.temperature:g} that "
            f"reach the right answer (soft); held-out steps are right where at least {HALF:g} of "
            f"{options.heldout_rollouts} do",
            "models": _revisions(options),
            "train": {"responses": len(known["train"]), "steps": sum(len(one.ends) for one in known["train"])},
        },
        "updates": trainer.done,
        "loss": trainer.loss,
        "evaluation": found,
        "versions": {name: version(name) for name in ("torch", "transformers", "safetensors")},
    }
    write(options.out / CARD, (json.dumps(card, indent=1) + "\n").encode())
    write(options.out / "README.md", _page(card, options.out.resolve().parent.name).encode())


def _by_writer(given: list[float], labelled: list[Labelled]) -> dict[str, Any]:
    return {name or "both": area(given, labelled, name) for name in ("", "draft", "target")}


def _command(name: str, options: argparse.Namespace, given: tuple[str, ...]) -> str:
    told = " ".join(f"--{one.replace('_', '-')} {getattr(options, one)}" for one in given)
    return f"python -m engine.training {name} {told}{folders_told(options)}"


def _page(card: dict[str, Any], family: str) -> str:
    labels = card["labels"]
    titles = {
        "auc": "area under the ROC curve, all steps",
        "auc_first_wrong": "the same, steps after a wrong one left out",
        "steps": "held-out steps",
        "wrong_steps": "wrong ones among them",
        "first_wrong_steps": "first wrong steps",
        "responses": "held-out responses",
    }
    lines = [
        f"# Draftscope {family}: process reward model",
        "",
        f"{card['parameters']:,} parameters: a line over the target's own states at each token "
        "(`engine/reward/likelihood.py`), which says how likely nothing in the response is wrong so far. It reads the "
        "target's weights, so that scoring a step costs a pass of the target over it.",
        "",
        "## How it was made",
        "",
        f"- `{card['command']}`",
        f"- label of a step: {labels['made']}",
        f"- {labels['train']['responses']:,} responses with {labels['train']['steps']:,} steps to learn from, of "
        + " and ".join(f"the {name} {revision}" for name, revision in sorted(labels["models"].items())),
        f"- {card['updates']:,} updates over all responses, loss {card['loss']:.3f} nats a step",
        f"- versions: {', '.join(f'{k} {v}' for k, v in card['versions'].items())}",
        "",
        "## What it can do",
        "",
        "On greedy responses to held-out problems, by who wrote them, fp32, from the exported weights.",
        "",
        *_table(card["evaluation"], titles),
    ]
    if fresh := card.get("fresh"):
        lines += [
            "## On problems that no choice was made on",
            "",
            "Variants were compared on some of the responses above. These problems are others, drawn and measured "
            f"once, by `{fresh['command']}`; in brackets 95 % over problems, each with all its responses.",
            "",
            *_table(fresh["evaluation"], titles),
        ]
    return "\n".join(lines)


def _table(found: dict[str, dict[str, Any]], titles: dict[str, str]) -> list[str]:
    return [
        "| | " + " | ".join(found) + " |",
        "|---|" + "--:|" * len(found),
        *(
            f"| {title} | " + " | ".join(_told(row, name) for row in found.values()) + " |"
            for name, title in titles.items()
        ),
        "",
    ]


def _told(row: dict[str, Any], name: str) -> str:
    low, high = row.get(f"{name}_low"), row.get(f"{name}_high")
    return _cell(row[name]) + (f" ({_cell(low)} to {_cell(high)})" if low is not None else "")


def _cell(value: float | int | None) -> str:
    return "" if value is None else f"{value:,}" if isinstance(value, int) else f"{value:.3f}"
