"""`compare`: methods on the same prompts, sampling and seed, in turns: speed and quality pooled, traces on demand."""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from engine.analysis.intervals import intervals
from engine.analysis.quality import quality
from engine.cli.notes import idle_among, own_defaults, tell
from engine.cli.options import COUNT, Prompt, add_models, add_prompts, add_sampling, decoding, load_lab, prompts
from engine.cli.progress import track
from engine.cli.specs import Spec, file_name, label, once, parse_method, split
from engine.errors import ConfigError, EngineFault, LabError
from engine.lab import Lab
from engine.methods import get_card
from engine.runs.trajectories import STRIDE
from engine.tasks.marking import marking
from engine.trace.metrics import pooled
from engine.trace.store import Trace

COLUMNS = ("tokens", "rounds", "verify_tokens", "tau", "accept_rate_tested", "tokens_per_s", "cost_ratio", "speedup")
ALL = "all"
MEASURES = {  # of engine.analysis.quality, as the terminal names them; shares are told in per cent
    "accuracy": "right, %",
    "accuracy_difference": "less ar's",
    "majority": "majority right, %",
    "majority_difference": "less ar's",
    "bleu": "BLEU",
    "bleu_relative": "BLEU, % of ar's",
    "chrf": "chrF",
    "rouge1": "ROUGE-1",
    "rouge2": "ROUGE-2",
    "rougeL": "ROUGE-L",
    "same_as_ar": "same as ar, %",
    "response_tokens": "tokens a response",
}
SHARES = ("accuracy", "accuracy_difference", "majority", "majority_difference", "same_as_ar")


def add_parser(subparsers: Any) -> None:
    """Register the command."""
    parser = subparsers.add_parser("compare", help="several methods on the same prompts, side by side")
    parser.add_argument(
        "--methods",
        required=True,
        metavar="A,B,...",
        help="methods, comma separated, or all that this pair can run; knobs as sd:gamma=7:correction=target or "
        "heterospec:thresholds=0.5,1.2",
    )
    add_models(parser)
    add_prompts(parser)
    add_sampling(parser)
    parser.add_argument(
        "--record", choices=("full", "light"), default="light", help="what traces keep (default: light)"
    )
    parser.add_argument(
        "--repeats",
        type=COUNT,
        default=1,
        metavar="N",
        help="answers a prompt and method, each with a seed of its own; from two on the majority counts too (maj@N)",
    )
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="write every trace there (.jsonl.gz)")
    parser.add_argument("--json", action="store_true", help="pooled metrics, intervals and quality as JSON")
    parser.set_defaults(handler=handle)


def handle(args: argparse.Namespace) -> int:
    """Run prompt by prompt, all methods in turn on each, so that a drift of the machine meets all alike.

    A prompt that one method cannot run, or on which it fails, is told and left out for all: the others stay comparable.
    """
    specs = [] if args.methods == ALL else [parse_method(text) for text in split(args.methods)]
    for name, given in specs:
        get_card(name).resolve(given)
    once([label(spec) for spec in specs])
    if args.repeats > 1 and not args.temperature:
        raise ConfigError("--repeats above 1 needs a --temperature above 0: greedy answers are all the same.")
    found, lab = prompts(args), load_lab(args)
    specs = specs or [(card.name, {}) for card in lab.methods()]
    traces: dict[str, list[Trace]] = {label(spec): [] for spec in specs}
    left_out: list[str] = []
    for i, prompt in enumerate(track(found, "prompts", quiet=args.json)):
        try:
            runs = [run_all(lab, specs, prompt, _options(args, prompt, repeat)) for repeat in range(args.repeats)]
        except LabError as error:
            left_out.append(f"prompt {i + 1} ({prompt.key or prompt.text[:40]!r}): {error}")
            print(f"left out: {left_out[-1]}", file=sys.stderr)
            continue
        for repeat, by_name in enumerate(runs):
            for name, trace in by_name.items():
                traces[name].append(trace)
                _keep(args, trace, f"{i:04d}" + (f"-{repeat:02d}" if args.repeats > 1 else ""), name)
    if len(left_out) == len(found):
        raise ConfigError(f"No prompt could be run by all methods; the first: {left_out[0]}")
    table = pooled_table(traces)
    print(json.dumps(table, indent=1) if args.json else as_text(table))
    for spec in specs:
        tell(*own_defaults(lab, *spec), idle_among(lab, spec, traces[label(spec)]))
    return 0


