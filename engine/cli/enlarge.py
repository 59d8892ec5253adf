"""`enlarge`: a pair of a real model's size that writes what the embedded one writes, to measure speeds by."""

import argparse
import shutil
import sys
from pathlib import Path
from typing import Any

from engine.bench.enlarged import BIG, HEADS, MIDDLE, Size, bytes_of, enlarge, enlarge_head
from engine.errors import ConfigError
from engine.files.places import locate
from engine.files.presets import get_preset
from engine.files.written import ready_folder

HEADS_SHARE = 0.35  # of the models' bytes, that their heads take besides


def add_parser(subparsers: Any) -> None:
    """Register the command."""
    parser = subparsers.add_parser("enlarge")
    parser.add_argument("out", type=Path, metavar="FOLDER", help="where target, draft and heads are written")
    parser.add_argument("--preset", default="tiny", help="the pair that is enlarged (default: tiny)")
    for role, size, what in (("target", BIG, "as an 8B Llama"), ("draft", MIDDLE, "a third of a billion")):
        default = f"{size.width},{size.layers},{size.inner}"
        parser.add_argument(
            f"--{role}",
            type=_size,
            default=size,
            metavar="W,L,N",
            help=f"width, layers and neurons of the {role} (default: {default}, {what})",
        )
    parser.set_defaults(handler=handle)


def handle(args: argparse.Namespace) -> int:
    """Enlarge all that the preset has, and print how the pair is loaded."""
    preset = get_preset(args.preset)
    if preset.kind != "pair" or "draft" not in preset.models:
        raise ConfigError(f"{args.preset} is no pair of a target and a draft.")
    out = ready_folder(args.out)
    if out.exists() and any(out.iterdir()):
        raise ConfigError(f"{out} is not empty: name a new folder.")
    target, sizes = Path(locate(preset.models["target"])), {"target": args.target, "draft": args.draft}
    needed = sum(bytes_of(Path(locate(preset.models[role])), size) for role, size in sizes.items()) * (1 + HEADS_SHARE)
    out.mkdir(parents=True, exist_ok=True)
    if (free := shutil.disk_usage(out).free) < needed:
        raise ConfigError(f"About {needed / 1e9:.1f} GB are needed in {out}, and {free / 1e9:.1f} GB are free.")
    print(f"about {needed / 1e9:.1f} GB will be written in {out}", file=sys.stderr)
    for role, size in sizes.items():
        print(f"{role}: width {size.width}, {size.layers} layers, {size.inner} neurons", file=sys.stderr)
        enlarge(Path(locate(preset.models[role])), out / role, size)
    heads = [role for role in HEADS if role in preset.assets]
    for role in heads:
        enlarge_head(Path(locate(preset.assets[role])), out / role, target, args.target)
    print(f"--target {out / 'target'} --draft {out / 'draft'}", *(f"--asset {role}={out / role}" for role in heads))
    return 0


def _size(text: str) -> Size:
    try:
        return Size.parse(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"three whole numbers such as 4096,32,14336, not {text!r}") from None
