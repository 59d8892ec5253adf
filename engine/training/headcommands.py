"""The commands about heads: features, head, head-eval, strata."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save as packed

from engine.errors import AssetError, ConfigError, ModelMismatch, unknown
from engine.files.places import a_file
from engine.files.written import write
from engine.kinds import ABOVE, COUNT, PORTION, TO_FOLDER
from engine.model import load_model
from engine.model.devices import pick_device
from engine.training import features
from engine.training.asked import Asked, add_asked
from engine.training.budget import unused
from engine.training.card import TRAINING, ready_for_cards, renew_sums
from engine.training.headeval import ITEMS, TITLES, evaluate, write_card
from engine.training.headloop import CHECKPOINT, HeadSettings, HeadTrainer, read_head
from engine.training.heads import TrainingContext
from engine.training.options import ASSETS, here, say, say_where
from engine.training.recipes import RECIPES

SOURCED_KINDS = ("medusa", "blockwise")  # heads of an encoder-decoder's decoder


def register(add: Any) -> None:
    """Add the subcommands to the parser of `python -m engine.training`."""
    cache = add("features", make_features, "compute the target's hidden states on training texts, for all heads")
    cache.add_argument("--texts", type=COUNT, help=f"texts in all; {features.TEXTS}, or all of --prompts, if not given")
    cache.add_argument(
        "--greedy",
        type=PORTION,
        help="share that the target writes itself, greedily; 0.5, or 1 of --prompts, if not given",
    )
    head = add("head", train_head, "train a head on cached features; checkpoint and export every two minutes")
    head.add_argument("kind", choices=tuple(RECIPES), help="which head")
    mtp = add("mtp", train_head, "train a multi-token prediction head: head mtp")
    mtp.set_defaults(kind="mtp")
    for sub in (head, mtp):
        _budget(sub)
    judge = add("head-eval", judge_heads, "measure heads on held-out problems, greedy, and write their cards")
    judge.add_argument(
        "kinds",
        nargs="*",
        type=_kind,
        metavar="KIND",
        help=f"of {', '.join(RECIPES)}; all that are there if none is given",
    )
    judge.add_argument(
        "--items", type=COUNT, help=f"held-out problems a family; {ITEMS}, or all of --prompts, if not given"
    )
    judge.add_argument("--no-cards", action="store_true", help="only print; write nothing")
    judge.add_argument("--folder", type=Path, default=ASSETS, help="folder of the heads")
    add_asked(cache, "to learn from")
    add_asked(judge, "to measure on, which no head has learned from")
    for sub, place in ((cache, TO_FOLDER), (head, Path), (mtp, Path)):
        sub.add_argument("--features", type=place, default=Path("build/features"), help="folder of the cache")
        sub.add_argument("--seed", type=int, default=0, help="seed of texts and weights")
        sub.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu", help="cpu or cuda")
    for sub in (cache, head, mtp, judge):
        sub.add_argument("--target", type=Path, default=ASSETS / "target", help="folder")


def _kind(name: str) -> str:
    if name not in RECIPES:
        raise argparse.ArgumentTypeError(unknown("kind of head", name, RECIPES))
    return name


def _budget(head: argparse.ArgumentParser) -> None:
    """How long and how fast a head is trained, and where it is kept."""
    head.add_argument("--minutes", type=ABOVE, default=12.0, help="wall-clock budget, minutes")
    head.add_argument("--steps", type=COUNT, help="budget in steps, instead of minutes")
    head.add_argument("--rows", type=COUNT, default=8, help="texts a step")
    head.add_argument("--heads", type=COUNT, default=4, help="heads of Medusa, blockwise or Hydra")
    head.add_argument("--bottleneck", type=COUNT, default=64, help="how wide a blockwise head's step is inside")
    head.add_argument("--matrix-lr", type=ABOVE, default=0.01, help="peak learning rate of Muon")
    head.add_argument("--other-lr", type=ABOVE, default=0.002, help="peak learning rate of AdamW")
    head.add_argument("--resume", action="store_true", help="go on from the checkpoint in --work")
    head.add_argument("--start-from", type=Path, help="folder of another run's checkpoint to take first weights from")
    head.add_argument("--work", type=TO_FOLDER, help="folder of the checkpoint; build/KIND if not given")
    head.add_argument("--out", type=TO_FOLDER, help="folder of the export; KIND beside the target's if not given")


def make_features(options: argparse.Namespace) -> None:
    """Write the cache.

    Raises:
        ConfigError: options that do not go together. See `features.build`.
    """
    asked = Asked.of(options)
    greedy = options.greedy if options.greedy is not None else 1.0 if asked else 0.5
    torch.set_num_threads(options.threads)
    target, device = here(options.target), options.device
    features.build(target, options.features, options.texts, greedy, options.seed, say, device, asked)


def _beside(target: Path) -> Path:
    """The folder of a target's folder, as it is named: in the working folder, even of a target of this repository."""
    if not here(target).is_dir():
        raise ConfigError(
            a_file(str(here(target))) or f"Say with --out where the export goes: {target} is no folder here."
        )
    return target.parent


