"""`trajectories results`: what compare, ablation and trees have written, as the file that page and README read.

Parts whose rows are not at hand stay as the file has them, so that one can be measured anew without the others.
"""

import argparse
import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from engine.analysis.intervals import as_json, clustered_mean, within
from engine.analysis.ngrams import ORDERS, overlap_table
from engine.analysis.seriesreport import series_report, trajectory_counts
from engine.analysis.trajectories import by_problem, methods_of
from engine.cli.options import add_models, load_lab
from engine.cli.progress import track
from engine.errors import ConfigError
from engine.files.documents import read_object
from engine.files.places import ROOT
from engine.files.written import write
from engine.kinds import COUNTS, SIZE, TO_FILE
from engine.lab import Lab
from engine.tasks import FAMILIES, load_problems
from engine.tune.replay import Position, replay_rows
from engine.tune.rows import read_rows

PARTS = {  # of the file -> the action that writes its rows
    "compare": "compare",
    "ablation": "ablation",
    "trees": "trees",
    "others": "compare",  # methods beside those of `compare`, on the same problems
    "elsewhere": "trees",  # the trees on another task than they were optimised on
}
AMONG = 64  # times as many problems as rows have are looked through for theirs, at most
RESULTS = ROOT / "docs" / "results" / "trajectories.json"


def add_counts(parser: argparse.ArgumentParser) -> None:
    """How many trajectories tables and figures are for."""
    parser.add_argument(
        "--ks",
        type=COUNTS,
        default="1,2,4,8,16",
        metavar="K,K,...",
        help="numbers of trajectories (default: 1,2,4,8,16)",
    )


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
            help=f"rows that `{PARTS[part]}` wrote (default: build/{part}.jsonl; if missing, that of --out stays)",
        )
    one.add_argument(
        "--replay", type=SIZE, default=8, metavar="N", help="problems replayed for figure 3, 0 for none (default: 8)"
    )
    add_counts(one)
    one.add_argument(
        "--out",
        type=TO_FILE,
        default=RESULTS,
        metavar="FILE",
        help="written there (default: docs/results/trajectories.json)",
    )
    add_models(one)
    one.set_defaults(handler=results)


def results(args: argparse.Namespace) -> int:
    """Gather and write."""
    found = {part: read_rows(getattr(args, part)) for part in PARTS if getattr(args, part).is_file()}
    before = read_object(args.out) if args.out.is_file() else {}
    if not found or ("compare" not in found and not before.get("compare")):
        raise ConfigError(f"There is no file {args.compare}: run `python -m engine trajectories compare` first.")
    body: dict[str, Any] = before | {
        "kind": "trajectory results",
        "created": datetime.now(UTC).date().isoformat(),
        "commands": _commands(found, before),
    }
    for part in PARTS:
        settings, rows = found.get(part, ({}, []))
        body[part] = series_report(settings, rows, trajectory_counts(rows, args.ks)) if rows else before.get(part)
    if "compare" in found:
        body |= _texts(args, *found["compare"])
    write(args.out, (json.dumps(body, indent=1) + "\n").encode())
    kept = [part for part in PARTS if part not in found and body[part]]
    print(f"{args.out}: {', '.join(found)} new; {', '.join(kept) or 'nothing'} kept")
    return 0


def _texts(args: argparse.Namespace, settings: dict[str, Any], rows: list[dict[str, Any]]) -> dict[str, Any]:
    """What is read off the texts themselves: figures 2 and 3."""
    first = by_problem(rows, methods_of(rows)[0])
    texts = [[row["ids"] for row in group] for group in first.values()]
    counts = [k for k in trajectory_counts(rows, args.ks) if k > 1]
    return {
        "overlap": overlap_table(texts, counts, ORDERS),
        "acceptance": _acceptance(load_lab(args), settings, first, args.replay) if args.replay else None,
    }


def _commands(found: dict[str, tuple[dict[str, Any], list[dict[str, Any]]]], before: dict[str, Any]) -> list[str]:
    """A line a part, those that are kept as they were, and the one that gathers them."""
    kept = dict(zip([part for part in PARTS if before.get(part)], before.get("commands", []), strict=False))
    lines = dict[str, str]()
    for part, (settings, rows) in found.items():
        names, problems = ",".join(methods_of(rows)), len({row["problem"] for row in rows})
        lines[part] = (
            f"python -m engine trajectories {PARTS[part]} --methods {names} --task {settings['family']} "
            f"--items {problems} --n {settings['n']} --temperature {settings['temperature']:g} --max-new-tokens "
            f"{settings['max_new_tokens']} --seed {settings['seed']}"
            + (" --chat" if settings.get("chat") else "")
            + ("" if part == PARTS[part] else f" --out build/{part}.jsonl")
        )
    told = kept | lines
    return [*(told[part] for part in PARTS if part in told), "python -m engine trajectories results"]


def _acceptance(lab: Lab, settings: dict[str, Any], groups: dict[str, list[Any]], most: int) -> dict[str, Any]:
    rows = [row for group in list(groups.values())[:most] for row in group]
    return acceptance_report(lab, settings, rows)


def acceptance_report(
    lab: Lab, settings: dict[str, Any], rows: Sequence[dict[str, Any]], quiet: bool = False
) -> dict[str, Any]:
    """Figure 3: how likely the first draft token is accepted, deterministic or stochastic, all and by trajectory.

    Raises:
        ConfigError: rows of a published set, or of problems that the family does not have (any more).
    """
    if settings["family"] not in FAMILIES:
        raise ConfigError(f"Figure 3 is replayed along problems of {', '.join(FAMILIES)}, not {settings['family']}.")
    keys = {row["problem"] for row in rows}
    count, found = len(keys), dict[str, str]()
    while not keys <= found.keys() and count <= AMONG * len(keys):  # rows may skip problems
        found = {p.key: p.prompt for p in load_problems(settings["family"], settings["split"], count, settings["seed"])}
        count *= 2
    if not keys <= found.keys():
        raise ConfigError(
            f"These rows are of problems that {settings['family']} does not have: run `trajectories compare` anew."
        )
    positions = list(track(replay_rows(lab, settings, list(rows), found), "positions", quiet=quiet))
    groups = {"all": positions} | {
        f"trajectory {i + 1}": [p for p in positions if p.trajectory == i] for i in range(settings["n"])
    }
    return {name: over_problems(group) for name, group in groups.items() if group}


def over_problems(positions: Sequence[Position]) -> dict[str, Any]:
    """Means over positions. Positions of one problem are no independent ones: intervals are over problems."""
    found: dict[str, list[Position]] = {}
    for one in positions:
        found.setdefault(one.problem, []).append(one)
    values: dict[str, Callable[[Position], float]] = {
        "deterministic": lambda p: p.deterministic,
        "stochastic": lambda p: p.stochastic,
        "difference": lambda p: p.stochastic - p.deterministic,
    }
    means = {
        name: clustered_mean([(sum(map(value, own)), len(own)) for own in found.values()])
        for name, value in values.items()
    }
    means = {name: within(mean, -1.0 if name == "difference" else 0.0, 1.0) for name, mean in means.items()}
    return {"n": len(positions), **{name: as_json(mean) for name, mean in means.items()}}
