"""`cases`: list the cases, record their lanes into presets/traces, find a prompt that bears out a case's claims, or
adopt a planned case: find its prompt, write the preset, record it.
"""

import argparse
import json
from collections.abc import Sequence
from functools import cache, partial
from typing import Any

from engine.analysis.reading import read_file
from engine.cases.claims import failures
from engine.cases.opening import opening
from engine.cases.recording import find, record, with_times_of
from engine.cli.progress import track
from engine.errors import ConfigError, unknown
from engine.files.places import PRESETS
from engine.files.presets import Preset, get_preset, list_presets
from engine.files.written import write
from engine.kinds import COUNT, SIZE
from engine.lab import Lab
from engine.trace.store import Trace

PLANNED = PRESETS / "planned"


def add_parser(subparsers: Any) -> None:
    """Register the command."""
    parser = subparsers.add_parser("cases")
    parser.add_argument("action", choices=("list", "record", "find", "adopt"), help="what to do with them")
    parser.add_argument(
        "names", nargs="*", help="cases (default: all that have lanes, record: none; adopt: all that are planned)"
    )
    parser.add_argument("--all", action="store_true", help="record: all cases that have lanes, over what is there")
    parser.add_argument(
        "--limit", type=COUNT, default=200, metavar="N", help="find, adopt: problems to try (default: 200)"
    )
    parser.add_argument("--first", type=SIZE, default=0, metavar="N", help="find, adopt: problems to skip (default: 0)")
    parser.add_argument(
        "--keep-times",
        action="store_true",
        help="record: keep times, day and versions of recordings that are made anew in the same rounds, so that what "
        "is told of them changes and what was measured does not",
    )
    parser.add_argument("--json", action="store_true", help="list: one JSON object a case instead of a line")
    parser.set_defaults(handler=handle)


def handle(args: argparse.Namespace) -> int:
    """Dispatch."""
    if args.action == "adopt":
        return _adopt(args)
    if args.action == "record" and not args.names and not args.all:
        raise ConfigError("Which cases? Name them, or say --all to record every one over what is there.")
    cases = _named(args.names)
    load, status = cache(partial(Lab.load, threads="auto")), 0  # a pair once for all its cases
    for case in cases:
        if args.action == "list" and args.json:
            about = {"name": case.name, "title": case.title, "point": case.point, "searched": case.searched}
            print(json.dumps({**about, "methods": [lane.method for lane in case.lanes]}, ensure_ascii=False))
            continue
        if args.action == "list":
            print(f"{case.name:24} {case.title}: {case.point}" + f" [searched: {case.searched}]" * bool(case.searched))
            continue
        lab = load(case.pair)
        status |= _record(lab, case, args.keep_times) if args.action == "record" else _find(lab, case, args)
    return status


def _named(names: Sequence[str]) -> list[Preset]:
    """The cases of these names, or all that have lanes."""
    known = {preset.name: preset for preset in list_presets() if preset.kind == "case"}
    for name in names:
        if name not in known:
            raise ConfigError(unknown("case", name, known))
    return [known[name] for name in names] or [case for case in known.values() if case.lanes]


def _adopt(args: argparse.Namespace) -> int:
    """Planned cases become real where a problem bears out their claims; the file is written only then."""
    load, status = cache(partial(Lab.load, threads="auto")), 0
    planned = [get_preset(name, PLANNED) for name in args.names] or list_presets(PLANNED)
    if not args.names:
        print(f"All planned cases, since none is named: {', '.join(case.name for case in planned)}.", flush=True)
    for case in planned:
        name = case.name
        lab = load(case.pair)
        found = next(
            (c for c, broken in track(find(lab, case, args.limit, args.first), name, args.limit) if not broken), None
        )
        if found is None:
            print(f"{name}: none of {args.limit} problems bears out {dict(case.expect)}")
            status = 1
            continue
        if _record(lab, found):
            status = 1
            continue
        write(PRESETS / f"{name}.toml", filled((PLANNED / f"{name}.toml").read_text(encoding="utf-8"), found).encode())
    print("Mine again with --cases, so that the mined sets hold the prompts of new cases.")
    return status


def filled(text: str, case: Preset) -> str:
    """A planned preset's text with the prompt and the answer that were found, and which problem that was."""
    for key, value in (("prompt", case.prompt), ("answer", case.answer), ("searched", case.searched)):
        text = text.replace(f'{key} = ""\n', f"{key} = {json.dumps(value, ensure_ascii=False)}\n", 1)
    return text


def _record(lab: Lab, case: Preset, keep: bool = False) -> int:
    if not case.prompt:
        raise ConfigError(f"{case.name} has no prompt yet: `python -m engine cases find {case.name}` looks for one.")
    traces = record(lab, case, warm=not keep)
    if keep:
        pairs = [(trace, PRESETS / path) for trace, path in zip(traces, _paths(case, traces), strict=True)]
        there = [read_file(path) if path.is_file() else [] for _, path in pairs]
        timed = [with_times_of(trace, old[0]) if old else None for (trace, _), old in zip(pairs, there, strict=True)]
        if others := [path.name for (_, path), one in zip(pairs, timed, strict=True) if one is None]:
            print(f"{case.name}: not recorded, {', '.join(others)} hold no such rounds: leave out --keep-times")
            return 1
        traces = [one for one in timed if one is not None]
    broken = failures(case, traces)
    if broken:
        print(f"{case.name}: not recorded, these claims do not hold: {'; '.join(broken)}")
        return 1
    opening(case, traces)  # refused where it is not there
    paths = _paths(case, traces)
    if len(paths) != len(traces):
        raise ConfigError(f"{case.name}: traces must name {len(traces)} files, one a lane.")
    for path in {*case.traces} - {*paths}:
        (PRESETS / path).unlink()
    for path, trace in zip(paths, traces, strict=True):
        (PRESETS / path).parent.mkdir(parents=True, exist_ok=True)
        trace.save(PRESETS / path)
    print(f"{case.name}: " + ", ".join(f"{t.head.title} {_tau(t)}" for t in traces))
    return 0


def _paths(case: Preset, traces: Sequence[Trace]) -> Sequence[str]:
    """Where the runs of a case are kept; a case of every method names the files by these."""
    if not case.every:
        return case.traces
    return [f"traces/{case.name}-{i:02}-{trace.head.method}.jsonl.gz" for i, trace in enumerate(traces)]


def _find(lab: Lab, case: Preset, args: argparse.Namespace) -> int:
    for candidate, broken in track(find(lab, case, args.limit, args.first), case.name, args.limit):
        if not broken:
            found = {"searched": candidate.searched, "prompt": candidate.prompt, "answer": candidate.answer}
            lines = (f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in found.items())
            print("\n".join([f"# {case.name}", *lines]))
            return 0
    print(f"{case.name}: none of {args.limit} problems bears out {dict(case.expect)}")
    return 1


def _tau(trace: Trace) -> str:
    tau = trace.metrics()["tau"]
    return "without a target call" if tau is None else f"tau {tau:.2f}"
