"""What each command of `python -m engine.training` does."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM
from transformers.utils import logging as hf_logging

from engine.errors import AssetError
from engine.files.places import near
from engine.model.devices import pick_device
from engine.training import card, models, record, tokenizer
from engine.training.budget import unused
from engine.training.checkpoints import read_shared_words, read_weights, read_words
from engine.training.data import Mix
from engine.training.evaluate import Judge, together
from engine.training.options import ASSETS, folders_told, here, parse_mix, say, say_where, settings_of
from engine.training.requirements import check
from engine.training.trainer import CHECKPOINT, Trainer, hardware_in, read_state, settings_in, write_state


def learn_tokenizer(options: argparse.Namespace) -> None:
    """Learn the tokenizer and write it."""
    tokenizer.save(tokenizer.train(options.seed), options.out)


def train(options: argparse.Namespace) -> None:
    """Train to the end of the budget, with a checkpoint and an export every two minutes.

    Raises:
        ConfigError: a run from the start finds the checkpoint of another, or there is no such device.
    """
    if not options.resume:
        unused(_folders(options)[0] / CHECKPOINT)
    device = str(pick_device(options.device))
    torch.set_num_threads(1)
    work, out = _folders(options)
    words = read_words(here(options.tokenizer))
    settings = settings_of(options.shape, options, parse_mix(options.mix, Mix))
    trainer = Trainer(settings, words, device, options.threads)
    if options.resume:
        trainer.load(read_state(work))
    elif options.grow:
        trainer.grow(read_state(options.grow))
    say_where(checkpoint=work, export=out)

    def save() -> None:
        write_state(trainer, work)
        _publish(trainer, out)

    trainer.run(_json_report(trainer) if options.json else say, save)


def _json_report(trainer: Trainer) -> Callable[[str], None]:
    """What takes the trainer's reports and writes a JSON line for each, with the numbers that the sentence has."""
    before = replace(trainer.progress)

    def report(_: str) -> None:
        p, done = trainer.progress, trainer.progress.done(trainer.settings)
        seconds = p.seconds - before.seconds
        line = {
            "step": p.step,
            "loss": p.loss,
            "tokens": p.tokens,
            "done": done,
            "seconds": p.seconds,
            "tokens_per_s": (p.tokens - before.tokens) / seconds if seconds else None,
        }
        say(json.dumps(line))

    return report


def export(options: argparse.Namespace) -> None:
    """Write the model of a checkpoint, as it is, to the folder of its export."""
    work, out = _folders(options)
    words = read_words(here(options.tokenizer))
    state = read_state(work)
    trainer = Trainer(settings_in(state, options.shape), words)
    trainer.load(state)
    trainer.hardware = hardware_in(state)
    _publish(trainer, out)


def evaluate(options: argparse.Namespace) -> None:
    """Measure the pair on held-out problems, write both cards, renew SHA256SUMS, print the numbers."""
    target_folder, draft_folder = (here(folder) for folder in (options.target, options.draft))
    if not options.no_cards:
        card.ready_for_cards((options.target, options.draft), "with --no-cards")
    torch.set_num_threads(options.threads)
    hf_logging.set_verbosity_error()
    words = read_shared_words(target_folder, draft_folder)
    judge = Judge(words, options.items)
    big, small = (read_weights(AutoModelForCausalLM, folder) for folder in (target_folder, draft_folder))
    (target, lines), (draft, _) = judge.single(big), judge.single(small)
    pair = together(small, lines)
    checks = check(target, draft, pair)
    report = {"items": options.items, "target": target, "draft": draft, "pair": pair, "checks": checks}
    if not options.no_cards:
        command = f"python -m engine.training eval --items {options.items}{folders_told(options)}"
        shared: dict[str, Any] = {"items": options.items, "pair": pair, "checks": checks}
        card.write(target_folder, "target", {**shared, "model": target}, command)
        card.write(draft_folder, "draft", {**shared, "model": draft}, command)
        card.renew_sums(target_folder.parent)
        say_where(cards=target_folder.parent)
    say(json.dumps(report, indent=1) if options.json else _text(report))


def sums(options: argparse.Namespace) -> None:
    """Write SHA256SUMS over everything shipped.

    Raises:
        AssetError: there is no such folder.
    """
    if not options.folder.is_dir():
        raise AssetError(f"There is no folder {options.folder}.{near(str(options.folder))}")
    card.write_sums(options.folder)


def _folders(options: argparse.Namespace) -> tuple[Path, Path]:
    return options.work or Path("build") / options.shape, options.out or ASSETS / options.shape


def _publish(trainer: Trainer, out: Path) -> None:
    models.export(trainer.model, trainer.tokenizer, out, record.describe(trainer))


def _text(report: dict[str, Any]) -> str:
    lines = []
    for part in ("target", "draft", "pair"):
        for family, row in report[part].items():
            cells = "  ".join(f"{name} {value:.3f}" for name, value in row.items())
            lines.append(f"{part:7s}{family:11s}{cells}")
    lines += [f"{'met   ' if c['met'] else 'MISSED'} {c['what']}: {c['value']:.3f}" for c in report["checks"]]
    return "\n".join(lines)
