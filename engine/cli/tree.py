"""`tree`: grow a static draft tree, optimise one on prompts (STAND, App. A.1), or show one."""

import argparse
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from engine.cli.options import add_models, load_lab, readable
from engine.cli.progress import track
from engine.cli.specs import checked
from engine.errors import ConfigError
from engine.files.written import ready, write
from engine.kinds import COUNT, MINUTES, SHARE, option
from engine.tasks import load_problems
from engine.tasks.prompts import Prompt, prompt_text
from engine.tasks.rows import read_text
from engine.trees.template import FOLDER, MOST, Template, best_first, load_template, named_template
from engine.tune.trees import Usage, count_usage, prompt_marks, prompts_mark, require_countable, tree_mark, with_card

NODES = option(int, lambda n: 1 <= n <= MOST, f"an integer from 1 to {MOST}")


def add_parser(subparsers: Any) -> None:
    """Register the command and its actions."""
    parser = subparsers.add_parser("tree")
    actions = parser.add_subparsers(dest="action", required=True, metavar="action")
    grown = actions.add_parser("grow", help="the likeliest paths if each rank has a fixed probability")
    _size(grown, 80, 20)
    grown.add_argument(
        "--out", required=True, metavar="NAME", help="written to assets/trees/NAME.json, or to a .json path"
    )
    grown.add_argument("--json", action="store_true", help="card and levels as JSON")
    grown.set_defaults(handler=grow)
    tuned = actions.add_parser(
        "optimise", help="run a large tree, keep the nodes that were accepted most often, compact"
    )
    add_models(tuned)
    _size(tuned, 625, 20)
    tuned.add_argument("--method", default="stand", help="the method that fills the tree (default: stand)")
    tuned.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="a knob of the method; repeatable"
    )
    tuned.add_argument("--keep", type=COUNT, default=80, metavar="N", help="nodes of the optimised tree (default: 80)")
    source = tuned.add_mutually_exclusive_group()
    source.add_argument(
        "--task", default="arithmetic", metavar="FAMILY", help="calibrate on its training split (default: arithmetic)"
    )
    source.add_argument(
        "--prompts", type=Path, metavar="FILE", help="calibrate on these prompts: a line each, or JSON lines"
    )
    tuned.add_argument("--items", type=COUNT, default=30, metavar="N", help="prompts (default: 30, as in the paper)")
    tuned.add_argument("--n", type=COUNT, default=4, help="trajectories of each prompt (default: 4)")
    tuned.add_argument("--temperature", type=float, default=0.6, metavar="T", help="0.6 in the paper (default: 0.6)")
    tuned.add_argument(
        "--max-new-tokens", type=COUNT, default=200, metavar="N", help="limit of a trajectory (default: 200)"
    )
    tuned.add_argument("--seed", type=int, default=0, help="seed of draws (default: 0)")
    tuned.add_argument(
        "--minutes",
        type=MINUTES,
        default=0.0,
        help="stop counting after so many; run again to go on (default: no limit)",
    )
    tuned.add_argument(
        "--out", required=True, metavar="NAME", help="written to assets/trees/NAME.json, or to a .json path"
    )
    tuned.add_argument("--json", action="store_true", help="card and levels as JSON")
    tuned.set_defaults(handler=optimise)
    shown = actions.add_parser("show", help="card and levels of a shipped tree, or of a file")
    shown.add_argument("tree", help="a name, or a .json path")
    shown.add_argument("--json", action="store_true", help="card and levels as JSON")
    shown.set_defaults(handler=show)


def _size(parser: argparse.ArgumentParser, nodes: int, depth: int) -> None:
    parser.add_argument(
        "--nodes", type=NODES, default=nodes, metavar="N", help=f"nodes, root not counted (default: {nodes})"
    )
    parser.add_argument("--depth", type=COUNT, default=depth, metavar="N", help=f"deepest level (default: {depth})")
    parser.add_argument("--first", type=SHARE, default=0.75, metavar="P", help="probability of rank 0 (default: 0.75)")
    parser.add_argument("--ratio", type=SHARE, default=0.5, metavar="R", help="rank r has (1 - P) R^r (default: 0.5)")
    parser.add_argument("--ranks", type=COUNT, default=10, metavar="N", help="most children of a node (default: 10)")


def _path(name: str) -> Path:
    path = Path(name) if name.endswith(".json") else FOLDER / f"{name}.json"
    if not name.endswith(".json") and not re.fullmatch(r"[\w-]+", name):
        raise ConfigError(f"--out must be a name without a folder, or a path that ends in .json, not {name!r}.")
    return ready(path)


def _grown(args: argparse.Namespace) -> Template:
    return best_first(args.nodes, args.depth, args.first, args.ratio, args.ranks)


