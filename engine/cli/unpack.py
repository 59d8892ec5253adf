"""`unpack`: a GGUF file, as llama.cpp and its kin run it, or pickled weights, as a folder that loads here."""

import argparse
from pathlib import Path
from typing import Any

from engine.model.devices import DTYPES
from engine.model.rewritten import source_of, unpack


def add_parser(subparsers: Any) -> None:
    """Register the command."""
    parser = subparsers.add_parser("unpack")
    parser.add_argument(
        "source",
        metavar="FILE.gguf|FOLDER",
        help="a GGUF file, whole (parts of one are joined before), or a folder with pytorch_model.bin; or one of the "
        "hub, as owner/name/FILE.gguf or owner/name",
    )
    parser.add_argument("--out", type=Path, required=True, metavar="FOLDER", help="where the model is written")
    parser.add_argument(
        "--dtype",
        default="auto",
        choices=("auto", *DTYPES),
        help="of the weights that are written (default: what the file has them in, float16 for blocks)",
    )
    parser.set_defaults(handler=handle)


def handle(args: argparse.Namespace) -> int:
    """Write the folder, and print what the source held and how the model is loaded."""
    source = source_of(args.source)
    found, dtype = unpack(source, args.out, args.dtype)
    print(
        f"{source.name}: {found.architecture}, {found.size / 1e6:.1f} M weights ({found.told()}), as {dtype}\n"
        f"--target {args.out}"
    )
    return 0