def _keep(args: argparse.Namespace, trace: Trace, number: str, name: str) -> None:
    if args.out:
        args.out.mkdir(parents=True, exist_ok=True)
        trace.save(args.out / f"{number}-{file_name(name)}.jsonl.gz")


def _options(args: argparse.Namespace, prompt: Prompt, repeat: int) -> dict[str, Any]:
    """How a prompt is decoded, and what its trace notes; seeds of repeats lie as far apart as those of trajectories."""
    extras: dict[str, Any] = {"key": prompt.key, "task": args.task or "", "command": args.given}
    if prompt.problem:
        extras["answer"] = prompt.problem.answer
    if args.repeats > 1:
        extras |= {"repeat": repeat, "repeats": args.repeats}
    return decoding(args) | {"record": args.record, "extras": extras, "seed": args.seed + STRIDE * repeat}


def run_all(lab: Lab, specs: Sequence[Spec], prompt: Prompt, options: dict[str, Any]) -> dict[str, Trace]:
    """Every method's run on a prompt, marked where its task has right answers.

    Raises:
        LabError: one cannot be, or ended in a fault.
    """
    runs: dict[str, Trace] = {}
    mark = marking(prompt.problem.family) if prompt.problem else None
    for name, given in specs:
        runs[label((name, given))] = trace = lab.run(name, prompt.text, **options, **given)
        if trace.end is None or trace.end.reason == "error":
            raise EngineFault(f"{label((name, given))} failed: {trace.end.message if trace.end else 'it did not end'}")
        if mark and prompt.problem and (right := mark.right(prompt.problem, trace.text)) is not None:
            trace.head.extras["right"] = right
    return runs


def pooled_table(traces: dict[str, list[Trace]]) -> dict[str, dict[str, Any]]:
    """Pooled metrics and quality of each method, with 95 % intervals; speed-ups and differences when `ar` is there."""
    baseline = traces.get("ar")
    table = {}
    for name, runs in traces.items():
        spans = {key: value and asdict(value) for key, value in intervals(runs).items()}
        table[name] = pooled(runs, baseline if name != "ar" else None) | {"intervals": spans, "prompts": len(runs)}
        table[name]["quality"] = quality(runs, baseline or ())
        if baseline:
            same = [a.token_ids == b.token_ids for a, b in zip(runs, baseline, strict=True)]
            table[name]["same_output_as_ar"] = sum(same)
    return table


def as_text(table: dict[str, dict[str, Any]]) -> str:
    """The two tables for a terminal: counts and speeds, then quality with its intervals."""
    lines = [f"{'method':28}" + "".join(f"{column:>20}" for column in COLUMNS)]
    lines += [
        f"{name:28}" + "".join(f"{_cell(row.get(column)):>20}" for column in COLUMNS) for name, row in table.items()
    ]
    shown = [name for name in MEASURES if any(name in row["quality"] for row in table.values())]
    lines += ["", f"{'method':28}" + "".join(f"{MEASURES[name]:>26}" for name in shown)]
    lines += [
        f"{name:28}" + "".join(f"{spread(row['quality'].get(measure), measure in SHARES):>26}" for measure in shown)
        for name, row in table.items()
    ]
    return "\n".join(lines)


def spread(found: dict[str, Any] | None, share: bool, digits: int = 1) -> str:
    """An estimate with its interval, shares in per cent: "93.8 (86.2 to 97.3)"."""
    if found is None:
        return "-"
    mean, low, high = (None if found[k] is None else (100 if share else 1) * found[k] for k in ("mean", "low", "high"))
    return f"{mean:.{digits}f}" + ("" if low is None else f" ({low:.{digits}f} to {high:.{digits}f})")


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.3g}" if isinstance(value, float) else str(value)
