"""`run`: one method on one prompt; prints the text, the numbers, or writes the trace."""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from engine.analysis.words import count
from engine.cli.notes import idle, own_defaults, tell
from engine.cli.options import add_models, add_sampling, decoding, load_lab
from engine.cli.specs import checked
from engine.cli.spoken import Spoken
from engine.errors import ConfigError
from engine.files.written import in_a_folder
from engine.trace.events import Round, RunEnded
from engine.trace.store import Trace


def add_parser(subparsers: Any) -> None:
    """Register the command."""
    parser = subparsers.add_parser("run")
    parser.add_argument("method", help="a method of `python -m engine methods`, with knobs as sd:gamma=7")
    parser.add_argument("prompt", help="the prompt; '-' reads standard input")
    add_models(parser)
    add_sampling(parser, method=True)
    parser.add_argument(
        "--record", choices=("full", "light"), default="full", help="light keeps counts and times only (default: full)"
    )
    parser.add_argument("--save", type=Path, metavar="FILE", help="write the trace (.jsonl or .jsonl.gz)")
    parser.add_argument("--json", action="store_true", help="metrics as JSON instead of text")
    parser.set_defaults(handler=handle)


def _piped() -> str:
    """All of standard input.

    Raises:
        ConfigError: it is not UTF-8.
    """
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(f"Standard input must be UTF-8; its byte {error.start} is not.") from None


def handle(args: argparse.Namespace) -> int:
    """Stream the run; text appears as it is written."""
    method, given = checked(args.method, args.set)
    if args.save:
        in_a_folder(args.save)  # before minutes are spent on the run
    lab = load_lab(args)
    prompt = _piped() if args.prompt == "-" else args.prompt
    tell(*own_defaults(lab, method, given))
    trace, spoken = Trace(), Spoken()
    options: dict[str, Any] = {**decoding(args), **given, "record": args.record}
    try:
        for event in lab.stream(method, prompt, **options):
            trace.append(event)
            if isinstance(event, Round) and not args.json:
                print("".join(spoken.read(token.piece) for token in event.tokens), end="", flush=True)
            if isinstance(event, RunEnded) and event.reason == "error":
                print(f"error: {event.message}", file=sys.stderr)
                return 1
    finally:  # what there is of it, whatever ended it
        if args.save and trace.started:
            trace.save(args.save)
    if not args.json:
        print(spoken.rest(), flush=True)
    tell(idle(trace))
    if args.json:
        print(json.dumps({"text": trace.text, "token_ids": trace.token_ids, "metrics": trace.metrics()}, indent=1))
    else:
        print(f"\n{_told(trace.metrics())}")
    return 0


def _told(numbers: dict[str, Any]) -> str:
    """Tokens, what they took, and speed in a line."""
    calls, iterations = numbers["rounds"], numbers["iterations"]
    took = count(iterations, "iteration") if iterations else count(calls, "target call")
    each = "" if numbers["tau"] is None else f" ({numbers['tau']:.2f} a call)"
    speed = f"{numbers['tokens_per_s']:.0f} tokens/s" if numbers["tokens_per_s"] else "no time"
    return f"{count(numbers['tokens'], 'token')} in {took}{each}, {speed}"
