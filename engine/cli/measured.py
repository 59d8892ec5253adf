"""What was measured, as tables: README.md shows a few of them, `docs/results/README.md` all of them."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from engine.cli.autobench import KEPT
from engine.cli.autobench import LEAST as LEFT
from engine.cli.benchtable import SAID, table
from engine.cli.gpus import FOLDER as GPUS
from engine.cli.gpus import gpu_whole
from engine.cli.sampledbench import SAMPLED, UNDRAWN, sampled
from engine.files.places import ROOT
from engine.papers.systems import FOLDER as QUALITY
from engine.papers.systems import Systems, command, recorded

BENCH = ROOT / "docs" / "results" / "bench.json"
AUTO = ROOT / "docs" / "results" / "auto.json"
PAGE = ROOT / "docs" / "results" / "page.json"
LEAST = {
    "ar / hf generate": 1.2,
    "sd / hf assisted 5": 1.8,
    "sd / ar": 2.0,
    "sd:gamma=7 / ar": 2.0,
    "sd:gamma=auto / ar": 2.2,
    "eagle3:total_token=auto:depth=auto / ar": 2.0,
    "dflash / ar": 2.8,
}  # what was set out to be reached, the last by the fastest lossless method, whichever it is
AFTERWARDS = {"sd:gamma=7 / ar": "with a length chosen after the first measurement"}
MOST = {"ar light / full": 1.15, "sd light / full": 1.15}
MOST_SHARE = 0.15  # of a round, for trees of 60 nodes
SHOWN = (  # the methods that README.md shows: plain, drafted in each way, lossy by each rule, and the draft alone
    *("ar", "sd", "mtp", "dflash", "eagle3", "heterospec", "medusa", "pld", "suffix", "stand"),
    *("easd", "cm_asd", "specdec", "topk_lossy", "autojudge", "draft_alone"),
)
# and what it shows of them
GLANCE = ("right, %", "less `ar`'s, points", "same output, %", "tokens a call", "speed, x `ar`'s")
MISSED = " **missed**"
MOST_MS = 1.0  # a round of a lookup structure
UNLEFT = "Not measured yet: run `python -m engine bench --auto`.\n"


def machines(path: Path) -> list[Path]:
    """A recorded file, and beside it those of the same command on other CPUs: `bench.json`, `bench-avx2.json`."""
    return [one for one in (path, *sorted(path.parent.glob(f"{path.stem}-*.json"))) if one.is_file()]


def ratios(paths: Sequence[Path]) -> str:
    """The recorded benches, a column each: ratios with goals, and those to transformers' own."""
    if not paths:
        return "Not measured yet: run `python -m engine bench --json > docs/results/bench.json`.\n"
    benches = [json.loads(path.read_text(encoding="utf-8")) for path in paths]
    first = benches[0]
    asked = f" --threads {first['threads']}" if first.get("threads_why") == "as asked" else ""
    names = " and ".join(f"`{path.name}`" for path in paths)
    lines = [
        f"Recorded by `python -m engine bench{asked} --json` as {names} in `docs/results`: {first['dtype']}, threads: "
        f"{first['threads']}, {first['prompts']} held-out {first['task']} prompts, greedy, interleaved in one process; "
        "median of the repetitions with the smallest and largest. Ratios are of tokens per second over whole calls, "
        "prefill included.",
        "",
        f"| ratio | {' | '.join(found['device'] for found in benches)} | set out to reach |",
        f"| --- {'| --- ' * len(benches)}| --- |",
        _row("`ar`, tokens/s", [found["tokens_per_s"]["ar"] for found in benches], 0),
    ]
    rows = [found["ratios"] | found["recording"] for found in benches]
    lines += [
        _row(name, [row.get(name) for row in rows], 2)
        for name in rows[0]
        if name in LEAST or name in MOST or "hf" in name
    ]
    return "\n".join(lines) + "\n"


def _row(name: str, spreads: Sequence[dict[str, float] | None], digits: int) -> str:
    """A line of the table of ratios: what each machine reached of it, and what was set out."""
    cells = [
        f"{s['median']:.{digits}f} ({s['low']:.{digits}f} to {s['high']:.{digits}f}){_verdict(name, s)}" if s else ""
        for s in spreads
    ]
    return f"| {name} | {' | '.join(cells)} | {_goal(name)} |"


