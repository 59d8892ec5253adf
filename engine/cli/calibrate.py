"""`calibrate`: EASD's entropy threshold on any prompt set, apart from the prompts that methods are tested on; or what
rounds cost on this device, and how often what a drafter is sure of holds, by which `auto` knobs choose."""

import argparse
import json
from typing import Any

from engine.analysis.words import count
from engine.cli.options import add_models, add_prompts, add_sampling, decoding, goes_with, load_here, prompts, readable
from engine.cli.progress import track
from engine.cli.specs import split
from engine.costs import Costs
from engine.drafters import DRAFTERS
from engine.errors import ConfigError
from engine.kinds import SHARE
from engine.lab import Lab
from engine.methods import get_card
from engine.parts import writes_as
from engine.tasks.prompts import Prompt
from engine.tune.calibrate import entropies, tau_entropy
from engine.tune.forecast import can_forecast, measured

COSTED = ("sd", "eagle3", "mtp", "dflash")


def add_parser(subparsers: Any) -> None:
    """Register the command."""
    parser = subparsers.add_parser(
        "calibrate",
    )
    add_models(parser)
    add_prompts(parser, required=False)
    add_sampling(parser)
    parser.add_argument(
        "--share", type=SHARE, default=0.05, help="share of largest entropies that are averaged (default: 0.05, paper)"
    )
    parser.add_argument(
        "--teacher-forced",
        action="store_true",
        help="entropies along the reference solutions, a row's solution or else its answer, not the target's own text "
        "(E9)",
    )
    parser.add_argument(
        "--costs",
        action="store_true",
        help="measure passes of the target by size and drafts by length, which settings of auto choose by",
    )
    parser.add_argument(
        "--methods",
        metavar="A,B,...",
        help=f"methods whose drafts --costs measures, where the pair can run them (default: {','.join(COSTED)})",
    )
    parser.add_argument(
        "--forecast",
        metavar="METHOD",
        help="measure, greedily, how often the draft tokens of a lossless chain (sd) hold by how sure its drafter is "
        "of them: the entry of a preset by which gamma=auto begins; --task may name several families, comma separated",
    )
    parser.add_argument("--json", action="store_true", help="result as JSON")
    parser.set_defaults(handler=handle)


def handle(args: argparse.Namespace) -> int:
    """Collect and average, on other problems of a family than those that methods are tested on; or measure costs.

    Raises:
        ConfigError: two measurements are asked for, no prompts are named, the method to forecast drafts no lossless
            chain, a forecast of drawn texts is asked for, or a server runs the target.
    """
    goes_with(args, "costs", "methods")
    if args.costs and args.forecast:
        raise ConfigError("--costs and --forecast are not told together: give one of them.")
    if args.costs:
        return _costs(args, load_here(args))
    if args.prompt is None and args.prompts is None and args.task is None:
        raise ConfigError("calibrate needs --prompt, --prompts or --task; only --costs goes without.")
    if args.forecast:
        return _forecast(args)
    given, lab = prompts(args, tuning=True), load_here(args)
    readable(lab, given, args.chat)
    found: list[float] = []
    for number, prompt in enumerate(track(given, "prompts", quiet=args.json)):
        own = decoding(args) | {"seed": args.seed + number}  # with one for all they would not be independent
        found += entropies(lab, prompt.text, prompt.solution if args.teacher_forced else None, **own)
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
        else f"tau_entropy = {result['tau_entropy']:.3f} nats, from {count(len(found), 'position')} in "
        f"{count(len(given), 'prompt')}"
    )
    return 0


def _forecast(args: argparse.Namespace) -> int:
    """Measure and print, as a preset has it."""
    if args.temperature:
        raise ConfigError(f"A forecast is of greedy texts alone: leave out --temperature, which is {args.temperature}.")
    card, given = can_forecast(get_card(args.forecast)), list[Prompt]()
    for task in (args.task or "").split(","):
        given += prompts(argparse.Namespace(**{**vars(args), "task": task.strip()}), tuning=True)
    lab = load_here(args)
    readable(lab, given, args.chat)
    texts = (prompt.text for prompt in track(given, "prompts", quiet=args.json))
    found, drafter = measured(lab, card.name, texts, **decoding(args)), writes_as(DRAFTERS[card.drafter])
    if args.json:
        print(json.dumps({"drafter": drafter, "held": found.held, "further": found.further, "prompts": len(given)}))
    else:
        print(f"[forecasts.{drafter}]\nheld = {json.dumps(found.held)}")
        if found.further:
            print(f"further = {json.dumps(found.further)}")
        print(f"command = {json.dumps(args.given)}")
    return 0


def _costs(args: argparse.Namespace, lab: Lab) -> int:
    """Measure and print."""
    can = [card.name for card in lab.methods()]
    asked = split(args.methods) if args.methods else list(COSTED)
    names = [name for name in asked if get_card(name).name in can]
    if not names:
        raise ConfigError(f"This pair can run none of {','.join(asked)}: name others with --methods.")
    found = {name: lab.costs(name, temperature=args.temperature) for name in names}
    if args.json:
        print(json.dumps({name: costs.to_json() for name, costs in found.items()}))
        return 0
    for name, costs in found.items():
        print("\n".join(_lines(name, costs)))
    return 0


def _lines(name: str, costs: Costs) -> list[str]:
    plain = costs.verify(1)
    return [
        f"{name}: ms, and passes over one token that take as long",
        *(f"  pass over {n:3} tokens {ms:9.3f} {ms / plain:7.2f}" for n, ms in costs.passes.samples),
        *(
            f"  {what:20} {ms:9.3f} {ms / plain:7.2f}"
            for what, ms in (
                ("start of a draft", costs.start),
                ("each step", costs.step),
                ("each further row", costs.row),
                ("each level, a tree", costs.fork),
                ("a pass, a tree", costs.spread),
                ("rest of a round", costs.other),
            )
        ),
    ]
