"""`calibrate`: EASD's entropy threshold on any prompt set, apart from the prompts that methods are tested on."""

import argparse
import json
from typing import Any

from engine.cli.options import add_models, add_prompts, add_sampling, decoding, load_lab, prompts
from engine.cli.progress import track
from engine.tune.calibrate import entropies, tau_entropy


def add_parser(subparsers: Any) -> None:
    """Register the command."""
    parser = subparsers.add_parser(
        "calibrate", help="tau_entropy of EASD: mean of the largest target entropies (EASD eq. 8 to 10)"
    )
    add_models(parser)
    add_prompts(parser)
    add_sampling(parser)
    parser.add_argument(
        "--share", type=float, default=0.05, help="share of largest entropies that are averaged (default: 0.05, paper)"
    )
    parser.add_argument(
        "--teacher-forced",
        action="store_true",
        help="entropies along the reference solutions, a row's solution or else its answer, not the target's own text "
        "(E9)",
    )
    parser.add_argument("--json", action="store_true", help="result as JSON")
    parser.set_defaults(handler=handle)


def handle(args: argparse.Namespace) -> int:
    """Collect and average, on other problems of a family than those that methods are tested on."""
    given, lab = prompts(args, tuning=True), load_lab(args)
    found: list[float] = []
    for prompt in track(given, "prompts", quiet=args.json):
        found += entropies(lab, prompt.text, prompt.solution if args.teacher_forced else None, **decoding(args))
    result = {
        "tau_entropy": tau_entropy(found, args.share),
        "share": args.share,
        "positions": len(found),
        "prompts": len(given),
        "teacher_forced": args.teacher_forced,
    }
    print(
        json.dumps(result)
        if args.json
        else f"tau_entropy = {result['tau_entropy']:.3f} nats, from {len(found)} positions in {len(given)} prompts"
    )
    return 0