def train_head(options: argparse.Namespace) -> None:
    """Train to the end of the budget.

    Raises:
        ConfigError: a run from the start finds the checkpoint of another, or a target of the hub and no folder for the
            export. ModelMismatch: the features are another target's, or heads of this kind cannot be its.
    """
    target = here(options.target)
    work, out = options.work or Path("build") / options.kind, options.out or _beside(options.target) / options.kind
    if not options.resume:
        unused(work / CHECKPOINT)
    say_where(checkpoint=work, export=out)
    torch.set_num_threads(options.threads)
    model = load_model(target, device=options.device, dtype="float32")
    cache = features.Features(options.features)
    if cache.card["target"] != model.revision:
        raise ModelMismatch(
            "The features were computed with another target: run `python -m engine.training features` again."
        )
    if model.seam and options.kind not in SOURCED_KINDS:
        raise ModelMismatch(
            f"{model.name} is an encoder-decoder, for which {' and '.join(SOURCED_KINDS)} heads are trained: others "
            "read states or layers that it does not have."
        )
    device = str(pick_device(options.device))
    settings = HeadSettings(
        options.kind,
        minutes=options.minutes,
        steps=options.steps,
        seed=options.seed,
        rows=options.rows,
        matrix_lr=options.matrix_lr,
        other_lr=options.other_lr,
        heads=options.heads,
        bottleneck=options.bottleneck,
        target="" if options.target == ASSETS / "target" else str(options.target),
    )
    context = TrainingContext(model, cache, options.seed, device, options.heads, options.bottleneck)
    trainer = HeadTrainer(settings, context)
    if options.resume:
        trainer.load(read_head(work))
    elif options.start_from:
        trainer.start_from(read_head(options.start_from))

    def save() -> None:
        trainer.save(work)
        export(trainer, out)

    trainer.run(say, save)
    say(trainer.line())


def export(trainer: HeadTrainer, folder: Path) -> None:
    """Write the head as a checkpoint of the published layout, in bf16, with its training record."""
    folder.mkdir(parents=True, exist_ok=True)
    weights = {n: p.detach().to(torch.bfloat16).contiguous() for n, p in trainer.params.items()}
    weights |= {n: t.to(torch.bfloat16) if t.is_floating_point() else t for n, t in trainer.recipe.frozen.items()}
    write(folder / "model.safetensors", packed({n: t.cpu().contiguous() for n, t in weights.items()}))
    write(folder / "config.json", (json.dumps(trainer.recipe.config, indent=1) + "\n").encode())
    write(folder / TRAINING, (json.dumps(_record(trainer), indent=1) + "\n").encode())


def _record(trainer: HeadTrainer) -> dict[str, Any]:
    """Every leg in order, its two commands; of every run how far it came, and which weights of the target its features
    came from."""
    s = trainer.settings
    now = {"settings": asdict(s), "progress": asdict(trainer.progress), "features": trainer.context.features.card}
    legs = [*trainer.legs, now]
    return {
        "commands": [line for before, leg in zip([None, *legs], legs, strict=False) for line in _commands(leg, before)],
        "legs": [{"target": leg["features"]["target"], **leg["progress"]} for leg in legs if not leg.get("resumed")],
        "settings": asdict(s),
        "progress": asdict(trainer.progress),
        "last": trainer.numbers,
        "target": trainer.context.features.card["target"],
        "prompts": [leg["features"]["digest"] for leg in legs if "digest" in leg["features"]],
        "parameters": sum(p.numel() for p in trainer.params.values()),
        "device": trainer.context.device,
        "versions": {name: version(name) for name in ("torch", "transformers", "safetensors")},
    }


def _commands(leg: dict[str, Any], before: dict[str, Any] | None) -> list[str]:
    s, card = leg["settings"], leg["features"]
    target = f" --target {s['target']}" if s.get("target") else ""
    shape = f" --heads {s['heads']}" if s["kind"] in ("medusa", "blockwise", "hydra") else ""
    shape += f" --bottleneck {s['bottleneck']}" if s["kind"] == "blockwise" else ""
    how = " --start-from build/before" if before else ""
    if before and before.get("resumed"):
        how = f" --resume (at step {before['progress']['step']:,})"
    budget = f"--steps {s['steps']}" if s["steps"] else f"--minutes {s['minutes']:g}"
    rates = f"--matrix-lr {s['matrix_lr']:g} --other-lr {s['other_lr']:g} --seed {s['seed']}"
    asked = Asked.of_card(card)
    return [
        f"python -m engine.training features --texts {card['texts']} --greedy {card['greedy']:g} --seed {card['seed']}"
        + target
        + (asked.told() if asked else ""),
        f"python -m engine.training head {s['kind']} {budget} --rows {s['rows']} {rates}{shape}{target}{how}",
    ]


def judge_heads(options: argparse.Namespace) -> None:
    """Measure heads, write card.json and README.md, and renew SHA256SUMS.

    Raises:
        AssetError: there is none. ConfigError: one whose card cannot be written.
    """
    torch.set_num_threads(options.threads)
    target, folder = here(options.target), here(options.folder)
    kinds = options.kinds or [k for k in RECIPES if (folder / k / "model.safetensors").exists()]
    if not kinds:
        raise AssetError(f"There is no head in {options.folder}: of {', '.join(RECIPES)} each has a folder there.")
    if not options.no_cards:
        ready_for_cards((options.folder / kind for kind in kinds), "with --no-cards")
    asked = Asked.of(options)
    items = options.items or (None if asked else ITEMS)
    where = "" if options.target == ASSETS / "target" else f" --target {options.target} --folder {options.folder}"
    where = (f" --items {items}" if items else "") + where
    where += asked.told() if asked else ""
    for kind in kinds:
        found = evaluate(kind, target, folder / kind, items, asked)
        for family, row in found.items():
            say(f"{kind:10s}{family:12s}" + "  ".join(f"{n} {v:.3f}" for n, v in row.items()))
        if not options.no_cards:
            write_card(
                folder / kind,
                TITLES[kind],
                found,
                f"python -m engine.training head-eval {kind}{where}",
                asked,
            )
    if not options.no_cards:
        renew_sums(folder)
        say_where(cards=folder)