def bench(path: Path) -> str:
    """A recorded bench, whole."""
    found = json.loads(path.read_text(encoding="utf-8"))
    lines = [
        ratios([path]),
        SAID,
        "",
        *table(found),
    ]
    if any("scope=global" in name for name in found["counts"]):
        lines += [
            "",
            "Token recycling forgets between prompts by default; `scope=global` keeps its matrix from prompt to "
            "prompt, as its paper does, and `fill_empty` feeds rows that nobody wrote, as its code does.",
        ]
    else:
        lines += [
            "",
            "Token recycling runs at our default here, which forgets between prompts; its paper keeps one matrix for "
            "good.",
        ]
    lines += [""]
    lines += [f"With {said}." for said in _busy(found)]
    lines += [
        "",
        "Lookup structures with 10,000 tokens of history, update and draft together, processor time a round, median "
        f"and 95th percentile (both set out to stay below {MOST_MS:g} ms): {', '.join(_lookups(found).values())}.",
        "",
        "Bookkeeping of trees of 60 nodes, all that is neither a pass of the target nor of the head, share of a round "
        f"(set out to stay below {MOST_SHARE:.0%} in every repetition): {', '.join(_trees(found).values())}.",
    ]
    lines += [
        "",
        f"If a token only had to read the target's {found['weight_bytes'] / 1e6:.0f} MB of weights at the bandwidth "
        f"measured on the spot, there would be {found['limit_tokens_per_s']:.0f} tokens/s; "
        f"`ar` reaches {found['ar_share_of_limit']:.0%} of that.",
    ]
    return "\n".join(lines) + "\n"


def _lookups(found: dict[str, Any]) -> dict[str, str]:
    """What a round of each lookup structure costs."""
    return {
        c["method"]: f"`{c['method']}` {c['both']:.2f} ms ({c['worst']:.2f})"
        + ("" if max(c["both"], c["worst"]) <= MOST_MS else MISSED)
        for c in found["lookups"]
    }


def _trees(found: dict[str, Any]) -> dict[str, str]:
    """What bookkeeping costs each method with large trees."""
    return {
        name: f"`{name}` {_share(cost['share'])} of {cost['round_ms']['median']:.0f} ms"
        for name, cost in found["trees"].items()
    }


def bench_said(paths: Sequence[Path]) -> str:
    """The benches in short: ratios, and what was missed besides."""
    if not paths:
        return ratios(paths)
    benches = [json.loads(path.read_text(encoding="utf-8")) for path in paths]
    missed = [f"{said} on {found['device']}" for found in benches if (said := _besides(found))]
    return (
        ratios(paths)
        + (f"\nBesides **missed**: {'; '.join(missed)}.\n" if missed else "")
        + f"\nAll {len(benches[0]['counts'])} methods and settings: [docs/results](docs/results/README.md#speed).\n"
    )


def _besides(found: dict[str, Any]) -> str:
    """What a bench missed that is no ratio."""
    slow, heavy = ([n for n, said in of.items() if MISSED in said] for of in (_lookups(found), _trees(found)))
    return " and ".join(
        f"{what} of {', '.join(f'`{name}`' for name in names)} (set out to stay below {most})"
        for what, most, names in (
            ("a lookup's time a round", f"{MOST_MS:g} ms", slow),
            ("bookkeeping's share of a round", f"{MOST_SHARE:.0%}", heavy),
        )
        if names
    )


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
            reached = "reached" if best["median"] >= LEFT else "**missed**"
            lines.append(
                f"| {_kept(row['auto'])} | {task} | {ar['median']:.2f} | `{row['best']}` | {best['median']:.2f} "
                f"({best['low']:.2f} to {best['high']:.2f}) | at least {LEFT:g}: {reached} |"
            )
    return "\n".join(lines) + "\n"


def _auto(found: dict[str, Any], path: Path) -> str:
    """The command that recorded it."""
    items = max(part["prompts"] for part in found["tasks"].values())
    asked = f"--auto --threads {found['threads']} --items {items} --json"
    return f"python -m engine bench {asked} > docs/results/{path.name}"


def _kept(name: str) -> str:
    """The setting as code, and whether its method was kept in words."""
    return f"`{name.removesuffix(KEPT)}`" + (KEPT if name.endswith(KEPT) else "")


def _share(spread: dict[str, float]) -> str:
    """A share with its range, and whether it is too large."""
    said = f"{spread['median']:.1%} ({spread['low']:.1%} to {spread['high']:.1%})"
    return said + ("" if spread["high"] <= MOST_SHARE else MISSED)


