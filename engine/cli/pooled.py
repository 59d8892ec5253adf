"""`pooled`: reduce folders of traces to the figures and tables of HeteroSpec, in one small JSON file for the page.

Runs of several targets are pooled target by target.
"""

import argparse
import json
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from engine.analysis.grouping import by_target, one_target
from engine.analysis.pool import RECORDED, pool
from engine.analysis.reading import read_file, traces_in
from engine.analysis.words import count, estimate
from engine.cli.progress import track
from engine.errors import ConfigError, unknown
from engine.files.written import write
from engine.kinds import TO_FILE
from engine.methods import CARDS
from engine.methods.compose import composed
from engine.strata.learning import study


def add_parser(subparsers: Any) -> None:
    """Register the command."""
    parser = subparsers.add_parser("pooled")
    parser.add_argument(
        "folders",
        nargs="+",
        type=Path,
        metavar="FOLDER",
        help="traces, also in folders below; `compare --out` writes them",
    )
    parser.add_argument(
        "--target",
        metavar="ID",
        help="only runs of this target, as its traces name it (default: those of each, in turn)",
    )
    parser.add_argument(
        "--out", type=TO_FILE, metavar="FILE", help=f"write JSON there (the page shows {RECORDED.name})"
    )
    parser.add_argument("--json", action="store_true", help="the same JSON instead of tables")
    parser.set_defaults(handler=handle)


def handle(args: argparse.Namespace) -> int:
    """Read, pool, print the tables of each target; JSON and the file on demand, of one target.

    Raises:
        ConfigError: no traces, none of the target asked for, or JSON of several targets.
    """
    files = [path for folder in args.folders for path in traces_in(folder)]
    read = track(files, "traces", quiet=not sys.stderr.isatty())
    runs = by_target(trace for path in read for trace in read_file(path))
    if args.target and args.target not in runs:
        raise ConfigError(unknown("target", args.target, runs))
    chosen = {args.target: runs[args.target]} if args.target else runs
    if args.json or args.out:
        one_target({target: len(own) for target, own in chosen.items()}, "for JSON name one with --target")
    for target, own in chosen.items():
        found = pool(own, usual(), study)
        if len(chosen) > 1:
            print(f"\n{target}: {count(len(own), 'run')}")
        _tell(args, found)
    return 0


def _tell(args: argparse.Namespace, found: dict[str, Any]) -> None:
    found["commands"].append(args.given)
    text = json.dumps(found, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    if args.out:
        write(args.out, (text + "\n").encode())
    if args.json:
        print(text)
        return
    for section in found["sections"]:
        print(_as_text(section))
    if "left_out" in found:
        print(f"\n{left_out(found['left_out'])}")


def left_out(runs: int) -> str:
    """How many runs no number holds, in words."""
    return f"{count(runs, 'run')} left out: cut off, by a stop or a fault."


def usual() -> dict[str, dict[str, Any]]:
    """Each method's usual knobs, in the order of the catalogue."""
    return {card.name: card.resolve({}) for card in CARDS}


def learn(known: dict[str, dict[str, Any]], method: str) -> None:
    """Add a composed method's usual knobs to those of the catalogue; of one that nobody knows there are none."""
    if method not in known:
        with suppress(ConfigError):
            card = composed(method)
            known |= {method: card.resolve({})} if card else {}


def _as_text(section: dict[str, Any]) -> str:
    lines = [
        f"\n{section['task']}, {count(section['prompts'], 'prompt')}"
        + ("" if section["even"] else ", not the same for all methods")
    ]
    lines.append(f"{'method':44}{'calls':>8}{'verify_tokens':>15}{'tau':>20}{'speed-up':>24}")
    lines += [
        f"{row['label'][:43]:44}{row['calls']:>8}{row['tokens']:>15}{estimate(row['tau'], '.2f'):>20}"
        f"{estimate(row['speedup'], '.2f'):>24}"
        for row in section["methods"]
    ]
    for row in section["ablation"]:
        lines.append(f"  {row['method']:12} calls {row['calls']}, verify_tokens {row['tokens']}, tau {row['tau']:.3g}")
    for row in section["granularity"]:
        overlap = ", ".join(f"{name} {value:.2f}" for name, value in row.get("overlap", {}).items())
        lines.append(f"  {row['label']}: {overlap or row.get('missing', '')}")
    return "\n".join(lines)
