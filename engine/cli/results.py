"""`trajectories results`: what compare, ablation and trees have written, as the file that page and README read."""

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from engine.analysis.intervals import mean_interval
from engine.analysis.ngrams import ORDERS, overlap_table
from engine.analysis.seriesreport import series_report, trajectory_counts
from engine.analysis.trajectories import by_problem, methods_of
from engine.cli.options import add_models, load_lab
from engine.cli.progress import track
from engine.errors import ConfigError
from engine.files.places import ROOT
from engine.lab import Lab
from engine.tasks import FAMILIES, load_problems
from engine.tune.replay import Position, replay_rows
from engine.tune.rows import read_rows

PARTS = ("compare", "ablation", "trees")
RESULTS = ROOT / "docs" / "results" / "trajectories.json"


def add_results(actions: Any) -> None:
    """Register the action."""
    one = actions.add_parser(
        "results", help="all tables and figures in one file, for the page: docs/results/trajectories.json"
    )
    for part in PARTS:
        one.add_argument(
            f"--{part}",
            type=Path,
            default=Path("build") / f"{part}.jsonl",
            metavar="FILE",
            help=f"rows of `{part}` (default: build/{part}.jsonl; left out if missing)",
        )
    one.add_argument(
        "--replay", type=int, default=8, metavar="N", help="problems replayed for figure 3, 0 for none (default: 8)"
    )
    one.add_argument("--ks", default="1,2,4,8,16", help="numbers of trajectories (default: 1,2,4,8,16)")
    one.add_argument("--out", type=Path, default=RESULTS, metavar="FILE", help="written there")
    add_models(one)
    one.set_defaults(handler=results)


def results(args: argparse.Namespace) -> int:
    """Gather and write."""
    wanted = [int(k) for k in args.ks.split(",")]
    found = {part: read_rows(getattr(args, part)) for part in PARTS if getattr(args, part).is_file()}
    if "compare" not in found:
        raise ConfigError(f"There is no file {args.compare}: run `python -m engine trajectories compare` first.")
    body: dict[str, Any] = {
        "kind": "trajectory results",
        "created": datetime.now(UTC).date().isoformat(),
        "commands": _commands(found),
    }
    for part in PARTS:
        settings, rows = found.get(part, ({}, []))
        body[part] = series_report(settings, rows, trajectory_counts(rows, wanted)) if rows else None
    settings, rows = found["compare"]
    first = by_problem(rows, methods_of(rows)[0])
    texts = [[row["ids"] for row in group] for group in first.values()]
    counts = [k for k in trajectory_counts(rows, wanted) if k > 1]
    body["overlap"] = overlap_table(texts, counts, ORDERS)
    body["acceptance"] = _acceptance(load_lab(args), settings, first, args.replay) if args.replay else None
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_text(json.dumps(body, indent=1) + "\n", encoding="utf-8")
    print(f"{args.out}: {', '.join(part for part in PARTS if body[part])}; {len(first)} problems")
    return 0


def _commands(found: dict[str, tuple[dict[str, Any], list[dict[str, Any]]]]) -> list[str]:
    lines = []
    for part, (settings, rows) in found.items():
        names, problems = ",".join(methods_of(rows)), len({row["problem"] for row in rows})
        lines.append(
            f"python -m engine trajectories {part} --methods {names} --task {settings['family']} --items {problems} "
            f"--n {settings['n']} --temperature {settings['temperature']:g} --max-new-tokens "
            f"{settings['max_new_tokens']} --seed {settings['seed']}"
        )
    return [*lines, "python -m engine trajectories results"]


def _acceptance(lab: Lab, settings: dict[str, Any], groups: dict[str, list[Any]], most: int) -> dict[str, Any]:
    rows = [row for group in list(groups.values())[:most] for row in group]
    return acceptance_report(lab, settings, rows)


def acceptance_report(
    lab: Lab, settings: dict[str, Any], rows: Sequence[dict[str, Any]], quiet: bool = False
) -> dict[str, Any]:
    """Figure 3: how likely the first draft token is accepted, deterministic or stochastic, all and by trajectory."""
    if settings["family"] not in FAMILIES:
        raise ConfigError(f"Figure 3 is replayed along problems of {', '.join(FAMILIES)}, not {settings['family']}.")
    keys = {row["problem"] for row in rows}
    count = len(keys)
    found: dict[str, str] = {}
    while not keys <= found.keys():
        found = {p.key: p.prompt for p in load_problems(settings["family"], settings["split"], count, settings["seed"])}
        count *= 2
    positions = list(track(replay_rows(lab, settings, list(rows), found), "positions", quiet=quiet))
    groups = {"all": positions} | {
        f"trajectory {i + 1}": [p for p in positions if p.trajectory == i] for i in range(settings["n"])
    }
    return {name: _both(group) for name, group in groups.items() if group}


def _both(positions: Sequence[Position]) -> dict[str, Any]:
    values = {
        "deterministic": [p.deterministic for p in positions],
        "stochastic": [p.stochastic for p in positions],
        "difference": [p.stochastic - p.deterministic for p in positions],
    }
    means = {name: mean_interval(v) for name, v in values.items()}
    return {"n": len(positions), **{name: asdict(m) if m else None for name, m in means.items()}}
