"""The command line. One file a command; each adds its own parser and returns an exit status."""

import argparse
import os
import shlex
import sys
from collections.abc import Sequence

os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")

from engine import __version__
from engine.cli import (
    advise,
    automaton,
    bench,
    calibrate,
    cases,
    compare,
    doctor,
    export,
    imported,
    index,
    judge,
    methods,
    pooled,
    preflight,
    readme,
    replay,
    reproduce,
    run,
    schema,
    training,
    trajectories,
    tree,
)
from engine.status import status_of

COMMANDS = (
    methods,
    preflight,
    doctor,
    run,
    compare,
    pooled,
    bench,
    advise,
    calibrate,
    cases,
    judge,
    trajectories,
    tree,
    automaton,
    training,
    reproduce,
    export,
    imported,
    index,
    replay,
    schema,
    readme,
)


def main(argv: Sequence[str] | None = None, prog: str = "python -m engine") -> int:
    """Run one command; its exit status, see `engine.status`."""
    parser = argparse.ArgumentParser(prog=prog, description="Speculative decoding, run and measured.")
    parser.add_argument("--version", action="version", version=f"draftscope {__version__}")
    subparsers = parser.add_subparsers(dest="command", required=True, metavar="command")
    for command in COMMANDS:
        command.add_parser(subparsers)
    args = parser.parse_args(argv)
    args.given = shlex.join([*prog.split(), *(sys.argv[1:] if argv is None else argv)])  # told in what is written
    return status_of(lambda: args.handler(args))
