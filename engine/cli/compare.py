"""`compare`: methods on the same prompts, sampling and seed, in turns; a table of pooled numbers, traces on demand."""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from engine.analysis.intervals import intervals
from engine.cli.options import Prompt, add_models, add_prompts, add_sampling, decoding, load_lab, prompts
from engine.cli.progress import track
from engine.cli.specs import Spec, file_name, label, once, parse_method, split
from engine.errors import ConfigError, EngineFault, LabError
from engine.lab import Lab
from engine.methods import get_card
from engine.trace.metrics import pooled
from engine.trace.store import Trace

COLUMNS = ("tokens", "rounds", "verify_tokens", "tau", "accept_rate_tested", "tokens_per_s", "cost_ratio", "speedup")


def add_parser(subparsers: Any) -> None:
    """Register the command."""
    parser = subparsers.add_parser("compare", help="several methods on the same prompts, side by side")
    parser.add_argument(
        "--methods",
        required=True,
        metavar="A,B,...",
        help="methods, comma separated; knobs as sd:gamma=7:correction=target or heterospec:thresholds=0.5,1.2",
    )
    add_models(parser)
    add_prompts(parser)
    add_sampling(parser)
    parser.add_argument(
        "--record", choices=("full", "light"), default="light", help="what traces keep (default: light)"
    )
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="write every trace there (.jsonl.gz)")
    parser.add_argument("--json", action="store_true", help="pooled metrics and intervals as JSON")
    parser.set_defaults(handler=handle)


def handle(args: argparse.Namespace) -> int:
    """Run prompt by prompt, all methods in turn on each, so that a drift of the machine meets all alike.

    A prompt that one method cannot run, or on which it fails, is told and left out for all: the others stay comparable.
    """
    specs = [parse_method(text) for text in split(args.methods)]
    for name, given in specs:
        get_card(name).resolve(given)
    once([label(spec) for spec in specs])
    found, lab = prompts(args), load_lab(args)
    about = {"task": args.task or "", "command": args.given}
    traces: dict[str, list[Trace]] = {label(spec): [] for spec in specs}
    left_out: list[str] = []
    for i, prompt in enumerate(track(found, "prompts", quiet=args.json)):
        try:
            runs = _runs(
                lab, specs, prompt, {"record": args.record, "extras": {"key": prompt.key, **about}, **decoding(args)}
            )
        except LabError as error:
            left_out.append(f"prompt {i + 1} ({prompt.key or prompt.text[:40]!r}): {error}")
            print(f"left out: {left_out[-1]}", file=sys.stderr)
            continue
        for name, trace in runs.items():
            traces[name].append(trace)
            if args.out:
                args.out.mkdir(parents=True, exist_ok=True)
                trace.save(args.out / f"{i:04d}-{file_name(name)}.jsonl.gz")
    if len(left_out) == len(found):
        raise ConfigError(f"No prompt could be run by all methods; the first: {left_out[0]}")
    table = pooled_table(traces)
    print(json.dumps(table, indent=1) if args.json else as_text(table))
    return 0


def _runs(lab: Lab, specs: Sequence[Spec], prompt: Prompt, options: dict[str, Any]) -> dict[str, Trace]:
    """Every method's run on a prompt.

    Raises:
        LabError: one cannot be, or ended in a fault.
    """
    runs: dict[str, Trace] = {}
    for name, given in specs:
        runs[label((name, given))] = trace = lab.run(name, prompt.text, **options, **given)
        if trace.end is None or trace.end.reason == "error":
            raise EngineFault(f"{label((name, given))} failed: {trace.end.message if trace.end else 'it did not end'}")
    return runs


def pooled_table(traces: dict[str, list[Trace]]) -> dict[str, dict[str, Any]]:
    """Pooled metrics of each method, with 95 % intervals over prompts; speed-ups when `ar` is among them."""
    baseline = traces.get("ar")
    table = {}
    for name, runs in traces.items():
        spans = {key: value and asdict(value) for key, value in intervals(runs).items()}
        table[name] = pooled(runs, baseline if name != "ar" else None) | {"intervals": spans, "prompts": len(runs)}
        if baseline:
            same = [a.token_ids == b.token_ids for a, b in zip(runs, baseline, strict=True)]
            table[name]["same_output_as_ar"] = sum(same)
    return table


def as_text(table: dict[str, dict[str, Any]]) -> str:
    """The table for a terminal."""
    lines = [f"{'method':28}" + "".join(f"{column:>20}" for column in COLUMNS)]
    lines += [
        f"{name:28}" + "".join(f"{_cell(row.get(column)):>20}" for column in COLUMNS) for name, row in table.items()
    ]
    return "\n".join(lines)


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.3g}" if isinstance(value, float) else str(value)
