"""`trajectories`: several answers to each prompt, one after another; STAND's tables and figures at the lab's scale."""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from engine.analysis.ngrams import ORDERS, overlap_table
from engine.analysis.seriesreport import series_report, trajectory_counts
from engine.analysis.trajectories import by_problem, methods_of
from engine.analysis.votes import majority, majority_right
from engine.cli.options import (
    add_models,
    add_prompts,
    add_sampling,
    add_shard,
    decoding,
    load_lab,
    prompts,
    readable,
    settle_task,
)
from engine.cli.progress import track
from engine.cli.results import acceptance_report, add_counts, add_results
from engine.cli.sheets import add_show
from engine.cli.specs import checked, once, split
from engine.config import TRAJECTORY_TEMPERATURE, TRAJECTORY_TOKENS, Sampling
from engine.errors import ConfigError
from engine.files.held import hold
from engine.kinds import COUNT, MINUTES, TO_FILE, TO_FOLDER
from engine.methods import get_card
from engine.tasks import FAMILIES
from engine.tasks.marking import OWN, Marking, marking
from engine.tasks.problem import Problem
from engine.tasks.prompts import Prompt
from engine.trace.store import Trace, sound
from engine.trees.template import named_template, tree_names
from engine.tune.rows import Rows, read_rows
from engine.tune.series import Plan, contenders, run_series
from engine.tune.speed import measure
from engine.tune.trees import met_again

MAIN = "stand,recycle,pld,anpd,sam"
ABLATION = "stand:drafting=deterministic:tree={d},stand:drafting=stochastic:tree={s},stand:drafting=gumbel:tree={s}"
TREES = "stand:tree=heuristic,stand:tree={s}"


def add_parser(subparsers: Any) -> None:
    """Register the command and its actions."""
    parser = subparsers.add_parser("trajectories")
    actions = parser.add_subparsers(dest="action", required=True, metavar="action")
    _draw_parser(actions)
    add_show(actions, MAIN)
    add_results(actions)
    for name, default, words in (
        ("compare", MAIN, "tables 1 and 2: acceptance length and throughput over 1, 4, 8, 16 trajectories"),
        ("ablation", ABLATION, "table 3: deterministic, stochastic, Gumbel top-k, each with its own tree"),
        ("trees", TREES, "table 4: the heuristic tree against the optimised one"),
    ):
        _series_parser(actions, name, default, words)
    for name, handler, words in (
        ("tables", tables, "tables 1 to 4 of a file that compare, ablation or trees wrote"),
        ("overlap", overlap, "figure 2: share of n-grams that trajectories repeat"),
        ("acceptance", acceptance, "figure 3: acceptance probability, deterministic against stochastic drafting"),
    ):
        one = actions.add_parser(name, help=words, description=words)
        one.add_argument("file", type=Path, help="rows written by compare, ablation or trees (.jsonl)")
        add_counts(one)
        one.add_argument("--method", help="use the trajectories of this method (default: the first in the file)")
        one.add_argument("--json", action="store_true", help="JSON instead of text")
        add_models(one)
        one.set_defaults(handler=handler)
    speed_parser = actions.add_parser(
        "speed", help="milliseconds that each lookup drafter takes a round, update and draft together"
    )
    add_models(speed_parser)
    speed_parser.add_argument(
        "--history", type=COUNT, default=10_000, metavar="N", help="tokens read before (default: 10000)"
    )
    speed_parser.add_argument("--json", action="store_true", help="JSON instead of text")
    speed_parser.set_defaults(handler=speed)
    profile_parser = actions.add_parser("profile", help="figure 5: nodes a level of the shipped trees")
    profile_parser.add_argument("--json", action="store_true", help="JSON instead of text")
    profile_parser.set_defaults(handler=profile)


def _draw_parser(actions: Any) -> None:
    one = actions.add_parser("draw", help="n answers to each prompt by one method, with the majority's answer")
    one.add_argument("method", help="a method of `python -m engine methods`, with knobs as sd:gamma=7")
    one.add_argument("--n", type=COUNT, default=8, help="trajectories of each prompt (default: 8)")
    one.add_argument("--save", type=TO_FOLDER, metavar="FOLDER", help="write every trace there (.jsonl.gz)")
    one.add_argument("--record", choices=("full", "light"), default="light", help="what traces keep (default: light)")
    one.add_argument("--json", action="store_true", help="JSON instead of text")
    add_models(one)
    add_prompts(one)
    add_sampling(one, method=True)
    one.set_defaults(handler=draw, temperature=TRAJECTORY_TEMPERATURE, max_new_tokens=TRAJECTORY_TOKENS)


