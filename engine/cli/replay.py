"""`replay`: every decision and identity of recorded traces, checked without a model."""

import argparse
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from engine.analysis.decisions import greedy
from engine.analysis.identities import identities
from engine.analysis.reading import named, open_file
from engine.analysis.replay import UNDECLARED, replay
from engine.errors import ConfigError, TraceError
from engine.files.places import unreadable
from engine.rules import RULES, THRESHOLDS
from engine.trace import outcome
from engine.trace.store import Trace


@dataclass(frozen=True)
class Report:
    """What one run was checked for, and what does not hold."""

    file: str  # its path, and which of its runs where it holds several
    method: str
    rule: str
    sampled: bool
    rounds: int
    decisions: int  # recomputed from recorded numbers
    unknown: int  # decisions that say too little to be recomputed
    unchecked_rounds: int  # rounds with a draft whose nodes were not recorded
    note: str  # why something could not be checked; empty when all was
    faults: list[str]


def add_parser(subparsers: Any) -> None:
    """Register the command."""
    parser = subparsers.add_parser(
        "replay",
        description="Recompute every decision of recorded traces (exact, by threshold, sampled with the recorded "
        "uniforms) and every identity of their numbers, without a model. Exit status 1 if something does not hold.",
    )
    parser.add_argument(
        "traces",
        nargs="+",
        type=Path,
        metavar="TRACE",
        help="trace files (.jsonl, .jsonl.gz) of one or several runs, or folders of them",
    )
    parser.add_argument("--json", action="store_true", help="one JSON object a run instead of text")
    parser.set_defaults(handler=handle)


def handle(args: argparse.Namespace) -> int:
    """Write a report a run to standard output; 1 where something does not hold."""
    reports = [report for path in named(args.traces) for report in _read(path)]
    for report in reports:
        print(json.dumps(asdict(report)) if args.json else text(report))
    return int(any(report.faults for report in reports))


def _read(path: Path) -> list[Report]:
    """The reports of a file; a run that contradicts itself so much that no reader takes it is a fault as well.

    Raises:
        ConfigError: no such file.
    """
    try:
        path.stat()
    except (OSError, ValueError) as error:
        raise ConfigError(unreadable(path, error)) from None
    try:
        parts = open_file(path)
    except TraceError as error:
        return [_unread(str(path), error)]
    return [_run(f"{path}, run {i}" if len(parts) > 1 else str(path), part) for i, part in enumerate(parts, start=1)]


def _run(file: str, part: bytes) -> Report:
    try:
        trace = Trace.loads(part)
    except TraceError as error:
        return _unread(file, error)
    return check(file, trace)


def _unread(file: str, error: TraceError) -> Report:
    return Report(file, "", "", False, 0, 0, 0, 0, "it cannot be read", [str(error)])


def check(file: str, trace: Trace) -> Report:
    """Decisions where they were recorded, identities in any case."""
    head, faults = trace.head, identities(trace)
    light = sum(map(outcome.lightly, trace.rounds))
    decisions = unknown = 0
    note = ""
    if light:
        kept = f"{light} of {len(trace.rounds)} rounds were recorded lightly"
        note = f"{kept}: their decisions cannot be checked, identities can"
    elif head.rule not in RULES or (head.rule not in THRESHOLDS and head.rule not in UNDECLARED):
        unknown = sum(node.state != "discarded" for event in trace.rounds for node in event.nodes)
        why = "declares no threshold" if head.rule in RULES else "is not known here"
        note = f"the rule {head.rule!r} {why}: its {unknown} decisions cannot be checked, identities can"
    else:
        found = replay(trace, THRESHOLDS.get(head.rule))
        decisions, unknown = found.checked, found.unknown
        faults = [*found.faults, *faults]
        if unknown:
            note = f"{unknown} decisions lack the numbers that the rule {head.rule!r} compares: they cannot be checked"
    if trace.end is None:
        note = "; ".join(filter(None, [note, "what follows: the run has no end, as if its file were cut off"]))
    sampled = not greedy(head)
    return Report(file, head.method, head.rule, sampled, len(trace.rounds), decisions, unknown, light, note, faults)


def text(report: Report) -> str:
    """The report for a reader: one line where all holds."""
    if not report.method:
        told = report.faults[0]
        return told if told.startswith(f"{report.file} ") else f"{report.file} cannot be read: {told}"
    way = "sampled" if report.sampled else "greedy"
    verdict = f"{len(report.faults)} do not hold" if report.faults else "all hold"
    checked = f"{report.decisions} decisions and the identities of {report.rounds} rounds checked"
    lines = [f"{report.file}: {report.method} ({report.rule}, {way}): {checked}, {verdict}."]
    lines += [f"  Not checked: {report.note}."] if report.note else []
    return "\n".join(lines + [f"  {fault}" for fault in report.faults])
