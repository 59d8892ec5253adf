"""The command line of training: tokenizer, train, export, eval."""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
from transformers import AutoTokenizer

from engine.training import models, tokenizer
from engine.training.trainer import Settings, Trainer, read_state, write_state

ASSETS = Path("assets/tiny")


def main(argv: list[str] | None = None) -> None:
    """Parse and run one command."""
    parser = argparse.ArgumentParser(prog="python -m engine.training", description=__doc__)
    commands = parser.add_subparsers(required=True)

    learn = commands.add_parser("tokenizer", help="learn the tokenizer from the corpus")
    learn.add_argument("--out", type=Path, default=ASSETS / "tokenizer")
    learn.add_argument("--seed", type=int, default=0)
    learn.set_defaults(run=_tokenizer)

    train = commands.add_parser("train", help="train a model and export it")
    train.add_argument("shape", choices=sorted(models.SHAPES))
    train.add_argument("--minutes", type=float, default=5.0, help="wall-clock budget, minutes (default 5)")
    train.add_argument("--steps", type=int, help="budget in steps instead of minutes")
    train.add_argument("--seed", type=int, default=0)
    train.add_argument("--tokenizer", type=Path, default=ASSETS / "tokenizer")
    train.add_argument("--work", type=Path, help="folder of the checkpoint (default build/<shape>)")
    train.add_argument("--out", type=Path, help="folder of the export (default assets/tiny/<shape>)")
    train.add_argument("--resume", action="store_true", help="go on from the checkpoint in --work")
    train.add_argument("--threads", type=int, default=2)
    train.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    train.set_defaults(run=_train)

    options = parser.parse_args(argv)
    options.run(options)


def _tokenizer(options: argparse.Namespace) -> None:
    tokenizer.save(tokenizer.train(options.seed), options.out)


def _train(options: argparse.Namespace) -> None:
    torch.set_num_threads(1)
    words = AutoTokenizer.from_pretrained(options.tokenizer)
    work = options.work or Path("build") / options.shape
    out = options.out or ASSETS / options.shape
    settings = Settings(options.shape, minutes=options.minutes, steps=options.steps, seed=options.seed)
    trainer = Trainer(settings, words, options.device, options.threads)
    if options.resume:
        trainer.load(read_state(work))

    def save() -> None:
        write_state(trainer, work)
        models.export(trainer.model, words, out)

    trainer.run(lambda line: print(line, flush=True), save)


if __name__ == "__main__":
    main()
