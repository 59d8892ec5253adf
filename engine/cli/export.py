"""`export`: recorded traces as tables (CSV or JSON), each row with its `lane` and `label`; no model is loaded."""

import argparse
import json
import math
import sys
from pathlib import Path
from typing import Any

import pandas as pd

from engine.analysis.reading import named, read_file
from engine.analysis.tables import nodes_df, rounds_df, tokens_df
from engine.errors import ConfigError
from engine.served.writing import WRITERS
from engine.trace.outcome import lightly

FORMULA = ("=", "+", "-", "@", "\t", "\r")  # how a cell begins that a spreadsheet would run
TABLES = {"tokens": tokens_df, "nodes": nodes_df, "rounds": rounds_df}


def add_parser(subparsers: Any) -> None:
    """Register the command."""
    parser = subparsers.add_parser("export")
    parser.add_argument("traces", nargs="+", type=Path, help="trace files (.jsonl or .jsonl.gz), or folders of them")
    parser.add_argument(
        "--table",
        choices=(*TABLES, "metrics"),
        help="which table (default: tokens); metrics, which hold histograms, are JSON in any case",
    )
    parser.add_argument(
        "--names",
        choices=tuple(WRITERS),
        help="metrics as this engine reports them, a line of JSON a trace, which its tools read",
    )
    parser.add_argument("--json", action="store_true", help="JSON records, with every text as it is, instead of CSV")
    parser.set_defaults(handler=handle)


def handle(args: argparse.Namespace) -> int:
    """Write to standard output."""
    read = [(path, trace) for path in named(args.traces) for trace in read_file(path)]
    traces = [trace for _, trace in read]
    if args.names and args.table not in (None, "metrics"):
        raise ConfigError(f"--names {args.names} writes metrics, not --table {args.table}: give one of the two.")
    if cut := sum(trace.end is None for trace in traces):
        what = f"{cut} of {len(traces)} runs have no end here, as if a file were cut off"
        print(f"{what}: what follows is not in these numbers.", file=sys.stderr)
    if args.names:
        for trace in traces:
            print(json.dumps(WRITERS[args.names](trace), ensure_ascii=False))
        return 0
    if args.table == "metrics":
        print(json.dumps([{"file": str(p), **t.metrics()} for p, t in read], indent=1))
        return 0
    light = sum(any(map(lightly, trace.rounds)) for trace in traces)
    if args.table == "nodes" and light:
        print(f"{light} of {len(traces)} runs have no nodes here: --record full would have kept them.", file=sys.stderr)
    frame = TABLES[args.table or "tokens"](traces, lanes=True)
    if args.json:
        for row in frame.astype(object).to_dict("records"):
            print(json.dumps(plain(row), ensure_ascii=False))
    else:
        frame.map(safe).to_csv(sys.stdout, index=False)
    return 0


def safe(cell: Any) -> Any:
    """A cell as in CSV of the page: several values are JSON, and a text that begins as a formula, which a spreadsheet
    would run, gets an apostrophe. A sign alone is none."""
    if isinstance(cell, dict | list | tuple):
        return json.dumps(plain(cell), ensure_ascii=False)
    return f"'{cell}" if isinstance(cell, str) and len(cell) > 1 and cell.startswith(FORMULA) else cell


def plain(value: Any) -> Any:
    """A value in types of JSON, its numbers whole: what is missing or not finite is null."""
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    return None if value is pd.NA or (isinstance(value, float) and not math.isfinite(value)) else value
