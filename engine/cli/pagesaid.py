"""What was recorded of the page's speed, as text."""

import json
from pathlib import Path
from typing import Any

from engine.files.places import ROOT

PAGE = ROOT / "docs" / "results" / "page.json"


def page(path: Path) -> str:
    """The last recorded measurement of the page."""
    if not path.is_file():
        return "Not measured yet: run `python -m tests.browser.measure --json docs/results/page.json`.\n"
    found = json.loads(path.read_text(encoding="utf-8"))
    lines = [
        f"The page, recorded by `python -m tests.browser.measure --json docs/results/page.json`: {found['lanes']} "
        f"made-up lanes of {found['tokens']:,} tokens and more, headless Chromium without a GPU on the cores of the "
        "server.",
        "",
        "| what | measured | set out to reach |",
        "| --- | --: | --- |",
    ]
    lines += [
        f"| {what} | {value} | {goal and goal + ': ' + ('reached' if met else '**missed**')} |"
        for what, value, goal, met in _page(found)
    ]
    return "\n".join(lines) + "\n"


def _page(found: dict[str, Any]) -> list[tuple[str, str, str, bool]]:
    """What was measured, how much, the goal, whether it was reached."""
    late, warm = found["event_to_frame_ms"], found["first_paint_s"]["warm"]
    rows = [
        ("first paint, warm", f"{warm:.2f} s", "below 2 s", warm < 2),
        ("event to frame, median", f"{late['median']:.0f} ms", "", True),
        ("event to frame, 95th percentile", f"{late['p95']:.0f} ms", "at most 30 ms", late["p95"] <= 30),
        ("updates (15 are sent)", f"{found['updates_per_s']:.1f} a second", "", True),
        ("frames while streaming", f"{found['frames_per_s']:.0f} a second", "at least 50", found["frames_per_s"] >= 50),
        ("hover, script until marked", f"{found['hover']['script_ms']:.2f} ms", "", True),
        ("requests to the outside", f"{found['outside']}", "none", found["outside"] == 0),
    ]
    for score in found.get("score", ()):
        late, what = (
            score["event_to_frame_ms"],
            f"score of {score['methods']} methods x {score['positions']:,} positions",
        )
        rows += [
            (f"{what}, event to frame, 95th percentile", f"{late['p95']:.0f} ms", "at most 30 ms", late["p95"] <= 30),
            (f"{what}, frames", f"{score['frames_per_s']:.0f} a second", "at least 50", score["frames_per_s"] >= 50),
        ]
    return rows


def page_said(path: Path) -> str:
    """The page's measurements in two sentences."""
    if not path.is_file():
        return page(path)
    rows = _page(json.loads(path.read_text(encoding="utf-8")))
    goals = [row for row in rows if row[2]]
    missed = [f"{what} {value} ({goal})" for what, value, goal, met in goals if not met]
    return (
        f"The page, measured by `python -m tests.browser.measure`: {len(goals) - len(missed)} of {len(goals)} goals "
        "reached"
        + (f"; **missed**: {', '.join(missed)}" if missed else "")
        + ". All of them are in [docs/results](docs/results/README.md#the-page).\n"
    )
