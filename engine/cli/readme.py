"""`readme`: write README.md's generated parts (from methods' and models' cards and the last bench) and docs/numbers.md.

A part stands between `<!-- begin:NAME -->` and `<!-- end:NAME -->`. A test holds the file to what this command writes.
"""

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from engine.analysis.columns import NODES, ROUNDS, TOKENS
from engine.analysis.names import NAMES
from engine.cli.autobench import KEPT
from engine.cli.autobench import LEAST as LEFT
from engine.files.places import ROOT
from engine.methods import CARDS
from engine.papers.systems import FOLDER as QUALITY
from engine.papers.systems import Systems, command, recorded

README = ROOT / "README.md"
NUMBERS = ROOT / "docs" / "numbers.md"
BENCH = ROOT / "docs" / "results" / "bench.json"
AUTO = ROOT / "docs" / "results" / "auto.json"
PAGE = ROOT / "docs" / "results" / "page.json"
LEAST = {
    "ar / hf generate": 1.2,
    "sd / hf assisted 5": 1.8,
    "sd / ar": 2.0,
    "sd:gamma=7 / ar": 2.0,
}  # what was set out to be reached
AFTERWARDS = {"sd:gamma=7 / ar": "with a length chosen after the first measurement"}
MOST = {"ar light / full": 1.15, "sd light / full": 1.15}
MOST_SHARE = 0.15  # of a round, for trees of 60 nodes
MOST_MS = 1.0  # a round of a lookup structure


def add_parser(subparsers: Any) -> None:
    """Register the command."""
    parser = subparsers.add_parser("readme")
    parser.add_argument("--check", action="store_true", help="only say whether the file is up to date")
    parser.set_defaults(handler=handle)


def handle(args: argparse.Namespace) -> int:
    """Write, or compare."""
    wanted = {README: filled(README.read_text(encoding="utf-8")), NUMBERS: numbers()}
    if args.check:
        stale = [
            path.name for path, text in wanted.items() if not path.is_file() or path.read_text(encoding="utf-8") != text
        ]
        print(f"{', '.join(stale)}: run `python -m engine readme`" if stale else "up to date")
        return int(bool(stale))
    for path, text in wanted.items():
        path.write_text(text, encoding="utf-8")
    return 0


def filled(text: str) -> str:
    """The text with all its parts made anew."""
    parts = {
        "methods": methods(),
        "embedded": embedded(ROOT / "assets" / "tiny", ROOT / "assets" / "crossed"),
        "bench": bench(BENCH),
        "left": left(AUTO),
        "quality": quality(QUALITY),
        "page": page(PAGE),
    }
    for name, body in parts.items():
        head, rest = text.split(f"<!-- begin:{name} -->\n")
        text = f"{head}<!-- begin:{name} -->\n{body}<!-- end:{name} -->" + rest.split(f"<!-- end:{name} -->")[1]
    return text


def methods() -> str:
    """The catalogue as a table."""
    rows = [f"| `{c.name}` | {c.title} | {c.drafter} x {c.shape} x {c.rule} | {c.guarantee} |" for c in CARDS]
    return (
        "\n".join(["| name | method | drafter x shape x rule | guarantee |", "| --- | --- | --- | --- |", *rows]) + "\n"
    )


Cell = Callable[[dict[str, Any]], str]  # of what a card says of its evaluation