def grow(args: argparse.Namespace) -> int:
    """Write a tree that is grown best-first."""
    tree, path = _grown(args), _path(args.out)
    old = load_template(path).card if path.exists() else {}
    path.parent.mkdir(parents=True, exist_ok=True)
    replace(tree, card={**old, "name": path.stem, "made_by": args.given, "made": dict(tree.card["made"])}).save(path)
    print(_told(load_template(path), args.json))
    return 0


def optimise(args: argparse.Namespace) -> int:
    """Count, keep, compact, write; counts are kept in build/ so that a stopped run goes on."""
    args.method, given = checked(args.method, args.set)
    require_countable(args.method)
    path = _path(args.out)
    prompts, tree = _prompts(args), _grown(args)
    lab = load_lab(args)
    readable(lab, [Prompt(text) for text in prompts])
    store = Path("build") / f"tree-{path.stem}.json"
    usage, done = Usage(tree), 0
    settings = {
        **lab.identity(),
        "assets": lab.contents(args.method, given),
        "prompts": prompts_mark(prompts),
        "method": args.method,
        "knobs": given,
        "n": args.n,
        "temperature": args.temperature,
        "max_new_tokens": args.max_new_tokens,
        "seed": args.seed,
        "nodes": len(tree),
        "tree": tree_mark(tree),
    }
    if old := _state(store, settings):
        usage.counts, usage.rounds, done = old["counts"], old["rounds"], old["done"]
    counted = count_usage(
        lab,
        args.method,
        prompts,
        args.n,
        usage,
        temperature=args.temperature,
        max_new_tokens=args.max_new_tokens,
        seed=args.seed,
        minutes=args.minutes,
        start=done,
        **given,
    )
    for number in track(counted, "prompts", total=len(prompts) - done):
        done = number + 1
        state = {"settings": settings, "counts": usage.counts, "rounds": usage.rounds, "done": done}
        write(store, json.dumps(state).encode())
    if done == 0:
        raise ConfigError("No prompt was finished: give more --minutes.")
    best = _with_card(usage.best(args.keep), args, settings, prompts[:done], usage)
    path.parent.mkdir(parents=True, exist_ok=True)
    best.save(path)
    print(_told(best, args.json))
    return 0


def _state(path: Path, settings: dict[str, Any]) -> dict[str, Any] | None:
    """The counts of a run that was stopped, if they are of these settings."""
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) and found.get("settings") == settings else None


def _prompts(args: argparse.Namespace) -> list[str]:
    if args.prompts is None:
        return [p.prompt for p in load_problems(args.task, "train", args.items, args.seed)]
    lines = [(n, line) for n, line in enumerate(read_text(args.prompts).split("\n"), 1) if line.strip()][: args.items]
    if not lines:
        raise ConfigError(f"{args.prompts} holds no prompt.")
    return [_prompt(line, args.prompts, number) for number, line in lines]


def _prompt(line: str, path: Path, number: int) -> str:
    """A line as it is, or the prompt in its JSON object."""
    if not line.startswith("{"):
        return line
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path}, line {number} is not JSON: {error}.") from None
    return prompt_text(row, path, number)


def _with_card(
    tree: Template,
    args: argparse.Namespace,
    settings: dict[str, Any],
    prompts: list[str],
    usage: Usage,
) -> Template:
    name = Path(args.out).stem
    return with_card(
        tree,
        name=name,
        title=f"Optimised for {args.method}, {len(tree)} nodes",
        made_by=args.given,
        settings=settings,
        calibration={
            "task": None if args.prompts else f"{args.task}, train",
            "prompts": len(prompts),
            "sha256": settings["prompts"],
            "each": prompt_marks(prompts),
        },
        usage={
            "nodes": args.nodes,
            "depth": args.depth,
            "first": args.first,
            "ratio": args.ratio,
            "ranks": args.ranks,
            "counts": usage.counts,
            "kept": usage.kept(args.keep),
        },
        rounds=usage.rounds,
        accepted_a_round=round(sum(usage.counts) / max(usage.rounds, 1), 4),
        note="Kept are the nodes most often on the accepted path; ties go to the shallower, then the earlier node. Do "
        "not judge it on the prompts it was made from.",
    )


def show(args: argparse.Namespace) -> int:
    """Print a tree."""
    tree = load_template(args.tree) if args.tree.endswith(".json") else named_template(args.tree)
    if not args.json:
        for key, value in tree.card.items():
            print(f"{key}: {value}")
    print(_told(tree, args.json))
    return 0


def _told(tree: Template, as_json: bool) -> str:
    if as_json:
        about = {"nodes": len(tree), "depth": tree.depth, "levels": list(tree.profile), "card": dict(tree.card)}
        return json.dumps(about, ensure_ascii=False)
    return f"{len(tree)} nodes, depth {tree.depth}; nodes a level: {' '.join(map(str, tree.profile))}"
