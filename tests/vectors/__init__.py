"""Conformance vectors: numbers that both the engine and the page must compute, written by the engine from recorded runs.

One module a subject with `vectors() -> JSON`; its file `tests/vectors/<subject>.json` is what pytest and the page's unit
tests (tests/static) check. `python -m tests.vectors write` writes the files anew.
"""

import importlib
import json
import pkgutil
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
DIGITS = 12


def subjects() -> list[str]:
    """The names of all subjects."""
    return sorted(m.name for m in pkgutil.iter_modules([str(FOLDER)]) if not m.name.startswith(("_", "test_")))


def compute(subject: str) -> Any:
    """The vectors of a subject, as they are now, in JSON types."""
    found = importlib.import_module(f"tests.vectors.{subject}").vectors()
    return json.loads(json.dumps(_rounded(found), allow_nan=False))


def path(subject: str) -> Path:
    """Where the vectors of a subject are kept."""
    return FOLDER / f"{subject}.json"


def _rounded(value: Any) -> Any:
    """Floats to `DIGITS` significant digits, so that the order of a sum does not change a file."""
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(item) for item in value]
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value