def _series_parser(actions: Any, name: str, default: str, words: str) -> None:
    one = actions.add_parser(name, help=words, description=words)
    one.add_argument("--methods", metavar="A,B,...", help="methods, comma separated, knobs as stand:tree=heuristic")
    add_prompts(one, "arithmetic", 50)
    one.add_argument("--chat", action="store_true", help="wrap prompts in the target's chat template")
    one.add_argument("--n", type=COUNT, default=8, help="trajectories of each problem (default: 8)")
    heat = TRAJECTORY_TEMPERATURE
    one.add_argument("--temperature", type=float, default=heat, metavar="T", help=f"0 is greedy (default: {heat})")
    one.add_argument(
        "--max-new-tokens", type=COUNT, default=200, metavar="N", help="limit of a trajectory (default: 200)"
    )
    one.add_argument("--seed", type=int, default=0, help="seed of draws (default: 0)")
    one.add_argument(
        "--minutes", type=MINUTES, default=0.0, help="stop after so many; run again to go on (default: no limit)"
    )
    one.add_argument(
        "--out", type=TO_FILE, metavar="FILE", help=f"rows, one a trajectory (default: build/{name}.jsonl)"
    )
    one.add_argument("--json", action="store_true", help="JSON instead of text")
    add_models(one)
    add_shard(one)
    one.set_defaults(handler=series, defaults=default, name=name, ks=[1, 4, 8, 16], method=None)


def draw(args: argparse.Namespace) -> int:
    """Draw and vote."""
    method, given = checked(args.method, args.set)
    lab, found = load_lab(args), prompts(args)
    readable(lab, found, args.chat)
    mark = marking(args.task) if args.task else None
    report: list[dict[str, Any]] = []
    for i, prompt in enumerate(track(found, "prompts", quiet=args.json)):
        traces = list[Trace]()
        options: dict[str, Any] = decoding(args) | {"seed": args.seed + i} | given
        for trace in lab.trajectories(method, prompt.text, args.n, record=args.record, **options):
            if args.save:
                trace.save(args.save / f"{i:04d}-{len(traces):02d}.jsonl.gz")
            traces.append(sound(trace, method))
        entry: dict[str, Any] = {
            "prompt": prompt.text,
            "texts": [t.text for t in traces],
            "tau": [t.metrics()["tau"] for t in traces],
        }
        if mark and prompt.problem:
            vote = majority([mark.extract(t.text) for t in traces], mark.equivalent)
            entry |= {
                "answer": vote.answer,
                "share": vote.share,
                "right": _voted(mark, prompt.problem, [t.text for t in traces]),
            }
        report.append(entry)
        if not args.json:
            print(_drawn(entry))
    if args.json:
        print(json.dumps(report, indent=1, ensure_ascii=False))
    return 0


def _voted(mark: Marking, problem: Problem, texts: Sequence[str]) -> bool | None:
    """Whether the majority is right; None where there is nothing right, or programs may not be run."""
    right = [mark.right(problem, text) for text in texts]
    if None in right:
        return None
    return majority_right([mark.extract(text) for text in texts], [bool(one) for one in right], mark.equivalent)


def _drawn(entry: dict[str, Any]) -> str:
    lines = [entry["prompt"]] + [
        f"  {'    -' if tau is None else f'{tau:5.2f}'} tokens a call |{text}"
        for tau, text in zip(entry["tau"], entry["texts"], strict=True)
    ]
    if "answer" in entry:
        told = {True: ", right", False: ", wrong", None: ""}[entry["right"]]
        lines.append(f"  majority: {entry['answer']} ({entry['share']:.0%}){told}")
    return "\n".join(lines)