def _goal(name: str) -> str:
    """What was set out for a ratio."""
    goal = f"at least {LEAST[name]:g}" if name in LEAST else f"at most {MOST[name]:g}" if name in MOST else ""
    return ", ".join(filter(None, (goal, AFTERWARDS.get(name, ""))))


def _verdict(name: str, spread: dict[str, float]) -> str:
    """Where the goal of a ratio was not reached by every repetition; a median alone does not count."""
    if name in LEAST:
        typical, worst = (spread[k] >= LEAST[name] for k in ("median", "low"))
    elif name in MOST:
        typical, worst = (spread[k] <= MOST[name] for k in ("median", "high"))
    else:
        return ""
    return "" if worst else f"{MISSED} in the worst" if typical else MISSED


def _busy(found: dict[str, Any]) -> list[str]:
    """The sentence on a busy machine, once it was measured."""
    rows = [
        f"`{name}` {s['median']:.0%} ({s['low']:.0%} to {s['high']:.0%})" for name, s in found.get("busy", {}).items()
    ]
    return [f"another busy process beside it, of its own tokens per second: {', '.join(rows)}"] if rows else []


def quality(folder: Path) -> str:
    """What `compare` recorded of each task: quality beside calls and tokens a call."""
    found = recorded(folder)
    if not found:
        return f"Not measured yet: run `{command('arithmetic')}`.\n"
    return "\n".join(_quality(sheet, is_open=sheet is found[0]) for sheet in found)


def _quality(sheet: Systems, is_open: bool) -> str:
    many = "1 method" if len(sheet.rows) == 1 else f"{len(sheet.rows)} methods"
    lines = [
        f"<details{' open' * is_open}><summary>{sheet.name}: {many}</summary>",
        "",
        sheet.told,
        "",
        f"| method | {' | '.join(sheet.columns)} |",
        "| --- " + "| --: " * len(sheet.columns) + "|",
        *(f"| `{method}` | {' | '.join(cell or '-' for cell in cells)} |" for method, cells in sheet.rows),
        "",
        "</details>",
    ]
    return "\n".join(lines) + "\n"


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


def whole() -> str:
    """`docs/results/README.md`: every table."""
    parts = {
        "Speed": "\n".join(map(bench, machines(BENCH))) or ratios([]),
        "Speed of sampled runs": "\n".join(map(sampled, machines(SAMPLED))) or UNDRAWN,
        "On a GPU": gpu_whole(GPUS),
        "Settings left to the device": "\n".join(map(left, machines(AUTO))) or UNLEFT,
        "Quality": quality(QUALITY),
        "The page": page(PAGE),
    }
    lines = ["# What was measured", "", "Written by `python -m engine readme` from the files of this folder.", ""]
    return "\n".join([*lines, *(f"## {title}\n\n{body}" for title, body in parts.items())]).rstrip() + "\n"


def glance(folder: Path) -> str:
    """Quality beside speed in short: some methods on the first task that `compare` recorded."""
    found = recorded(folder)
    if not found:
        return quality(folder)
    sheet = found[0]
    columns = [name for name in GLANCE if name in sheet.columns]
    at = [sheet.columns.index(name) for name in columns]
    rows = {method: [cells[i] or "-" for i in at] for method, cells in sheet.rows}
    lines = [
        f"On {sheet.name}: {sheet.told}",
        "",
        f"| method | {' | '.join(columns)} |",
        "| --- " + "| --: " * len(columns) + "|",
        *(f"| `{method}` | {' | '.join(rows[method])} |" for method in SHOWN if method in rows),
        "",
        f"All {len(sheet.rows)} methods, and {len(found) - 1} more recordings: [docs/results](docs/results/README.md).",
    ]
    return "\n".join(lines) + "\n"


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
        if row["over_best"]["median"] < LEFT
    ]
    return (
        f"Recorded by `{_auto(found, path)}` on {found['device']}: on {first}, times the tokens per second of `ar`, "
        f"{', '.join(fast)}. Set out to be at least {LEFT:g} times as fast as the best of the fixed settings that were "
        f"tried: {len(rows) - len(missed)} of {len(rows)} reached it"
        + (f"; **missed** by {', '.join(missed)}" if missed else "")
        + f". {_passes_said(costs['passes'], costs['step'])}\n"
    )


def _passes_said(passes: Sequence[tuple[int, float]], step: float) -> str:
    ms = dict(passes)
    return (
        f"There a pass over one token takes {ms[1]:.1f} ms, one over six {ms[6]:.1f}, and a token of the draft model "
        f"{step:.2f}."
    )


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
