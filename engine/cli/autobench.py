"""`bench --auto`: settings that are left to the device against fixed ones, on several families of tasks.

Each is timed twice: as a run does it, which knows nothing at first, and kept, by one method that lives through a task's
prompts and begins each with what those before it taught.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from engine.analysis.words import count
from engine.bench.contenders import kept, ours
from engine.bench.contest import Spread, Times, contest
from engine.cli.batchbench import tell
from engine.cli.options import load_lab, prompts
from engine.cli.progress import track
from engine.cli.specs import Spec, once, split
from engine.config import AUTO, label, parse_method
from engine.errors import ConfigError
from engine.lab import Lab
from engine.methods import get_card
from engine.model.devices import described
from engine.tasks import FAMILIES

CHAINS, STEPS = (3, 5, 7, 10, 16, 31), (4, 7, 9, 16, 31, 63)  # lengths of chains of a draft model, and of an MTP head
BLOCKS = (4, 7, 10, 15)  # draft tokens of a DFlash drafter's blocks
TREES = ((8, 3), (12, 3), (16, 5), (16, 9), (24, 7), (60, 7))  # nodes with the root, levels after the first
SPINES = ((6, 5), (10, 9), (16, 15), (24, 23))  # the same of trees without branches
GRID = (
    *(f"sd:gamma={n}" for n in (*CHAINS, AUTO)),
    *(f"mtp:gamma={n}" for n in (*STEPS, AUTO)),
    *(f"dflash:gamma={n}" for n in (*BLOCKS, AUTO)),
    *(f"eagle3:total_token={n}:depth={depth}" for n, depth in (*TREES, (AUTO, AUTO))),
    *(f"eagle3:total_token={n}:depth={depth}:tree_top_k=1" for n, depth in SPINES),
)
KEPT = ", kept"  # behind the name of a method that lives through a task's prompts
LEAST = 0.97  # of the best fixed setting's speed, in the median of the repetitions


@dataclass(frozen=True)
class Choice:
    """How one method does with settings of the device's choice on one task: tokens per second over those of the best
    fixed setting, and over `ar`'s."""

    method: str
    auto: str
    best: str
    over_best: Spread
    over_ar: Spread


def bench_auto(args: argparse.Namespace) -> int:
    """Run the settings on each task, and print or write what was measured.

    Raises:
        ConfigError: prompts of a file, methods that name no setting of the device's choice or no other, or that the
            pair cannot run.
    """
    if args.prompts or args.prompt:
        raise ConfigError("--auto compares on tasks: name one with --task, or none for " + ", ".join(FAMILIES) + ".")
    specs = [parse_method(part) for part in (split(args.methods) if args.methods else GRID)]
    once(specs)
    for name, knobs in specs:
        get_card(name).resolve(knobs)
    lab = load_lab(args)
    if not args.methods:
        can = {card.name for card in lab.methods()}
        specs = [spec for spec in specs if spec[0] in can]
    _pairs(specs)  # before anything is measured
    tasks, found = (args.task,) if args.task else FAMILIES, dict[str, Any]()
    for task in tasks:
        args.task = task
        ids = [lab.target.tokenizer.encode(one.text, args.chat) for one in prompts(args)]
        times = _contest(lab, specs, ids, args)
        found[task] = {
            "prompts": len(ids),
            "tokens_per_s": {name: vars(times.speed(name)) for name in times.names},
            "auto": [_told(choice) for choice in choices(times, specs)],
        }
    result = {
        "device": described(lab.target.device),
        "dtype": lab.target.dtype,
        "threads": torch.get_num_threads(),
        "target": lab.target.describe(),
        "max_new_tokens": args.max_new_tokens,
        "repetitions": args.repetitions,
        "costs": {key[0]: costs.to_json() for key, costs in lab.measured.items()},
        "tasks": found,
    }
    tell(args, result, _text)
    return 0


def _contest(lab: Lab, specs: Sequence[Spec], ids: Sequence[Sequence[int]], args: argparse.Namespace) -> Times:
    n = args.max_new_tokens
    contenders = {label((name, knobs)): ours(lab, name, n, **knobs) for name, knobs in [("ar", {}), *specs]}
    for name, auto, _ in _pairs(specs):
        contenders[auto + KEPT] = kept(lab, name, ids[0], n, **parse_method(auto)[1])
    turns = args.repetitions
    return contest(contenders, ids, turns, lambda it: track(it, args.task, turns, quiet=args.json))


def choices(times: Times, specs: Sequence[Spec]) -> list[Choice]:
    """Each setting of the device's choice against the fastest fixed one of its method.

    Raises:
        ConfigError: see `bench_auto`.
    """
    return [
        Choice(name, chosen, best, times.ratio(chosen, best), times.ratio(chosen, "ar"))
        for name, auto, fixed in _pairs(specs)
        for best in [max(fixed, key=lambda one: times.speed(one).median)]
        for chosen in (auto, auto + KEPT)
    ]


def _pairs(specs: Sequence[Spec]) -> list[tuple[str, str, list[str]]]:
    """Method, setting of the device's choice, fixed settings."""
    found = list[tuple[str, str, list[str]]]()
    for name, knobs in specs:
        if AUTO not in knobs.values():
            continue
        fixed = [label(other) for other in specs if other[0] == name and AUTO not in other[1].values()]
        if not fixed:
            raise ConfigError(f"{label((name, knobs))} needs fixed settings to be set against, such as {name} itself.")
        found.append((name, label((name, knobs)), fixed))
    if not found:
        raise ConfigError(f"--auto needs a setting that is left to the device, such as sd:gamma={AUTO}.")
    return found


def _told(choice: Choice) -> dict[str, Any]:
    return vars(choice) | {"over_best": vars(choice.over_best), "over_ar": vars(choice.over_ar)}


def _text(result: dict[str, Any]) -> str:
    used = count(result["threads"], "thread")
    lines = [f"on {result['device']} with {used}, at most {result['max_new_tokens']} tokens a text"]
    for task, found in result["tasks"].items():
        lines += ["", f"{task}, {count(found['prompts'], 'prompt')}: tokens per second"]
        lines += [f"  {name:45} {row['median']:8.1f}" for name, row in found["tokens_per_s"].items()]
        for row in found["auto"]:
            best, ar = (Spread(**row[key]) for key in ("over_best", "over_ar"))
            lines.append(f"  {row['auto']}: {best} of {row['best']}, {ar} of ar")
    return "\n".join(lines)
