"""`doctor`: what this machine can do, as a report that can be attached to an issue."""

import argparse
import json
from pathlib import Path
from typing import Any

from engine.bench.doctor import examine
from engine.cli.options import add_models, load_here
from engine.errors import ConfigError
from engine.files.places import locate
from engine.files.presets import get_preset
from engine.files.written import in_a_folder, write


def add_parser(subparsers: Any) -> None:
    """Register the command."""
    parser = subparsers.add_parser("doctor")
    add_models(parser)
    parser.add_argument(
        "--out", type=Path, metavar="FILE", help="write FILE.json and FILE.txt, which can be attached to an issue"
    )
    parser.add_argument("--json", action="store_true", help="the report as JSON")
    parser.set_defaults(handler=handle)


def handle(args: argparse.Namespace) -> int:
    """Examine, print, write; status 1 where something is wrong."""
    places = _places(args.out) if args.out else []
    for place in places:
        in_a_folder(place)  # before anything is loaded
    lab = load_here(args)
    folder = args.target or get_preset(lab.preset or "tiny").models["target"]
    report = examine(lab.target, locate(folder), lab)
    as_json = json.dumps(report.to_json(), indent=1) + "\n"
    print(as_json if args.json else report.text(), end="")
    for place, body in zip(places, (as_json, report.text()), strict=False):
        write(place, body.encode())
    return 0 if report.well else 1


def _places(out: Path) -> list[Path]:
    """FILE.json and FILE.txt, also of a FILE that is one of them; other dots are part of its name."""
    name = out.name.removesuffix(".json").removesuffix(".txt")
    if name in ("", ".."):
        raise ConfigError(f"--out takes the name of a file, not '{out}'.")
    return [out.with_name(name + end) for end in (".json", ".txt")]
