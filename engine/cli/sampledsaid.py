"""What a bench recorded of sampled runs, as text: `docs/results/README.md` has the table, README.md a sentence."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from engine.cli.benchtable import SAID, ranged, table
from engine.files.places import ROOT

SAMPLED = ROOT / "docs" / "results" / "sampled.json"
USUAL = {"threads": 2, "sampling": {"temperature": 0.7, "top_p": 0.95}, "prompts": 8, "max_new_tokens": 96}
TIMES = 5  # repetitions
SHOWN = ("sd", "sd:gamma=auto", "mtp", "dflash", "eagle3:total_token=auto:depth=auto", "stand")  # in README.md


def command(found: Mapping[str, Any], times: int, name: str) -> str:
    """What records such a bench, so many times, in a file of docs/results."""
    drawn = " ".join(f"--{key.replace('_', '-')} {value:g}" for key, value in found["sampling"].items() if value)
    size = f"--items {found['prompts']} --repetitions {times} --max-new-tokens {found['max_new_tokens']}"
    return (
        f"python -m engine bench --threads {found['threads']} {drawn} {size} --no-busy --no-lookups --json "
        f"> docs/results/{name}"
    )


UNDRAWN = f"Not measured yet: run `{command(USUAL, TIMES, SAMPLED.name)}`.\n"


def sampled(path: Path) -> str:
    """A recorded bench of sampled runs, whole."""
    found = json.loads(path.read_text(encoding="utf-8"))
    times = found["tokens_per_s"]["ar"]["n"]
    beside = ", ".join(
        f"{a} / {b} {ranged(found['ratios'][name])}"
        for name in found["ratios"]
        for a, b in [name.split(" / ")]
        if b.startswith("hf ")
    )
    lines = [
        f"Recorded by `{command(found, times, path.name)}`: {found['dtype']} on {found['device']}, threads: "
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
    times = (f"`{name}` {ranged(found['ratios'][f'{name} / ar'])}" for name in SHOWN if name in found["counts"])
    sampling = found["sampling"]
    return (
        f"At temperature {sampling['temperature']:g} and top-p {sampling['top_p']:g} on {found['device']}, times the "
        f"tokens per second of `ar` ({found['tokens_per_s']['ar']['median']:.0f}): {', '.join(times)}. All "
        f"{len(found['counts'])} methods and settings, and the command: "
        "[docs/results](docs/results/README.md#speed-of-sampled-runs).\n"
    )