def series(args: argparse.Namespace) -> int:
    """Run what is missing of a series, then print its tables."""
    settle_task(args)
    lab = load_lab(args)
    text = args.methods or args.defaults.format(s=_tree("stand_stochastic"), d=_tree("stand_deterministic"))
    plan = Plan(
        contenders(split(text)),
        args.task or OWN,
        "heldout",
        args.items or args.usual_items,
        args.n,
        args.temperature,
        args.max_new_tokens,
        args.seed,
        () if args.task in FAMILIES else tuple(one.problem or _own(one) for one in prompts(args)),
        args.chat,
    )
    _check(plan)
    readable(lab, [Prompt(problem.prompt, problem.key) for problem in plan.tasks()], args.chat)
    _warn(plan, [problem.prompt for problem in plan.tasks()])
    args.file = args.out or Path("build") / f"{args.name}.jsonl"
    with hold(args.shard.own(args.file)):
        rows = Rows(args.file, plan.settings(lab), args.shard)
        problems = plan.tasks()
        sets = [(contender.label, problem.key) for problem in problems for contender in plan.contenders]
        mine = sum(args.shard.takes(number) for number in range(len(problems))) * len(plan.contenders)
        total = mine - len({(r["method"], r["problem"]) for r in rows.rows})
        for _ in track(run_series(lab, plan, rows, args.minutes), "sets", total=total, quiet=args.json):
            pass
        missing = rows.gather(sets)
    if missing and not args.shard.alone:
        print(f"{len(sets) - missing} of {len(sets)} sets are done; the rest is others'.", file=sys.stderr)
        return 0
    return tables(args)


def _own(prompt: Prompt) -> Problem:
    """A prompt of a file as a problem without a right answer; its first turn is asked."""
    return Problem(OWN, prompt.key or prompt.text, prompt.text, prompt.solution, "")


def _check(plan: Plan) -> None:
    """Nothing when a plan can be run, so that no file is begun for one that cannot.

    Raises:
        ConfigError: an unknown task, method or knob, a method named twice, or a temperature out of range.
    """
    marking(plan.family)
    keys = [problem.key for problem in plan.given]
    if twice := next((key for key in keys if keys.count(key) > 1), None):
        raise ConfigError(f"Two of the prompts have the id {twice!r}, by which rows are kept: give each its own.")
    Sampling(plan.temperature)
    once((contender.method, contender.knobs) for contender in plan.contenders)


def _warn(plan: Plan, prompts: Sequence[str]) -> None:
    """Say it when a tree is about to be judged on prompts that it was optimised on (register S13)."""
    for contender in plan.contenders:
        name = get_card(contender.method).resolve(contender.knobs).get("tree")
        if name in tree_names() and (again := met_again(named_template(str(name)), prompts)):
            seen = f"{again} of these {len(prompts)} prompts"
            words = f"the tree {name} was optimised on {seen}, and will look better than it is"
            print(f"warning: {contender.label}: {words}", file=sys.stderr)


def _tree(name: str) -> str:
    """The tree if it is shipped, else the one that is grown."""
    return name if name in tree_names() else "best_first"


def tables(args: argparse.Namespace) -> int:
    """Tables 1 to 4 from rows."""
    settings, rows = read_rows(args.file)
    names, ks = methods_of(rows), trajectory_counts(rows, args.ks)
    report = series_report(settings, rows, ks)
    print(json.dumps(report, indent=1) if args.json else _tables_text(report, names, ks))
    return 0


def _tables_text(report: dict[str, Any], names: Sequence[str], ks: Sequence[int]) -> str:
    lines = [
        "tokens per target call (correction or bonus counted), mean over problems with 95 % interval; tokens/s of "
        "decoding"
    ]
    lines.append(f"{'method':44}" + "".join(f"{'1 trajectory' if k == 1 else f'{k} trajectories':>30}" for k in ks))
    for name in names:
        cells = [next(c for c in report["over_k"] if c["method"] == name and c["k"] == k) for k in ks]
        speeds = [f"{c['tokens_per_s']:.0f}/s" if c["tokens_per_s"] else "-" for c in cells]
        lines.append(
            f"{name:44}" + "".join(f"{_interval(c['tau']) + ' ' + s:>30}" for c, s in zip(cells, speeds, strict=True))
        )
    lines.append("\ntokens per target call of the i-th trajectory alone")
    for name in names:
        each = [c for c in report["by_trajectory"] if c["method"] == name and c["tau"]]
        lines.append(f"{name:44}" + "".join(f"{c['tau']['mean']:7.2f}" for c in each))
    lines.append("\nlast trajectory less the first, paired over problems")
    lines += [f"{g['method']:44}{_interval(g['difference'])}  ({g['problems']} problems)" for g in report["growth"]]
    if report["differences"]:
        lines.append(f"\n{names[0]} less the others over {max(ks)} trajectories, paired over problems")
        lines += [f"{d['b']:44}{_interval(d['difference'])}  ({d['problems']} problems)" for d in report["differences"]]
    if report["accuracy"]:
        lines.append("\nshare of problems that the majority over the first k gets right")
    lines += [
        f"{name:44}" + "".join(f"{k:>6}: {v:.2f}" for k, v in found.items())
        for name, found in report["accuracy"].items()
    ]
    return "\n".join(lines)


