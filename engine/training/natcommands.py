"""The commands that make and judge the embedded non-autoregressive systems."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from engine.files.written import write
from engine.kinds import COUNT, TO_FILE, TO_FOLDER
from engine.model import load_model
from engine.nat.files import SYSTEMS, begin_as, built, save_nat
from engine.nat.network import Shape
from engine.training import distilled, nateval, record
from engine.training.batches import Batch
from engine.training.budget import unused
from engine.training.card import TRAINING
from engine.training.checkpoints import read_words
from engine.training.options import add_budget, here, say, say_where, settings_of
from engine.training.sourcecommands import ASSETS, greedy, load
from engine.training.trainer import (
    CHECKPOINT,
    Settings,
    Trainer,
    hardware_in,
    on_hardware,
    read_state,
    settings_in,
    write_state,
)

TEXTS = Path("build/distilled.jsonl")


@dataclass(frozen=True, slots=True)
class NatMix:
    """Texts a step, and how many the file of distilled texts had."""

    rows: int = 64
    texts: int = 0
    half: bool = False  # whether products are taken in bf16


def register(add: Callable[[str, Callable[[argparse.Namespace], None], str], argparse.ArgumentParser]) -> None:
    """The commands, each with its options."""
    texts = add("nat-texts", write_texts, "write what the encoder-decoder target makes of training sources")
    texts.add_argument("--items", type=COUNT, default=45_000, help="texts")
    texts.add_argument("--seed", type=int, default=0, help="seed of the problems")

    train_ = add("nat-train", train, "train a non-autoregressive system; checkpoint and export every two minutes")
    add_budget(train_, "seed of weights and order")
    train_.set_defaults(threads=1)
    train_.add_argument("--rows", type=COUNT, default=64, help="texts a step")
    train_.add_argument("--half", action="store_true", help="products in bf16, where the processor is fast at them")
    train_.add_argument("--resume", action="store_true", help="go on from the checkpoint in --work")
    train_.add_argument("--begin", type=Path, metavar="FOLDER", help="begun with the weights of an exported system")
    out = add("nat-export", export, "write the system of a checkpoint in bf16")
    for sub, place in ((train_, TO_FOLDER), (out, Path)):
        sub.add_argument("--work", type=place, help="folder of the checkpoint; build/KIND if not given")
    for sub in (train_, out):
        sub.add_argument("kind", choices=sorted(SYSTEMS), help="which system")
        sub.add_argument("--out", type=TO_FOLDER, help="folder of the export; assets/crossed/KIND if not given")
    judge = add("nat-eval", nateval.evaluate, "measure non-autoregressive systems on held-out problems")
    judge.add_argument("--systems", type=Path, nargs="*", metavar="FOLDER", help="all embedded ones if not given")
    judge.add_argument("--items", type=COUNT, default=300, help="held-out problems")
    judge.add_argument("--cards", action="store_true", help="write the card of each system; renew SHA256SUMS")
    for sub in (texts, train_, out, judge):
        sub.add_argument("--target", type=Path, default=ASSETS / "source_target", help="folder")
    for sub, place in ((texts, TO_FILE), (train_, Path), (out, Path)):
        sub.add_argument("--texts", type=place, default=TEXTS, help="file of distilled texts")


def write_texts(options: argparse.Namespace) -> None:
    """Write distilled texts; a file that was begun is gone on with."""
    torch.set_num_threads(options.threads)
    words = read_words(here(options.target))
    target = load(here(options.target))

    def ids(text: str) -> list[int]:
        given: list[int] = words(text).input_ids
        return given

    for done in distilled.distil(
        options.texts, options.items, options.seed, ids, lambda sources: greedy(target, sources, 125)
    ):
        say(f"{done:,} of {options.items:,}")


class NatTrainer(Trainer):
    """Trains a system: loop, optimisers and checkpoints are those of the other models; the target stays as it is."""

    def __init__(self, settings: Settings, target: Path, texts: Path) -> None:
        self.target, self.texts = load_model(target, "cpu", "float32"), texts
        super().__init__(settings, read_words(target))

    def data(self) -> distilled.Distilled:
        """The file of texts."""
        return distilled.Distilled(self.texts, self.settings.mix.rows, self.settings.seed)

    def built(self) -> Any:
        """The system of these settings, with fresh weights."""
        return built(self.settings.shape, self.target, Shape(), self.settings.seed)

    def step(self) -> float:
        """One update; the system knows how far the training is."""
        self.model.done = self.progress.done(self.settings)
        return super().step()

    def _gradients(self, batches: Sequence[Batch]) -> tuple[float, list[Tensor]]:
        with torch.autocast("cpu", torch.bfloat16, enabled=self.settings.mix.half):
            return super()._gradients(batches)

    def stacks(self) -> list[nn.ModuleList]:
        """The decoder's layers."""
        return [self.model.decoder.layers]


def train(options: argparse.Namespace) -> None:
    """Train to the end of the budget, with a checkpoint and an export every two minutes.

    Raises:
        ConfigError: a run from the start finds the checkpoint of another.
    """
    if not options.resume:
        unused(_work(options) / CHECKPOINT)
    torch.set_num_threads(options.threads)  # a step is one batch: nothing to share among workers
    mix = NatMix(options.rows, len(distilled.read(options.texts)), options.half)
    trainer = NatTrainer(settings_of(options.kind, options, mix), here(options.target), options.texts)
    trainer.hardware = on_hardware("cpu", options.threads)
    work = _work(options)
    if options.resume:
        trainer.load(read_state(work))
    elif options.begin:
        begin_as(trainer.model, here(options.begin))
        trainer.begun = f"--begin {ASSETS / options.begin.name}"
    say_where(checkpoint=work, export=_out(options))

    def save() -> None:
        write_state(trainer, work)
        _publish(trainer, options)

    trainer.run(say, save)


def export(options: argparse.Namespace) -> None:
    """Write the system of a checkpoint, as it is, to the folder of its export."""
    state = read_state(_work(options))
    trainer = NatTrainer(settings_in(state, options.kind, NatMix), here(options.target), options.texts)
    trainer.load(state)
    trainer.hardware = hardware_in(state)
    _publish(trainer, options)


def _work(options: argparse.Namespace) -> Path:
    work: Path = options.work or Path("build") / options.kind
    return work


def _out(options: argparse.Namespace) -> Path:
    out: Path = options.out or ASSETS / options.kind
    return out


def _publish(trainer: NatTrainer, options: argparse.Namespace) -> None:
    folder = _out(options)
    save_nat(trainer.model, folder)
    told = record.describe(trainer, "nat-train", _mixed)
    told |= {"target": trainer.target.revision}
    write(folder / TRAINING, (json.dumps(told, indent=1) + "\n").encode())


def _mixed(mix: dict[str, Any]) -> str:
    """A mix as options."""
    return f"--rows {mix['rows']}" + (" --half" if mix.get("half") else "")
