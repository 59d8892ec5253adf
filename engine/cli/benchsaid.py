"""What `bench` recorded on CPUs, as text: ratios with what was set out to be reached, and each recording whole."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from engine.cli.benchtable import SAID, ranged, table
from engine.files.places import ROOT

BENCH = ROOT / "docs" / "results" / "bench.json"
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
MISSED = " **missed**"
MOST_MS = 1.0  # a round of a lookup structure


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
    cells = [ranged(spread, digits) + _verdict(name, spread) if spread else "" for spread in spreads]
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
