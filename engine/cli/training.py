"""`train` and `eval`: the commands of engine.training, reachable from here."""

import argparse
from typing import Any

from engine.training.command import main as training


def add_parser(subparsers: Any) -> None:
    """Register both; everything after the word goes to `python -m engine.training` as it is.

    With a prefix that no argument can begin with, argparse takes options for plain words: a remainder alone would stop
    at the first option.
    """
    for name in ("train", "eval"):
        parser = subparsers.add_parser(name, add_help=False, prefix_chars="\0")
        parser.add_argument("rest", nargs=argparse.REMAINDER, help="what that command takes")
        parser.set_defaults(handler=handle, word=name, prog=parser.prog.removesuffix(f" {name}"))


def handle(args: argparse.Namespace) -> int:
    """Hand over; the exit status is theirs."""
    return training([args.word, *args.rest], args.prog)
