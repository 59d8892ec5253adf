"""`schema`: the trace format as JSON Schema, as it stands in docs/trace.schema.json."""

import argparse
import json
from typing import Any

from engine.trace.schema import schema


def add_parser(subparsers: Any) -> None:
    """Register the command."""
    subparsers.add_parser("schema").set_defaults(handler=handle)


def handle(_args: argparse.Namespace) -> int:
    """Print it."""
    print(text(), end="")
    return 0


def text() -> str:
    """The file as it is published."""
    return json.dumps(schema(), indent=1, ensure_ascii=False) + "\n"
