"""What a bench recorded of sampled runs, as text: `docs/results/README.md` has the table, README.md a sentence."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from engine.cli.benchtable import SAID, table
from engine.files.places import ROOT

SAMPLED = ROOT / "docs" / "results" / "sampled.json"
ASKED = "bench --threads 2 --temperature 0.7 --top-p 0.95 --no-busy --no-lookups --json"  # by whoever records it
UNDRAWN = f"Not measured yet: run `python -m engine {ASKED} > docs/results/{SAMPLED.name}`.\n"
SHOWN = ("sd", "sd:gamma=auto", "mtp", "dflash", "eagle3:total_token=auto:depth=auto", "stand")  # in README.md


def sampled(path: Path) -> str:
    """A recorded bench of sampled runs, whole."""
    found = json.loads(path.read_text(encoding="utf-8"))
    beside = ", ".join(
        f"{a} / {b} {_range(found['ratios'][name])}"
        for name in found["ratios"]
        for a, b in [name.split(" / ")]
        if b.startswith("hf ")
    )
    lines = [
        f"Recorded by `{_command(found)} > docs/results/{path.name}`: {found['dtype']} on {found['device']}, threads: "
        f"{found['threads']}, {found['prompts']} held-out {found['task']} prompts, interleaved in one process; median "
        "of the repetitions with the smallest and largest. Each method draws its own text, the same in every "
        "repetition, so that numbers of tokens and calls differ by what was drawn, too. Nothing was set out to be "
        "reached.",
        "",
        SAID,
        "",
        *table(found),
        "",
        f"Beside transformers: {beside}.",
    ]
    return "\n".join(lines) + "\n"


def sampled_said(paths: Sequence[Path]) -> str:
    """The recorded benches of sampled runs in short, a sentence a machine."""
    return "".join(map(_said, paths)) or UNDRAWN


def _said(path: Path) -> str:
    found = json.loads(path.read_text(encoding="utf-8"))
    times = (f"`{name}` {_range(found['ratios'][f'{name} / ar'])}" for name in SHOWN if name in found["counts"])
    sampling = found["sampling"]
    return (
        f"At temperature {sampling['temperature']:g} and top-p {sampling['top_p']:g} on {found['device']}, times the "
        f"tokens per second of `ar` ({found['tokens_per_s']['ar']['median']:.0f}): {', '.join(times)}. All "
        f"{len(found['counts'])} methods and settings, and the command: "
        "[docs/results](docs/results/README.md#speed-of-sampled-runs).\n"
    )


def _command(found: dict[str, Any]) -> str:
    """What records it again, where nothing but the sampling and the threads was asked for."""
    drawn = " ".join(f"--{name.replace('_', '-')} {value:g}" for name, value in found["sampling"].items() if value)
    return f"python -m engine bench --threads {found['threads']} {drawn} --no-busy --no-lookups --json"


def _range(spread: dict[str, float]) -> str:
    return f"{spread['median']:.2f} ({spread['low']:.2f} to {spread['high']:.2f})"
