"""What `bench --auto` recorded, as text: settings left to the device beside the best fixed ones."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from engine.cli.autobench import KEPT, LEAST
from engine.files.places import ROOT

AUTO = ROOT / "docs" / "results" / "auto.json"
UNLEFT = "Not measured yet: run `python -m engine bench --auto`.\n"


def left(path: Path) -> str:
    """The last recorded comparison of settings left to the device with fixed ones."""
    if not path.is_file():
        return UNLEFT
    found = json.loads(path.read_text(encoding="utf-8"))
    lines = [
        f"Recorded by `{_auto(found, path)}`: {found['dtype']} on {found['device']}, threads: {found['threads']}, "
        f"held-out prompts, greedy, {found['repetitions']} interleaved repetitions of each task; median with the "
        "smallest and largest. A method that is kept lives through a task's prompts (`Lab.living`) and begins each "
        "with what those before it taught; else nothing is known of a text when it begins.",
        "",
        "| left to the device | task | times `ar` | best fixed setting | times that | set out to reach |",
        "| --- | --- | --: | --- | --- | --- |",
    ]
    for task, part in found["tasks"].items():
        for row in part["auto"]:
            best, ar = row["over_best"], row["over_ar"]
            reached = "reached" if best["median"] >= LEAST else "**missed**"
            lines.append(
                f"| {_kept(row['auto'])} | {task} | {ar['median']:.2f} | `{row['best']}` | {best['median']:.2f} "
                f"({best['low']:.2f} to {best['high']:.2f}) | at least {LEAST:g}: {reached} |"
            )
    return "\n".join(lines) + "\n"


def _auto(found: dict[str, Any], path: Path) -> str:
    """The command that recorded it."""
    items = max(part["prompts"] for part in found["tasks"].values())
    asked = f"--auto --threads {found['threads']} --items {items} --repetitions {found['repetitions']} --json"
    return f"python -m engine bench {asked} > docs/results/{path.name}"


def _kept(name: str) -> str:
    """The setting as code, and whether its method was kept in words."""
    return f"`{name.removesuffix(KEPT)}`" + (KEPT if name.endswith(KEPT) else "")


def left_said(paths: Sequence[Path]) -> str:
    """Settings left to the device in a few sentences, a paragraph a machine."""
    if not paths:
        return UNLEFT
    return (
        "\n".join(map(_left_said, paths))
        + "\nThe tables are in [docs/results](docs/results/README.md#settings-left-to-the-device).\n"
    )


def _left_said(path: Path) -> str:
    found = json.loads(path.read_text(encoding="utf-8"))
    rows = [(task, row) for task, part in found["tasks"].items() for row in part["auto"]]
    first, costs = next(iter(found["tasks"])), found["costs"]["model"]
    fast = [
        f"{_kept(row['auto'])} {row['over_ar']['median']:.2f}"
        for task, row in rows
        if task == first and not row["auto"].endswith(KEPT)
    ]
    missed = [
        f"{_kept(row['auto']).replace(KEPT, ' (kept)')} on {task} ({row['over_best']['median']:.3f} of `{row['best']}`)"
        for task, row in rows
        if row["over_best"]["median"] < LEAST
    ]
    return (
        f"Recorded by `{_auto(found, path)}` on {found['device']}: on {first}, times the tokens per second of `ar`, "
        f"{', '.join(fast)}. Set out to be at least {LEAST:g} times as fast as the best of the fixed settings that "
        f"were tried: {len(rows) - len(missed)} of {len(rows)} reached it"
        + (f"; **missed** by {', '.join(missed)}" if missed else "")
        + f". {_passes_said(costs['passes'], costs['step'])}\n"
    )


def _passes_said(passes: Sequence[tuple[int, float]], step: float) -> str:
    ms = dict(passes)
    return (
        f"There a pass over one token takes {ms[1]:.1f} ms, one over six {ms[6]:.1f}, and a token of the draft model "
        f"{step:.2f}."
    )
