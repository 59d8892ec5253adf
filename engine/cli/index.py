"""`index`: one Parquet file beside many traces, so that all are opened in seconds and each on demand."""

import argparse
import json
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from engine.analysis.grouping import label_of
from engine.analysis.index import NAME, entry, write
from engine.analysis.reading import read_file, traces_in
from engine.analysis.words import count
from engine.cli.progress import track
from engine.trace.outcome import whole


def add_parser(subparsers: Any) -> None:
    """Register the command."""
    parser = subparsers.add_parser("index")
    parser.add_argument("folder", type=Path, help="traces, also in folders below; the index is written there")
    parser.add_argument("--json", action="store_true", help="where it is and how many runs it names, as JSON")
    parser.set_defaults(handler=handle)


def handle(args: argparse.Namespace) -> int:
    """Read file after file; none stays in memory. A file of several runs has a row for each that came to its end."""
    files = track(traces_in(args.folder), "traces", quiet=args.json or not sys.stderr.isatty())
    path = args.folder / NAME
    pooled = import_module("engine.cli.pooled")  # late, as torch comes with the methods
    known, cut = pooled.usual(), 0

    def rows() -> Iterator[dict[str, Any]]:
        nonlocal cut
        for file in files:
            for run in read_file(file):
                pooled.learn(known, run.head.method)
                if whole(run.end):
                    yield entry(run, file.relative_to(args.folder).as_posix(), label_of(run, known))
                else:
                    cut += 1

    runs = write(path, rows())
    if args.json:
        print(json.dumps({"index": str(path), "runs": runs, "left_out": cut}))
    else:
        print(f"{path}: {count(runs, 'run')}" + (f"; {pooled.left_out(cut)}" if cut else ""))
    return 0
