"""`import`: what serving engines report of their speculation, in the lab's names, and as light traces."""

import argparse
import json
from pathlib import Path
from typing import Any

from engine.analysis.words import estimate
from engine.errors import TraceError
from engine.files.places import unreadable
from engine.kinds import TO_FOLDER
from engine.served.light import light
from engine.served.pooling import pooled
from engine.served.reading import read_reports
from engine.served.report import Report
from engine.trace.store import MAX_BYTES


def add_parser(subparsers: Any) -> None:
    """Register the command."""
    parser = subparsers.add_parser("import")
    parser.add_argument(
        "files",
        nargs="+",
        type=Path,
        metavar="FILE",
        help="answers (JSON, JSON lines, an event stream), /metrics, logs, AIPerf's exports; also gzipped",
    )
    parser.add_argument(
        "--out",
        type=TO_FOLDER,
        metavar="FOLDER",
        help="write a light trace of each answer that tells its passes in order",
    )
    parser.add_argument("--json", action="store_true", help="the rows as JSON")
    parser.set_defaults(handler=handle)


def handle(args: argparse.Namespace) -> int:
    """Read all, print a row for each engine, model and kind of report."""
    reports = [report for path in args.files for report in _read(path)]
    rows = pooled(reports)
    written = 0
    for report in reports if args.out else ():
        if report.each:
            light(report).save(args.out / f"{written:04d}-{report.engine}.jsonl.gz")
            written += 1
    if args.json:
        print(json.dumps({"rows": rows, "traces": written}, indent=1))
        return 0
    print(as_text(rows))
    if args.out:
        where = f"their light traces are in {args.out}" if written else "no trace is written"
        print(f"{written} of {len(reports)} reports tell their passes in order; {where}.")
    return 0


def _read(path: Path) -> list[Report]:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)  # a device may have no end
    except (OSError, ValueError) as error:
        raise TraceError(unreadable(path, error)) from None
    return read_reports(data, path.name)


def as_text(rows: list[dict[str, Any]]) -> str:
    """A table, acceptance by depth, and what is not told."""
    lines = [f"{'':34}{'of':>34}{'passes':>9}{'tokens a pass':>24}{'accepted / drafted':>26}{'tokens/s':>10}"]
    for row in rows:
        of = f"{row['reports']} {row['of']}"
        speed = "-" if row["tokens_per_s"] is None else f"{row['tokens_per_s']:.1f}"
        rounds = "-" if row["rounds"] is None else row["rounds"]
        cells = f"{estimate(row['tau'], '.3f'):>24}{estimate(row['accept_rate_drafted'], '.3f'):>26}{speed:>10}"
        lines.append(f"{row['label'][:33]:34}{of:>34}{rounds:>9}{cells}")
    for row in rows:
        if row["accept_by_depth"]:
            shares = ", ".join(f"{share:.3f}" for share in row["accept_by_depth"]["marginal"])
            lines.append(f"{row['label']}: accepted to position 1, 2, ...: {shares}")
        if row["lacks"]:
            lines.append(f"{row['label']}: not told: {', '.join(row['lacks'])}")
    return "\n".join(lines)