def _interval(value: dict[str, Any] | None) -> str:
    if not value:
        return "-"
    if value["low"] is None:
        return f"{value['mean']:.3f}"
    return f"{value['mean']:.3f} [{value['low']:.3f}, {value['high']:.3f}]"


def _chosen(args: argparse.Namespace) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    settings, rows = read_rows(args.file)
    names = methods_of(rows)
    method = args.method or (names[0] if names else "")
    if method not in names:
        raise ConfigError(f"{args.file} has no rows of {method!r}; it has: {', '.join(names)}.")
    return settings, [row for row in rows if row["method"] == method]


def overlap(args: argparse.Namespace) -> int:
    """Figure 2: lossless methods write the target's own text, so the trajectories of any of them serve."""
    _, rows = _chosen(args)
    problems = [[row["ids"] for row in group] for group in by_problem(rows, rows[0]["method"]).values()]
    table = overlap_table(problems, trajectory_counts(rows, args.ks), ORDERS)
    if args.json:
        print(json.dumps(table, indent=1))
        return 0
    print(f"{'trajectories':>12} {'n-gram':>7} {'repeated':>9} {'last seen before':>17}")
    for row in table:
        print(
            f"{row['trajectories']:>12} {row['order']:>7} {_percent(row['repeated']):>9} "
            f"{_percent(row['seen_before']):>17}"
        )
    return 0


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:.1%}"


def acceptance(args: argparse.Namespace) -> int:
    """Figure 3: the table replayed along the trajectories of a file."""
    settings, rows = _chosen(args)
    report = acceptance_report(load_lab(args), settings, rows, quiet=args.json)
    if args.json:
        print(json.dumps(report, indent=1))
        return 0
    print(f"{'':16}{'positions':>10}{'deterministic':>26}{'stochastic':>26}{'difference':>26}")
    for name, row in report.items():
        print(
            f"{name:16}{row['n']:>10}"
            + "".join(f"{_interval(row[k]):>26}" for k in ("deterministic", "stochastic", "difference"))
        )
    return 0


def speed(args: argparse.Namespace) -> int:
    """Time the lookup structures, in processor time."""
    costs = list(measure(load_lab(args), args.history))
    if args.json:
        print(json.dumps([asdict(cost) for cost in costs], indent=1))
        return 0
    print(f"{'method':14}{'draft ms':>10}{'update ms':>11}{'both ms':>9}{'95 % below':>12}{'entries':>10}")
    for c in costs:
        print(f"{c.method:14}{c.draft:>10.3f}{c.update:>11.3f}{c.both:>9.3f}{c.worst:>12.3f}{c.entries:>10}")
    return 0


def profile(args: argparse.Namespace) -> int:
    """Figure 5: nodes at each depth of every shipped tree."""
    trees = {name: named_template(name) for name in tree_names()}
    if args.json:
        print(
            json.dumps(
                {name: {"nodes": len(t), "depth": t.depth, "profile": t.profile} for name, t in trees.items()}, indent=1
            )
        )
        return 0
    deepest = max((t.depth for t in trees.values()), default=0)
    print(f"{'tree':24}{'nodes':>6}  " + "".join(f"{d:>4}" for d in range(1, deepest + 1)))
    for name, tree in trees.items():
        print(f"{name:24}{len(tree):>6}  " + "".join(f"{n:>4}" for n in tree.profile))
    return 0
