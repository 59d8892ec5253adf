"""Make and judge the embedded models: tokenizer, train, export, eval."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import torch

from engine.kinds import COUNT, TO_FOLDER, place
from engine.parser import Parser
from engine.status import status_of
from engine.training import commands, headcommands, models, natcommands, prmcommands, sourcecommands, strata
from engine.training.options import ASSETS, add_budget


class Defaults(argparse.ArgumentDefaultsHelpFormatter):
    """Tells the default of each option that has one: of a switch, and of what is left out, there is none to tell."""

    def _get_help_string(self, action: argparse.Action) -> str | None:
        told = action.default is not None and action.default is not False and action.default != []
        return super()._get_help_string(action) if told else action.help


def main(argv: list[str] | None = None, prog: str = "python -m engine.training") -> int:
    """Parse and run one command, which help and errors name as one of `prog`; its exit status, see `engine.status`."""
    parser = Parser(prog=prog, description=__doc__)
    subparsers = parser.add_subparsers(required=True, metavar="COMMAND")

    def add(name: str, run: Callable[[argparse.Namespace], None], text: str) -> argparse.ArgumentParser:
        described = f"{text[0].upper()}{text[1:]}."
        sub = subparsers.add_parser(name, help=text, description=described, formatter_class=Defaults)
        sub.set_defaults(run=run)
        sub.add_argument("--threads", type=COUNT, default=2, help="CPU threads")
        return sub

    learn = add("tokenizer", commands.learn_tokenizer, "learn the tokenizer from the corpus")
    learn.add_argument("--out", type=TO_FOLDER, default=ASSETS / "tokenizer", help="folder")
    learn.add_argument("--seed", type=int, default=0, help="seed of the corpus")

    train = add("train", commands.train, "train a model; checkpoint and export every two minutes")
    add_budget(train, "seed of weights and corpus")
    train.add_argument(
        "--mix", nargs="*", default=[], metavar="NAME=N", help="rows a step and loss weights; see data.Mix"
    )
    train.add_argument("--resume", action="store_true", help="go on from the checkpoint in --work")
    train.add_argument("--json", action="store_true", help="report in JSON lines")
    train.add_argument(
        "--grow", type=Path, metavar="FOLDER", help="start from a shallower shape's checkpoint, with layers added"
    )

    export = add("export", commands.export, "write the model of a checkpoint in bf16")
    for sub, kind in ((train, TO_FOLDER), (export, Path)):
        sub.add_argument("--work", type=kind, help="folder of the checkpoint; build/SHAPE if not given")
    for sub in (train, export):
        sub.add_argument("shape", choices=sorted(models.SHAPES), help="which model")
        sub.add_argument("--tokenizer", type=Path, default=ASSETS / "tokenizer", help="folder")
        sub.add_argument(
            "--out", type=place(models.exportable), help="folder of the export; assets/tiny/SHAPE if not given"
        )
        sub.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu", help="cpu or cuda")

    judge = add("eval", commands.evaluate, "measure the pair on held-out problems and write the cards")
    judge.add_argument("--target", type=Path, default=ASSETS / "target", help="folder")
    judge.add_argument("--draft", type=Path, default=ASSETS / "draft", help="folder")
    judge.add_argument("--items", type=COUNT, default=300, help="held-out problems a family")
    judge.add_argument("--json", action="store_true", help="print JSON")
    judge.add_argument("--no-cards", action="store_true", help="only print; write nothing")

    sums = add("sums", commands.sums, "write SHA256SUMS anew, after a judge, an automaton or strata were made")
    sums.add_argument("--folder", type=Path, default=ASSETS, help="folder of the assets")

    headcommands.register(add)
    strata.register(add)
    prmcommands.register(add)
    sourcecommands.register(add)
    natcommands.register(add)
    options = parser.parse_args(argv)
    return status_of(lambda: options.run(options) or 0)