def embedded(tiny: Path, crossed: Path) -> str:
    """What the embedded models of both families reached, from their cards."""
    if not all((tiny / role / "card.json").is_file() for role in ("target", "draft")):
        return "Not evaluated yet: run `python -m engine.training eval`.\n"
    cards = {role: _card(tiny / role) for role in ("target", "draft")}
    lines = ["Measured by `python -m engine.training eval` on held-out problems, fp32, greedy:", ""]
    lines += _reached(
        cards,
        {
            "arithmetic answered": _score("arithmetic", "accuracy", ".1%"),
            "functions that pass": _score("functions", "accuracy", ".1%"),
            "sentences, BLEU": _score("sentences", "bleu", ".1f"),
        },
    )
    evaluation = cards["draft"]["evaluation"]
    rates = _pair(evaluation, lambda row: f"{row['accept_rate_tested']:.1%} (tau {row['tau']:.2f})")
    lines += [
        "",
        "Greedy chains of five: share of tested draft tokens that the target accepts, and tokens a target call: "
        f"{rates}.",
    ]
    missed = [c["what"] + f": {c['value']:.3f}" for c in evaluation["checks"] if not c["met"]]
    lines += ["", "Set out to reach and missed: " + "; ".join(missed) + "."] if missed else []

    cards = {role: _card(crossed / f"source_{role}") for role in ("target", "draft", "parallel")}
    command = cards["target"]["evaluation"]["command"]
    lines += ["", f"The encoder-decoder pair (`--preset crossed`), measured by `{command}`:", ""]
    lines += _reached(
        cards,
        {
            "translation, BLEU": _score("translation", "bleu", ".1f"),
            "summaries, ROUGE-L": _score("summaries", "rougeL", ".1f"),
            "tested tokens accepted": lambda of: _pair(of, lambda row: f"{row['accept_rate_tested']:.1%}"),
            "tau": lambda of: _pair(of, lambda row: f"{row['tau']:.2f}"),
        },
    )
    heads = _card(crossed / "blockwise")
    found = {"pair": {family: row for family, row in heads["evaluation"].items() if family != "command"}}
    taus = _pair(found, lambda row: f"{row['tau_10']:.2f} and {row['tau_25']:.2f}")
    lines.append(f"| blockwise heads | {_size(heads)} | | | | blocks of 10 and 25: {taus} |")
    return "\n".join(lines) + "\n"


def _card(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "card.json").read_text(encoding="utf-8"))
    return found


def _size(card: dict[str, Any]) -> str:
    return f"{card['training']['parameters'] / 1e6:.2f} M"


def _reached(cards: dict[str, Any], columns: dict[str, Cell]) -> list[str]:
    """A table of models: their sizes, and what their evaluations say in each column."""
    lines = [f"| model | parameters | {' | '.join(columns)} |", "| --- " * (2 + len(columns)) + "|"]
    for role, card in cards.items():
        cells = [role, _size(card), *(cell(card["evaluation"]) for cell in columns.values())]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _score(family: str, name: str, form: str) -> Cell:
    """What a model reached alone on a family of tasks; empty for what writes nothing alone."""
    return lambda of: format(of["model"][family][name], form) if "model" in of else ""


def _pair(evaluation: dict[str, Any], said: Cell) -> str:
    """What is said of drafting for the target on each family of tasks; empty for what does not draft."""
    return ", ".join(f"{family} {said(row)}" for family, row in evaluation.get("pair", {}).items())


def numbers() -> str:
    """Every number with its formula and its names elsewhere, and every column of the tables."""
    lines = [
        "# Numbers and their names",
        "",
        "Written by `python -m engine readme` from `engine/analysis/names.py` and `columns.py`.",
        "",
    ]
    lines += ["| number | unit | formula | vLLM | SGLang | llama.cpp | LM Studio | AIPerf | note |", "| --- " * 9 + "|"]
    for n in NAMES:
        others = (n.vllm, n.sglang, n.llama_cpp, n.lm_studio, n.aiperf)
        lines.append(
            f"| `{n.name}` | {n.unit} | {n.formula} | "
            + " | ".join(f"`{x}`" if x else "" for x in others)
            + f" | {n.note} |"
        )
    for title, table in (("tokens_df", TOKENS), ("nodes_df", NODES), ("rounds_df", ROUNDS)):
        lines += ["", f"## `{title}`", "", "| column | unit | meaning |", "| --- | --- | --- |"]
        lines += [f"| `{c.name}` | {c.unit} | {c.help} |" for c in table]
    return "\n".join(lines) + "\n"


