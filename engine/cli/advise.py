"""`advise`: which method and settings for which kind of prompt, and the configuration of the engine that serves it."""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from engine.analysis.advice import advise, batches
from engine.analysis.words import count
from engine.cli.options import add_models, add_prompts, add_sampling, decoding, load_lab, prompts
from engine.cli.progress import track
from engine.cli.specs import split
from engine.config import label
from engine.errors import ConfigError
from engine.kinds import COUNT, TO_FOLDER
from engine.runs.costs import passes_of
from engine.served.configs import ENGINES, configurations
from engine.tasks import FAMILIES, load_problems
from engine.tasks.rows import json_lines
from engine.trace.store import Trace
from engine.tune.advising import PROBE, Asked, Spec, candidates, checked, free, probes, runs
from engine.tune.lookups import again

CONTEXT = 256  # tokens behind which passes are measured, or half of what a shorter target reads


def add_parser(subparsers: Any) -> None:
    """Register the command."""
    parser = subparsers.add_parser("advise")
    add_models(parser)
    add_prompts(parser)
    add_sampling(parser)
    parser.add_argument("--methods", metavar="A,B,...", default="", help="candidates (default: all that an engine has)")
    parser.add_argument(
        "--probe",
        type=COUNT,
        default=PROBE,
        metavar="N",
        help=f"draft length of the probe, from which shorter ones are computed (default: {PROBE} tokens)",
    )
    parser.add_argument(
        "--batch-costs",
        type=Path,
        metavar="FILE",
        help="JSON lines with batch, rows, verify_ms and perhaps draft_ms of a step and hardware, measured on a server",
    )
    parser.add_argument(
        "--for",
        dest="engines",
        default=",".join(ENGINES),
        metavar="A,B,...",
        help=f"serving engines to write configurations for (default: {','.join(ENGINES)})",
    )
    parser.add_argument("--served-as", default="", metavar="MODEL", help="the draft model or head as a server names it")
    parser.add_argument("--out", type=TO_FOLDER, metavar="FOLDER", help="keep the probes' traces there")
    parser.add_argument(
        "--check",
        type=COUNT,
        metavar="N",
        help="then run a grid of all settings on N held-out problems of the task: how far is the choice from its best?",
    )
    parser.add_argument("--repeats", type=COUNT, default=3, metavar="N", help="turns of that grid (default: 3)")
    parser.add_argument("--json", action="store_true", help="the advice as JSON")
    parser.set_defaults(handler=handle)


