"""`unpack`: a GGUF file, as llama.cpp and its kin run it, as a folder that loads here."""

import argparse
from pathlib import Path
from typing import Any

from engine.model.devices import DTYPES
from engine.model.ggufs import unpack


def add_parser(subparsers: Any) -> None:
    """Register the command."""
    parser = subparsers.add_parser("unpack")
    parser.add_argument("file", type=Path, metavar="FILE.gguf", help="a whole file; parts of one are joined before")
    parser.add_argument("--out", type=Path, required=True, metavar="FOLDER", help="where the model is written")
    parser.add_argument(
        "--dtype",
        default="auto",
        choices=("auto", *DTYPES),
        help="of the weights that are written (default: what the file has them in, float16 for blocks)",
    )
    parser.set_defaults(handler=handle)


def handle(args: argparse.Namespace) -> int:
    """Write the folder, and print what the file held and how the model is loaded."""
    found, dtype = unpack(args.file, args.out, args.dtype)
    print(
        f"{args.file.name}: {found.architecture}, {found.size / 1e6:.1f} M weights ({found.told()}), as {dtype}\n"
        f"--target {args.out}"
    )
    return 0