def bench(path: Path) -> str:
    """The last recorded bench."""
    if not path.is_file():
        return "Not measured yet: run `python -m engine bench --json > docs/results/bench.json`.\n"
    found = json.loads(path.read_text(encoding="utf-8"))
    asked = f" --threads {found['threads']}" if found.get("threads_why") == "as asked" else ""
    lines = [
        f"Recorded by `python -m engine bench{asked} --json > docs/results/bench.json`: {found['dtype']} on "
        f"{found['device']}, threads: {found['threads']}, {found['prompts']} held-out {found['task']} prompts, greedy, "
        "interleaved in one process; median of the repetitions with the smallest and largest. Ratios are of tokens per "
        "second over whole calls, prefill included.",
        "",
        "| ratio | median | range | set out to reach |",
        "| --- | --- | --- | --- |",
    ]
    for name, row in (found["ratios"] | found["recording"]).items():
        if name not in LEAST and name not in MOST and "hf" not in name:
            continue
        lines.append(
            f"| {name} | {row['median']:.2f} | {row['low']:.2f} to {row['high']:.2f} | {_verdict(name, row)} |"
        )
    lines += [
        "",
        "Each method on the same prompts: tokens per second, also over those of `ar`, target calls, tokens verified "
        "(roots included), tokens a target call.",
        "",
        "| method | tokens/s | against `ar` | range | calls | verified | tau |",
        "| --- | --: | --: | --- | --: | --: | --: |",
    ]
    for name, count in found["counts"].items():
        row = found["ratios"].get(f"{name} / ar", {"median": 1.0, "low": 1.0, "high": 1.0})
        tau = "" if count["tau"] is None else f"{count['tau']:.2f}"  # of what never calls the target
        speed = found["tokens_per_s"][name]["median"]
        lines.append(
            f"| `{name}` | {speed:.0f} | {row['median']:.2f} | {row['low']:.2f} to {row['high']:.2f} | "
            f"{count['calls']} | {count['verify_tokens']} | {tau} |"
        )
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
    costs = [
        f"`{c['method']}` {c['both']:.2f} ms ({c['worst']:.2f})"
        + ("" if max(c["both"], c["worst"]) <= MOST_MS else " **missed**")
        for c in found["lookups"]
    ]
    lines += [
        "",
        "Lookup structures with 10,000 tokens of history, update and draft together, processor time a round, median "
        f"and 95th percentile (both set out to stay below {MOST_MS:g} ms): {', '.join(costs)}.",
    ]
    trees = [
        f"`{name}` {_share(cost['share'])} of {cost['round_ms']['median']:.0f} ms"
        for name, cost in found["trees"].items()
    ]
    lines += [
        "",
        "Bookkeeping of trees of 60 nodes, all that is neither a pass of the target nor of the head, share of a round "
        f"(set out to stay below {MOST_SHARE:.0%} in every repetition): {', '.join(trees)}.",
    ]
    lines += [
        "",
        f"If a token only had to read the target's {found['weight_bytes'] / 1e6:.0f} MB of weights at the bandwidth "
        f"measured on the spot, there would be {found['limit_tokens_per_s']:.0f} tokens/s; "
        f"`ar` reaches {found['ar_share_of_limit']:.0%} of that.",
    ]
    return "\n".join(lines) + "\n"


def left(path: Path) -> str:
    """The last recorded comparison of settings left to the device with fixed ones."""
    if not path.is_file():
        return "Not measured yet: run `python -m engine bench --auto`.\n"
    found = json.loads(path.read_text(encoding="utf-8"))
    items = max(part["prompts"] for part in found["tasks"].values())
    lines = [
        f"Recorded by `python -m engine bench --auto --threads {found['threads']} --items {items} --json > "
        f"docs/results/{path.name}`: {found['dtype']} on {found['device']}, threads: {found['threads']}, held-out "
        f"prompts, greedy, {found['repetitions']} interleaved repetitions of each task; median with the smallest "
        "and largest. A method that is kept lives through a task's prompts (`Lab.living`) and begins each "
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


def _kept(name: str) -> str:
    """The setting as code, and whether its method was kept in words."""
    return f"`{name.removesuffix(KEPT)}`" + (KEPT if name.endswith(KEPT) else "")


def _share(spread: dict[str, float]) -> str:
    """A share with its range, and whether it is too large."""
    said = f"{spread['median']:.1%} ({spread['low']:.1%} to {spread['high']:.1%})"
    return said + ("" if spread["high"] <= MOST_SHARE else " **missed**")


def _verdict(name: str, spread: dict[str, float]) -> str:
    """The goal of a ratio, and whether every repetition reached it; a median alone does not count."""
    if name in LEAST:
        goal, typical, worst = f"at least {LEAST[name]:g}", *(spread[k] >= LEAST[name] for k in ("median", "low"))
    elif name in MOST:
        goal, typical, worst = f"at most {MOST[name]:g}", *(spread[k] <= MOST[name] for k in ("median", "high"))
    else:
        return ""
    said = "reached" if worst else "reached in the median, **missed** in the worst" if typical else "**missed**"
    return ", ".join(filter(None, (f"{goal}: {said}", AFTERWARDS.get(name, ""))))


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
    late = found["event_to_frame_ms"]
    rows = [
        (
            "first paint, warm",
            f"{found['first_paint_s']['warm']:.2f} s",
            "below 2 s",
            found["first_paint_s"]["warm"] < 2,
        ),
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
        for what, value, goal, met in rows
    ]
    return "\n".join(lines) + "\n"
