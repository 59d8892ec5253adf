"""`bench --batch`: tokens per second and latency by the number of prompts decoded together."""

import argparse
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

import torch

from engine.analysis.words import count
from engine.bench.batches import METHODS, Speed, batch_speeds, stops_paying
from engine.cli.options import load_lab, readable
from engine.cli.progress import track
from engine.cli.specs import once, split
from engine.config import label, parse_method
from engine.files.written import write
from engine.kinds import option
from engine.methods import get_card
from engine.model.devices import described
from engine.tasks.marking import OWN
from engine.tasks.prompts import Prompt


def _sizes(text: str) -> list[int]:
    return sorted({int(part) for part in text.split(",")})


MOST = 4096  # prompts together: beyond what memory holds, where a number mistyped would fill it first
SIZES = option(
    _sizes,
    lambda sizes: sizes[0] >= 1 and sizes[-1] <= MOST,
    f"batch sizes from 1 to {MOST} with commas between, such as 1,2,4,8,16",
)


def bench_batches(args: argparse.Namespace, given: Sequence[Prompt]) -> int:
    """Run the methods at all sizes, and print or write what was measured.

    Raises:
        ConfigError: as `Lab.run_batch`.
    """
    specs = [parse_method(part) for part in split(args.methods)] if args.methods else [(name, {}) for name in METHODS]
    once(specs)
    specs = [("ar", {}), *(spec for spec in specs if spec != ("ar", {}))]
    for name, knobs in specs:
        get_card(name).resolve(knobs)
    lab = load_lab(args)
    readable(lab, given, args.chat)
    ids = [lab.target.tokenizer.encode(one.text, args.chat) for one in given]
    speeds = batch_speeds(
        lab,
        {label(spec): spec for spec in specs},
        ids,
        args.batch,
        args.max_new_tokens,
        args.repetitions,
        lambda it: track(it, "repetitions", args.repetitions, quiet=args.json),
    )
    result = {
        "device": described(lab.target.device),
        "dtype": lab.target.dtype,
        "threads": torch.get_num_threads(),
        "models": {role: model.describe() for role, model in (("target", lab.target), *lab.models.items())},
        "task": args.task or str(args.prompts or OWN),
        "prompts": max(args.batch),
        "max_new_tokens": args.max_new_tokens,
        "repetitions": args.repetitions,
        "speeds": [asdict(speed) for speed in speeds],
        "stops_paying": stops_paying(speeds),
    }
    tell(args, result, lambda found: _text(found, speeds))
    return 0


def tell(args: argparse.Namespace, result: dict[str, Any], text: Callable[[dict[str, Any]], str]) -> None:
    """Print a result as text or JSON, and write it where that was asked for."""
    told = json.dumps(result, indent=1, allow_nan=False)
    if args.out:
        write(args.out, (told + "\n").encode())
    print(told if args.json else text(result))


def _text(result: dict[str, Any], speeds: Sequence[Speed]) -> str:
    width = max(24, *(len(one.method) for one in speeds))
    lines = [
        f"{count(result['prompts'], 'prompt')} of {result['task']}, at most {result['max_new_tokens']} tokens each, on "
        f"{result['device']} with {count(result['threads'], 'thread')}",
        "",
        f"{'method':{width}} {'batch':>5} {'tokens/s':>10} {'s a response':>13} {'times ar':>9}",
    ]
    lines += [
        f"{one.method:{width}} {one.batch:5} {one.tokens_per_s.median:10.1f} {one.latency_s.median:13.3f} "
        f"{one.over_ar.median:9.2f}   {one.over_ar.low:.2f} to {one.over_ar.high:.2f}, n={one.over_ar.n}"
        for one in sorted(speeds, key=lambda one: (one.method != "ar", one.method, one.batch))
    ]
    lines.append("")
    lines += [
        f"{name}: faster than ar at the largest batch measured"
        if size is None
        else f"{name}: stops paying at a batch of {size}"
        for name, size in result["stops_paying"].items()
    ]
    return "\n".join(lines)
