"""How well the embedded non-autoregressive systems write, on problems that training never saw."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from typing import Any

import torch

from engine.errors import ConfigError
from engine.model import Model, load_model
from engine.nat.files import SYSTEMS, load_nat
from engine.nat.system import System
from engine.tasks import load_problems
from engine.training import card
from engine.training.checkpoints import read_words
from engine.training.distilled import FAMILY
from engine.training.evaluate import EVAL_SEED
from engine.training.options import here, say, say_meanwhile
from engine.training.requirements import check_nat
from engine.training.sourcecommands import ASSETS, LONGEST, greedy, load, quality

SETTINGS: dict[str, tuple[dict[str, Any], ...]] = {  # knobs that are measured; of other kinds the defaults
    "cmlm": ({"iterations": 1}, {"iterations": 4}, {"iterations": 10}),
    "rewrite_nat": ({"iterations": 1}, {"iterations": 10}),
    "dat": ({"decoding": "greedy"}, {"decoding": "lookahead"}),
}
Row = dict[str, float]


def evaluate(options: argparse.Namespace) -> None:
    """BLEU, chrF and exact texts of each system and setting, with the target's own beside; printed as JSON.

    Raises:
        ConfigError: two systems of one kind, or a card that cannot be written.
    """
    family = here(ASSETS)
    asked = options.systems or [ASSETS / kind for kind in SYSTEMS if (family / kind).is_dir()]
    if options.cards:
        card.ready_for_cards(asked, "without --cards")
    torch.set_num_threads(options.threads)
    folder = here(options.target)
    words = read_words(folder)
    problems = load_problems(FAMILY, "heldout", options.items, EVAL_SEED)
    sources = [words(problem.prompt).input_ids for problem in problems]
    target = load_model(folder, "cpu", "float32")
    systems = [load_nat(here(one), target) for one in asked]
    if len({system.kind for system in systems}) < len(systems):
        raise ConfigError("Several of these systems are of one kind, which names their results: measure one at a time.")
    wanted, own = [problem.answer for problem in problems], greedy(load(folder), sources)

    def judged(written: list[list[int]]) -> Row:
        texts = [words.decode(ids, skip_special_tokens=True) for ids in written]
        return quality(FAMILY, texts, wanted) | likeness(written, own)

    found: dict[str, dict[str, Row]] = {"target": {"greedy": judged(own)}}
    for system in systems:
        found[system.kind] = rows = dict[str, Row]()
        for knobs in SETTINGS.get(system.kind, ({},)):
            written, iterations = texts_of(system, sources, knobs)
            rows[named(knobs)] = judged(written) | {"iterations": iterations}
            say_meanwhile(f"{system.kind} {named(knobs)}: BLEU {rows[named(knobs)]['bleu']:.2f}")
    if options.cards:
        _write_cards(options, {s.kind: folder for s, folder in zip(systems, asked, strict=True)}, target, found)
    say(json.dumps(found, indent=1))


def texts_of(system: System, sources: list[list[int]], knobs: Mapping[str, Any]) -> tuple[list[list[int]], float]:
    """What a system writes of each source, and its mean number of iterations."""
    texts, iterations = list[list[int]](), list[int]()
    for source in sources:
        canvases = list(system.write(source, LONGEST, **knobs))
        texts.append(canvases[-1].tokens)
        iterations.append(len(canvases))
    return texts, fmean(iterations)


def likeness(written: list[list[int]], own: list[list[int]]) -> Row:
    """Beside the target's own texts: the share that are the same, the share as long, and the share of all tokens that
    repeat the one before."""
    pairs = list(zip(written, own, strict=True))
    repeats = sum(a == b for text in written for a, b in pairwise(text))
    return {
        "same": fmean(a == b for a, b in pairs),
        "as_long": fmean(len(a) == len(b) for a, b in pairs),
        "repeats": repeats / max(sum(map(len, written)), 1),
    }


def named(knobs: Mapping[str, Any]) -> str:
    """A setting in a word."""
    return ", ".join(f"{name} {value}" for name, value in knobs.items()) or "as it is"


def _write_cards(
    options: argparse.Namespace, folders: Mapping[str, Path], target: Model, found: Mapping[str, dict[str, Row]]
) -> None:
    """A card for each system; SHA256SUMS over all models beside the target's is renewed."""
    for kind, folder in folders.items():
        command = f"python -m engine.training nat-eval --items {options.items} --systems {ASSETS / folder.name} --cards"
        columns = {"target, " + name: row for name, row in found["target"].items()} | found[kind]
        own = found["target"]["greedy"]["bleu"]
        checks = check_nat(own, {name: row["bleu"] for name, row in found[kind].items()})
        card.write(folder, kind, {"items": options.items, "checks": checks, "model": columns}, command)
    card.renew_sums(options.target.parent)
