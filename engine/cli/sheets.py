"""`trajectories show`: trajectories of several methods on one problem, the file that the page's drawer opens with."""

import argparse
import json
from datetime import UTC, datetime
from typing import Any

from engine.analysis.sheet import Sheet, by_turns
from engine.cli.options import add_models, load_lab
from engine.cli.progress import track
from engine.cli.specs import once, split
from engine.errors import ConfigError
from engine.files.written import write
from engine.kinds import COUNT, TO_FILE, option
from engine.lab import Lab
from engine.methods import get_card
from engine.tasks import FAMILIES, TESTED, Problem, get_task, load_problems
from engine.trace.events import RunEnded
from engine.tune.series import Contender, contenders

ITEM = option(int, lambda n: 0 <= n < TESTED, f"an integer from 0 to {TESTED - 1}")


def add_show(actions: Any, methods: str) -> None:
    """Register the action."""
    one = actions.add_parser("show", help="several methods on one held-out problem, written for the page to show")
    one.add_argument("--methods", default=methods, metavar="A,B,...", help=f"comma separated (default: {methods})")
    one.add_argument(
        "--task", default="arithmetic", choices=FAMILIES, help="family of the problem (default: arithmetic)"
    )
    one.add_argument(
        "--item", type=ITEM, default=0, metavar="I", help=f"which held-out problem, 0 to {TESTED - 1} (default: 0)"
    )
    one.add_argument("--n", type=COUNT, default=8, help="trajectories of each method (default: 8)")
    one.add_argument("--temperature", type=float, default=0.6, metavar="T", help="0 is greedy (default: 0.6)")
    one.add_argument(
        "--max-new-tokens", type=COUNT, default=160, metavar="N", help="limit of a trajectory (default: 160)"
    )
    one.add_argument("--seed", type=int, default=0, help="seed of draws (default: 0)")
    one.add_argument("--out", type=TO_FILE, required=True, metavar="FILE", help="written there (.json)")
    add_models(one)
    one.set_defaults(handler=show)


def show(args: argparse.Namespace) -> int:
    """Draw, write, tell tau."""
    chosen = contenders(split(args.methods))
    once((one.method, one.knobs) for one in chosen)
    lab, problem = load_lab(args), load_problems(args.task, "heldout", args.item + 1)[args.item]
    sheets = _draw(lab, args, problem, chosen)
    body = _head(lab, args, problem) | {"methods": [_one(c, sheets[c.label]) for c in chosen]}
    write(args.out, (json.dumps(body, ensure_ascii=False, separators=(",", ":")) + "\n").encode())
    for c in chosen:
        print(f"{c.label:30}" + "".join(f"{row['tau'] or 0:7.2f}" for row in sheets[c.label].rows))
    return 0


def _one(contender: Contender, sheet: Sheet) -> dict[str, Any]:
    title = get_card(contender.method).title
    return {
        "key": contender.label,
        "method": contender.method,
        "title": title,
        "knobs": dict(contender.knobs),
        "rows": sheet.rows,
    }


def _draw(lab: Lab, args: argparse.Namespace, problem: Problem, chosen: tuple[Contender, ...]) -> dict[str, Sheet]:
    task = get_task(args.task)
    sheets = {c.label: Sheet(task, problem) for c in chosen}
    lab.run(chosen[0].method, problem.prompt, max_new_tokens=8, **chosen[0].knobs)  # a warm-up
    options = {"seed": args.seed, "temperature": args.temperature, "max_new_tokens": args.max_new_tokens}
    streams = {c.label: lab.stream_trajectories(c.method, problem.prompt, args.n, **options, **c.knobs) for c in chosen}
    ended = (event for key, event in by_turns(streams) if sheets[key].see(event) and isinstance(event, RunEnded))
    for event in track(ended, "runs", total=len(chosen) * args.n):
        if event.reason == "error":
            raise ConfigError(event.message)
    return sheets


def _head(lab: Lab, args: argparse.Namespace, problem: Problem) -> dict[str, Any]:
    return {
        "kind": "trajectories",
        "command": args.given,
        "created": datetime.now(UTC).date().isoformat(),
        "target": lab.target.describe(),
        "device": str(lab.target.device),
        "prompt": problem.prompt,
        "task": args.task,
        "answer": problem.answer,
        "n": args.n,
        "temperature": args.temperature,
        "max_new_tokens": args.max_new_tokens,
        "seed": args.seed,
    }
