"""The command that learns HeteroSpec's bins, from saved traces or from fresh runs of any preset."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

from engine.analysis.grouping import by_target, one_target
from engine.analysis.heterospec import samples
from engine.analysis.reading import read_file
from engine.errors import ConfigError
from engine.kinds import COUNT, TO_FOLDER
from engine.lab import Lab
from engine.strata.bins import Strata
from engine.strata.learning import granularity, stratify
from engine.tasks import FAMILIES, load_problems
from engine.trace.store import Trace
from engine.training.headeval import runs_of

OUT = Path("assets/tiny/strata")
PRESET, TOKENS = "tiny", 160  # of fresh runs


def register(add: Any) -> None:
    """Add the subcommand."""
    sub = add("strata", learn, "learn HeteroSpec's entropy bins from traces (a regression tree)")
    sub.add_argument(
        "--traces", type=Path, nargs="+", help="saved full traces of eagle3, or any of heterospec; without, fresh runs"
    )
    sub.add_argument("--preset", default=PRESET, help="models of the fresh runs")
    sub.add_argument("--eagle3", help="head of the fresh runs, instead of the preset's")
    sub.add_argument("--tasks", nargs="+", choices=FAMILIES, default=list(FAMILIES), help="families of the fresh runs")
    sub.add_argument("--items", type=COUNT, default=60, help="training problems a family for the fresh runs")
    sub.add_argument("--max-new-tokens", type=COUNT, default=TOKENS, help="tokens a fresh run")
    sub.add_argument("--layers", type=COUNT, default=3, help="depth of the tree")
    sub.add_argument(
        "--criterion", choices=("cart", "paper_eq2"), default="cart", help="what a split minimises (register H5)"
    )
    sub.add_argument(
        "--train-filter", choices=("full", "all"), default="full", help="rounds to learn from (register H6)"
    )
    sub.add_argument(
        "--meta-path",
        choices=("local", "cumulative"),
        default="local",
        help="which path's entropy the runs sum (register H7)",
    )
    sub.add_argument("--min-leaf", type=COUNT, default=10, help="fewest rounds in a bin")
    sub.add_argument("--beside", action="store_true", help="write strata-PATH.json beside the folder's strata.json")
    sub.add_argument("--out", type=TO_FOLDER, default=OUT, help="folder of strata.json")


def learn(options: argparse.Namespace) -> None:
    """Write strata.json and print the bins and the granularity study.

    Raises:
        ConfigError: too few rounds, or runs of several targets, or along another meta-path. EngineFault: a run failed.
    """
    torch.set_num_threads(options.threads)
    traces = [run for path in options.traces for run in read_file(path)] if options.traces else fresh(options)
    one_target({target: len(runs) for target, runs in by_target(traces).items()}, "learn from those of one")
    paths = {str(trace.head.knobs.get("meta_path", "local")) for trace in traces} - {"learnt", options.meta_path}
    if paths:
        raise ConfigError(f"Some runs sum the entropy of the {paths.pop()} path: --meta-path says {options.meta_path}.")
    found = samples(traces)
    choices = {"criterion": options.criterion, "train_filter": options.train_filter, "min_leaf": options.min_leaf}
    command = f"python -m engine.training strata {_source(options)} --layers {options.layers} "
    command += f"--criterion {options.criterion} --train-filter {options.train_filter} "
    command += f"--meta-path {options.meta_path} --min-leaf {options.min_leaf}"
    card: dict[str, Any] = {
        "command": command,
        "target": traces[0].head.models["target"],
        "runs": len(traces),
        "greedy": all(not trace.head.sampling.get("temperature") for trace in traces),
    }
    card["meta_path"] = options.meta_path
    strata = stratify(
        found, layers=options.layers, card=card | {"granularity": granularity(found, **choices)}, **choices
    )
    options.out.mkdir(parents=True, exist_ok=True)
    strata.save(options.out / (f"strata-{options.meta_path}.json" if options.beside else "strata.json"))
    print(json.dumps({**strata.card, "thresholds": strata.thresholds}, indent=1))


def _source(options: argparse.Namespace) -> str:
    """What is learnt from, as options."""
    if options.traces:
        return " ".join(["--traces", *map(str, options.traces)])
    told = f"--items {options.items}"
    usual = {"preset": PRESET, "eagle3": None, "max_new_tokens": TOKENS}
    more = {name: getattr(options, name) for name, value in usual.items() if getattr(options, name) != value}
    told += f" --tasks {' '.join(options.tasks)}" if set(options.tasks) != set(FAMILIES) else ""
    return " ".join([told, *(f"--{name.replace('_', '-')} {value}" for name, value in more.items())])


def fresh(options: argparse.Namespace) -> list[Trace]:
    """Runs on training problems: HeteroSpec with one bin that is not low, which is EAGLE-3 with its entropies noted."""
    heads = {"eagle3": options.eagle3} if options.eagle3 else {}
    prompts = [
        p.prompt
        for family in dict.fromkeys(options.tasks)
        for p in load_problems(family, "train", options.items, seed=7)
    ]
    with TemporaryDirectory() as folder:
        one = Path(folder) / "strata.json"
        Strata(()).save(one)
        lab = Lab.load(options.preset, strata=str(one), **heads)
        told = {"max_new_tokens": options.max_new_tokens, "record": "light"}
        return runs_of(lab, "heterospec", prompts, **told, low_bins=0, meta_path=options.meta_path)
