"""`readme`: write README.md's generated parts, docs/numbers.md and docs/results/README.md from cards and measurements.

A part stands between `<!-- begin:NAME -->` and `<!-- end:NAME -->`. A test holds the file to what this command writes.
"""

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from engine.analysis.columns import EXTRA, LABEL, LANE, NODES, ROUNDS, RUN, TOKENS
from engine.analysis.names import NAMES
from engine.cli.autosaid import AUTO, left_said
from engine.cli.benchsaid import BENCH, bench_said
from engine.cli.gpus import FOLDER as GPUS
from engine.cli.gpus import gpu_said
from engine.cli.measured import machines, whole
from engine.cli.pagesaid import PAGE, page_said
from engine.cli.qualitysaid import glance
from engine.cli.sampledsaid import SAMPLED, sampled_said
from engine.errors import ConfigError
from engine.files.places import ROOT
from engine.methods import CARDS
from engine.papers.systems import FOLDER as QUALITY

README = ROOT / "README.md"
NUMBERS = ROOT / "docs" / "numbers.md"
RESULTS = ROOT / "docs" / "results" / "README.md"


def add_parser(subparsers: Any) -> None:
    """Register the command."""
    parser = subparsers.add_parser("readme")
    parser.add_argument("--check", action="store_true", help="only say whether the file is up to date")
    parser.set_defaults(handler=handle)


def handle(args: argparse.Namespace) -> int:
    """Write, or compare.

    Raises:
        ConfigError: there is no README, as where the package is installed.
    """
    if not README.is_file():
        raise ConfigError(f"This command is for the README.md of a checkout, and there is none in {README.parent}.")
    wanted = {README: filled(README.read_text(encoding="utf-8")), NUMBERS: numbers(), RESULTS: whole()}
    if args.check:
        stale = [
            path.relative_to(ROOT).as_posix()
            for path, text in wanted.items()
            if not path.is_file() or path.read_text(encoding="utf-8") != text
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
        "bench": bench_said(machines(BENCH)),
        "sampled": sampled_said(machines(SAMPLED)),
        "gpu": gpu_said(GPUS),
        "left": left_said(machines(AUTO)),
        "quality": glance(QUALITY),
        "page": page_said(PAGE),
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
    lines = [f"| model | trained parameters | {' | '.join(columns)} |", "| --- " * (2 + len(columns)) + "|"]
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
    tables = {
        "What tells runs apart": (RUN, LANE, LABEL),
        "`tokens_df`": TOKENS,
        "`nodes_df`": NODES,
        "`rounds_df`": (*ROUNDS, EXTRA),
    }
    for title, table in tables.items():
        lines += ["", f"## {title}", "", "| column | unit | meaning |", "| --- | --- | --- |"]
        lines += [f"| `{c.name}` | {c.unit} | {c.help} |" for c in table]
        if RUN in table:
            lines += ["", "They stand in front of the columns below: `run` with `run=True`, `lane` and `label` with"]
            lines += ["`lanes=True`, as in the tables that `python -m engine export` and the page write."]
    return "\n".join(lines) + "\n"
