"""`train` and `eval`: the commands of engine.training, reachable from here."""

import argparse
from typing import Any

from engine.training.__main__ import main as training


def add_parser(subparsers: Any) -> None:
    """Register both; everything after the word goes to `python -m engine.training`."""
    for name, text in (("train", "train the embedded family"), ("eval", "evaluate the embedded pair on held-out problems")):
        parser = subparsers.add_parser(name, help=f"{text}; same as `python -m engine.training {name}`", add_help=False)
        parser.add_argument("rest", nargs=argparse.REMAINDER)
        parser.set_defaults(handler=handle, word=name)


def handle(args: argparse.Namespace) -> int:
    """Hand over."""
    training([args.word, *args.rest])
    return 0
