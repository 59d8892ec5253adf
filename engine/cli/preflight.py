"""`preflight`: what would become of a pair of models, before any weights are fetched or read."""

import argparse
import json
from dataclasses import asdict
from typing import Any

from engine.errors import ConfigError
from engine.runs.findings import Preflight
from engine.runs.preflight import preflight, sized

SIGNS = {"good": "+", "note": "~", "against": "-"}


def add_parser(subparsers: Any) -> None:
    """Register the command."""
    parser = subparsers.add_parser("preflight")
    parser.add_argument("target", nargs="?", default="", help="hub id or folder of the target model")
    parser.add_argument("draft", nargs="?", default="", help="hub id or folder of the draft model")
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda, cuda:0, ... (default: auto)")
    for role in ("target", "draft"):
        parser.add_argument(
            f"--{role}",
            default="",
            dest=f"named_{role}",
            metavar="MODEL",
            help=f"the {role}, as other commands name it",
        )
        parser.add_argument(f"--{role}-device", default="", metavar="DEVICE", help=f"where the {role} goes instead")
    parser.add_argument("--dtype", default="auto", help="auto, float32, bfloat16, float16, float64 (default: auto)")
    parser.add_argument(
        "--languages", default="", metavar="SOURCE:TARGET", help="for encoder-decoders of several, such as en_XX:de_DE"
    )
    parser.add_argument("--json", action="store_true", help="all findings as JSON")
    parser.set_defaults(handler=handle)


def handle(args: argparse.Namespace) -> int:
    """Print the findings; status 1 where something speaks against the pair.

    Raises:
        ConfigError: a model is named twice, or no target.
    """
    for role in ("target", "draft"):
        if getattr(args, role) and getattr(args, f"named_{role}"):
            raise ConfigError(f"The {role} is named twice: {getattr(args, role)}, and with --{role}.")
    args.target, args.draft = args.target or args.named_target, args.draft or args.named_draft
    apart = {"target_device": args.target_device, "draft_device": args.draft_device}
    found = preflight(args.target, args.draft, args.device, args.dtype, args.languages, **apart)
    print(json.dumps(asdict(found), indent=1) if args.json else "\n".join(lines(found)))
    return 0 if found.fits else 1


def lines(found: Preflight) -> list[str]:
    """The findings as text."""
    told = [
        f"{one.role:7} {one.id}: {one.type}, {one.parameters / 1e6:.1f} M parameters, {one.layers} layers of width "
        f"{one.width}, {one.context} positions, {sized(one.weights)} as {one.dtype}"
        for one in found.models
    ]
    told += [f"{SIGNS[one.verdict]} {one.about}: {one.words}" for one in found.findings]
    if found.download:
        told.append(f"~ download: {sized(found.download)} are still to be fetched")
    if found.methods:
        told.append(f"methods: {', '.join(one.name for one in found.methods if not one.against)}")
        told += [f"~ {one.name}: {one.here}" for one in found.methods if one.here]
        told += [f"- {one.name}: {one.against}" for one in found.methods if one.against]
    told.append("fits" if found.fits else "does not fit")
    return told