def handle(args: argparse.Namespace) -> int:
    """Measure costs, probe, forecast, write configurations; check on demand."""
    engines = split(args.engines)
    if wrong := [name for name in engines if name not in ENGINES]:
        raise ConfigError(f"--for takes {', '.join(ENGINES)}, not {', '.join(wrong)}.")
    if args.check and args.task not in FAMILIES:
        raise ConfigError(
            f"--check needs --task with one of {', '.join(FAMILIES)}: its held-out problems are the test."
        )
    served = batches([row for _, row in json_lines(args.batch_costs)]) if args.batch_costs else []
    found, lab = prompts(args, tuning=True), load_lab(args)
    cards = candidates(lab, split(args.methods) if args.methods else ())
    context = min(CONTEXT, lab.target.context // 2)
    costs = passes_of(lab.target, lab.target.filler(context))
    asked: list[Asked] = [(one.text, {"category": one.category, "task": args.task or ""}) for one in found]
    specs = probes(cards, args.probe)
    traces = runs(lab, specs, track(asked, "prompts", quiet=args.json), decoding(args), told=_tell)
    if args.out:
        _keep(args.out, specs, traces)
    if not traces[0]:
        raise ConfigError("None of the prompts could be run, for the reasons that are told above.")
    groups = dict(zip(map(label, specs), traces[1:], strict=True))
    rows = advise(groups, traces[0], costs, free(cards), served, partial(again, lab))
    for row in rows:
        row["configurations"] = configurations(row, engines, args.served_as, args.temperature > 0)
    told: dict[str, Any] = {
        "kind": "advice",
        "label": f"batch size 1, {lab.target.device}, {lab.target.dtype}, measured in this lab",
        "target": lab.target.describe(),
        "threads": lab.threads.count if lab.threads else None,
        "sampling": decoding(args),
        "costs": {"context": context, "passes": costs.samples},
        "command": args.given,
        "kinds": rows,
    }
    if args.check:
        held = [(one.prompt, {"task": args.task}) for one in load_problems(args.task, "heldout", args.check)]
        turns = track(held, "grid", quiet=args.json)
        told["check"] = checked(lab, cards, rows[0]["best"], turns, decoding(args), args.repeats, _tell)
    print(json.dumps(told, indent=1) if args.json else as_text(told))
    return 0


def _tell(words: str) -> None:
    print(f"left out: {words}", file=sys.stderr)


def _keep(folder: Path, specs: Sequence[Spec], traces: Sequence[Sequence[Trace]]) -> None:
    for spec, own in zip([("ar", {}), *specs], traces, strict=True):
        name = label(spec).replace(":", "-").replace("=", "")
        for number, trace in enumerate(own):
            trace.save(folder / f"{number:04d}-{name}.jsonl.gz")


def as_text(told: Mapping[str, Any]) -> str:
    """The advice for a terminal."""
    lines = [f"Speeds against plain decoding: {told['label']}. In brackets 95 % over prompts."]
    for row in told["kinds"]:
        lines += ["", *_kind(row)]
    if found := told.get("check"):
        lines += [
            "",
            f"Check: on {found['prompts']} held-out prompts {found['chosen']} runs at {found['measured']:.2f}x "
            f"(forecast {found['forecast']:.2f}x), {100 * found['behind']:.1f} % behind the best of "
            f"{len(found['speedups'])} settings, {found['best']}.",
        ]
    return "\n".join(lines)


def _kind(row: Mapping[str, Any]) -> list[str]:
    best = row["best"]
    verdict = {True: "pays", False: "does not pay: decode plainly", None: "may or may not pay"}[row["pays"]]
    how = f", computed from drafts of {best['computed_from_gamma']}" if best["computed_from_gamma"] else ", measured"
    choice = f"{best['label']}, {spread(best['speedup'])}{how}"
    lines = [f"{row['kind']} ({count(row['prompts'], 'prompt')}): {choice}; speculation {verdict}"]
    for call in row["close"]:
        if call["prompts"] is None:
            told = f"as good as {call['label']}: choose either"
            if call["low"] is None:
                told = f"not told from {call['label']}: too few prompts for an interval"
            lines.append(f"  {told}")
            continue
        lines.append(
            f"  close to {call['label']} ({spread({'mean': call['ratio'], **call})} of its speed): decide with\n"
            f"    python -m engine compare --methods ar,{best['label']},{call['label']} --items {call['prompts']} ..."
        )
    shown = {option["method"]: option for option in (*reversed(row["options"]), best)}  # the fastest of each, or chosen
    lines += [
        f"  {option['label']:24} {spread(option['speedup']):>26}  {option['tau']:.2f} tokens a call"
        for option in sorted(shown.values(), key=lambda one: -(one["speedup"] or {"mean": 0.0})["mean"])
    ]
    lines += [
        f"  batch {batch['batch']} on {batch['hardware'] or 'the server'}: {batch['label']}, {batch['speedup']:.2f}x"
        for batch in row["batches"]
        if batch["label"]
    ]
    return lines + [f"  {one['engine']}: {_written(one)}" for one in row["configurations"]]


def _written(one: Mapping[str, Any]) -> str:
    note = f"({one['note']})" if one["text"] and one["note"] else one["note"]
    return f"{one['text']}  {note}".strip()


def spread(found: Mapping[str, Any] | None) -> str:
    """A speed-up with its interval."""
    if not found:
        return "-"
    return f"{found['mean']:.2f}x" + ("" if found["low"] is None else f" ({found['low']:.2f} to {found['high']:.2f})")
