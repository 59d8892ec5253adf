"""`judge-train` and `judge-eval`: train and save a judge; measure it against top-K and SD on held-out problems."""

import argparse
import hashlib
import json
import sys
import time
import warnings
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from engine.analysis.judge import OWN, against_rules, long_line
from engine.analysis.words import points
from engine.cli.notes import tell
from engine.cli.options import load_lab
from engine.errors import AssetError, ConfigError
from engine.files.documents import fits
from engine.files.written import write
from engine.judge import training
from engine.judge.classifier import Settings
from engine.judge.evaluate import PLAIN, Line, Setting, collect, evaluate, report, settings, table
from engine.judge.kind import FeatureKind
from engine.judge.memo import MemoModel, remembering
from engine.judge.problems import judged, limit_of, problems
from engine.judge.served import is_served
from engine.judge.weights import Judge
from engine.lab import Lab
from engine.methods import get_card
from engine.model import Model
from engine.runs.sweep import Sweep
from engine.tasks.catalogue import SOURCED
from engine.tasks.problem import Problem

BUILD = Path("build/judge")
TOLD = {"sweep": list[float], "thresholds_by_recall": dict[str, float], "mining": dict[str, Any], "auc": float}


def train_handle(args: argparse.Namespace) -> int:
    """Train one judge and write its folder."""
    warnings.simplefilter("ignore", ConvergenceWarning)  # the largest C need not converge to be compared
    kind, chosen = (
        FeatureKind(args.token, args.read),
        Settings(args.split, args.grid, args.recall, balanced=args.balanced),
    )
    lab = load_lab(args)
    mined = training.read(args.mined, _read(lab, kind, args.ablations), args.force)
    fit = training.learn(mined, kind, chosen)
    extra: dict[str, Any] = {"ablations": training.ablations(mined, fit, kind, chosen)} if args.ablations else {}
    if args.nested:
        extra["nested"] = training.estimate_of(mined, kind, chosen)
    judge = training.judge_of(mined, fit, kind, chosen, extra)
    training.save(judge, fit, args.out, args.given)
    tell(training.one_sided(mined, fit, kind))
    numbers = {k: v for k, v in judge.meta.items() if k not in ("scores", "truth")} | {"threshold": judge.threshold}
    if args.results:
        write(args.results, (json.dumps(numbers, indent=1) + "\n").encode())
    if args.json:
        print(json.dumps(numbers, indent=1))
    else:
        print((args.out / "README.md").read_text())
    return 0


def _read(lab: Lab, kind: FeatureKind, every: bool) -> dict[str, Model]:
    """The models whose states are read, by role.

    Raises:
        ConfigError: one is not loaded.
    """
    models = {"target": lab.target, **lab.models}
    roles = {"target", "draft"} if every else {block.split(":")[0] for block in kind.blocks}
    if missing := sorted(roles - models.keys()):
        raise ConfigError(
            f"The judge reads a {missing[0]} model, and none is loaded: give --{missing[0]}, or --read target."
        )
    if "target" in roles and is_served(lab.target):
        raise ConfigError("A server does not tell the target's states: train a judge with --read draft.")
    return {role: models[role] for role in sorted(roles)}


def eval_handle(args: argparse.Namespace) -> int:
    """Evaluate each task's judge; results are written after each task, and an interrupted task goes on where it was."""
    lab = load_lab(args)
    if not args.times:
        lab.target = remembering(lab.target)
        lab.models = {role: remembering(model) for role, model in lab.models.items()}
    results = {task: found for task in args.tasks if (found := _task(args, lab, task))}
    if args.json:
        print(json.dumps(results, indent=1))
    return 0


def _task(args: argparse.Namespace, lab: Lab, task: str) -> dict[str, Any]:
    args = argparse.Namespace(**{**vars(args), "limit": args.limit or limit_of(task)})
    role = _role(lab, task)
    judge = _trained(lab, role)
    judge.check(lab.revisions, task)
    print(f"{task}: the judge in {lab.asset_paths[role]} ({role})", file=sys.stderr)
    for note in _notes(args, lab, judge):
        print(f"note: {note}", file=sys.stderr)
    other = next((name for name in lab.asset_paths if name.startswith("judge:") and lab.asset(name).task != task), None)
    transfer = (other.partition(":")[2], sweep(_trained(lab, other), args.thresholds)[::2]) if other else None
    recalls = {r: judge.meta["thresholds_by_recall"].get(str(r)) for r in training.RECALLS if r > 0.9}
    safer = {f"{r:.0%}": t for r, t in recalls.items() if t is not None}
    name, thresholds = role.partition(":")[2] or "own", sweep(judge, args.thresholds)
    math = "accuracy" in judged(task).measures
    found = settings(args.window, thresholds, name, transfer, safer=safer, method=args.method, math=math)
    items = problems(task, "heldout", args.items, args.problem_seed, args.source, args.shots, args.shots_from)
    lines = _lines(args, lab, task, found, items, judge)
    if len(lines) < len(items) and not args.shard.alone:
        print(f"{task}: {len(lines)} of {len(items)} problems are done; the rest is others'.", file=sys.stderr)
        return {}
    result = report(collect(found, lines)) | _about(args, lab, task, judge)
    named = f"judge-{task}{_variant(args)}"
    write(args.out / f"{named}.json", (json.dumps(result, indent=1) + "\n").encode())
    write(args.out / f"{named}.md", f"# AutoJudge on {task}\n\n{page(result)}".encode())
    if not args.json:
        print(page(result))
    return result


def page(result: Mapping[str, Any]) -> str:
    """A result in Markdown: what has to be known to read it, its rows, what they say about the claims."""
    notes = "".join(f"{note}\n\n" for note in result["notes"])
    return f"{notes}{table(result['task'], result)}\n\n{_claims(result)}\nMade by `{result['command']}`.\n"


def _variant(args: argparse.Namespace) -> str:
    """What a result's file is called besides its task: the usual setting has no word, so that others are kept apart."""
    words = [
        "eagle" if args.method == "autojudge_eagle" else "",
        f"t{args.temperature:g}" if args.temperature else "",
        f"{args.shots}-shot" if args.shots else "",
        "timed" if args.times else "",
        args.dtype if args.dtype != "auto" else "",
    ]
    return "".join(f"-{word}" for word in words if word)


def _decoding(args: argparse.Namespace, judge: Judge) -> dict[str, Any]:
    """How all settings decode: prompts go through the chat template when those that the judge was mined on did."""
    chat = bool(judge.meta["mining"].get("chat", False))
    return {"max_new_tokens": args.limit, "temperature": args.temperature, "seed": args.seed, "chat": chat}


def _notes(args: argparse.Namespace, lab: Lab, judge: Judge) -> list[str]:
    """What has to be known to read the numbers: other drafts, temperature or numbers than the judge learnt from."""
    mining, notes = judge.meta["mining"], []
    along = mining.get("eagle_online") or "the draft model"
    drafter = get_card(args.method).drafter if args.method == "autojudge_eagle" else "the draft model"
    if along != drafter:
        notes.append(f"This judge was mined along {along}, and is evaluated on the drafts of {drafter}.")
    mined = float(mining.get("temperature", 0.0))
    if mined != args.temperature:
        notes.append(f"This judge was mined at temperature {mined:g}, and is evaluated at {args.temperature:g}.")
    if judge.dtype != (here := lab.target.dtype) and not is_served(lab.target):
        notes.append(f"This judge learnt from states in {judge.dtype}, and reads states in {here} here.")
    if judge.task in SOURCED:
        notes.append(
            "Accuracy is the share of texts that are one of the right wordings; BLEU is that of the corpus against "
            "the commonest wording alone."
        )
    return notes


def _role(lab: Lab, task: str) -> str:
    """Which judge: one's own (--asset judge=DIR) if it was trained for the task, else the preset's for the task.

    Raises:
        ConfigError: none is loaded.
    """
    roles = [role for role in ("judge", f"judge:{task}") if role in lab.asset_paths]
    if not roles:
        raise ConfigError(
            f"No judge for {task} is loaded: mine, train, then give --asset judge=DIR or name it in the preset's "
            "[assets]."
        )
    return next((role for role in roles if lab.asset(role).task == task), roles[-1])


def _trained(lab: Lab, role: str) -> Judge:
    """A loaded judge, of whose training an evaluation reads some numbers.

    Raises:
        AssetError: its file does not tell them.
    """
    judge: Judge = lab.asset(role)
    lacking = [name for name, kind in TOLD.items() if not fits(judge.meta.get(name), kind)]
    if not lacking and not judge.meta["sweep"]:
        lacking.append("sweep")
    if not lacking and not fits(judge.meta["mining"].get("temperature", 0.0), float):
        lacking.append("mining")
    if lacking:
        raise AssetError(
            f"{lab.asset_paths[role]} does not tell how the judge was trained: {', '.join(lacking)} of its judge.json "
            "cannot be read."
        )
    return judge


def sweep(judge: Judge, n: int) -> list[float]:
    """Thresholds spread evenly over the judge's 26-quantile sweep, ends left out."""
    all_of_them = list(judge.meta["sweep"])
    inner = all_of_them[1:-1] or all_of_them
    picks = {round(i * (len(inner) - 1) / max(n - 1, 1)) for i in range(n)}
    return [round(inner[i], 6) for i in sorted(picks)]


def _lines(
    args: argparse.Namespace, lab: Lab, task: str, found: Sequence[Setting], items: Sequence[Problem], judge: Judge
) -> list[Line]:
    """One line a problem, in a folder of build/ whose name says what was run, and which processes share."""
    what = [
        str(found),
        lab.identity(),
        [lab.contents(setting.method, setting.knobs) for setting in found],
        judge.threshold,  # of the card, not of the weights
        args.limit,
        args.problem_seed,
        [args.source, _contents(args.source)],
        args.shots,
        [args.shots_from, _contents(args.shots_from)],
        args.times,
        _decoding(args, judge),
    ]
    named = hashlib.sha256(json.dumps(what).encode()).hexdigest()[:12]
    folder, settings = BUILD / f"eval-{task}-{named}", {"task": task, "what": json.dumps(what)}
    sweep = Sweep(folder, settings, args.shard, partial(_flaw, len(found)))
    known = sweep.done()
    left = [unit for unit in range(len(items)) if args.shard.takes(unit) and unit not in known]
    memories = [m for m in (lab.target, *lab.models.values()) if isinstance(m, MemoModel)]
    marked, began = judged(task), time.perf_counter()
    for done, unit in enumerate(left, 1):
        decoding = _decoding(args, judge) | {"seed": args.seed + unit}  # with one for all they would not be independent
        line = evaluate(lab, found, items[unit], marked.score, memories, marked.counts, **decoding)
        sweep.keep(unit, {"line": line})
        spent = time.perf_counter() - began
        rest = spent / done * (len(left) - done) / 60
        print(f"{task}: {done}/{len(left)} problems, about {rest:.1f} min left", file=sys.stderr, flush=True)
        if args.minutes and spent > args.minutes * 60:
            break
    return [unit["line"] for unit in sweep.found() if unit["unit"] < len(items)]


def _contents(source: str) -> str:
    """What a file of problems holds, so that an edited one is another; nothing of a data set."""
    path = Path(source)
    return hashlib.sha256(path.read_bytes()).hexdigest() if source and path.is_file() else ""


def _flaw(settings: int, unit: Mapping[str, Any]) -> str:
    """What is wrong with a line of the sweep; nothing of a sound one."""
    line = unit.get("line")
    if fits(line, list[list[int]]) and len(unit["line"]) == settings and all(len(row) >= PLAIN for row in unit["line"]):
        return ""
    return f"it does not hold the numbers of {settings} results"


def _about(args: argparse.Namespace, lab: Lab, task: str, judge: Judge) -> dict[str, Any]:
    models = {"target": lab.target.describe()} | {role: m.describe() for role, m in lab.models.items()}
    return {
        "task": task,
        "window": args.window,
        "limit": args.limit,
        "decoding": _decoding(args, judge),
        "shots": args.shots,
        "notes": _notes(args, lab, judge),
        "problem_seed": args.problem_seed,
        "threshold": judge.threshold,
        "auc": judge.meta["auc"],
        "models": models,
        "command": args.given,
    }


def _claims(result: Mapping[str, Any]) -> str:
    """What the numbers say about the claims, whichever way."""
    rows = {row["name"]: row for row in result["rows"]}
    sd, own = result["rows"][0], rows[OWN]
    more = "more" if own["accepted_per_call"] > sd["accepted_per_call"] else "not more"
    lines = [
        f"- At the 90 % recall threshold ({result['threshold']:.4f}) AutoJudge accepts {own['accepted_per_call']:.2f} "
        f"drafted tokens a target call, {more} than {sd['name'].upper()} with the same window "
        f"({sd['accepted_per_call']:.2f}); accuracy drops by {points(own['accuracy_drop'], '.1f')} points on "
        f"{result['problems']} held-out problems.",
        _claim("top-K", result["above_topk"], result["gap_to_topk"], long_line(result["rows"], "topk", "top-K's")),
    ]
    if result["above_transfer"] is not None:
        line = long_line(result["rows"], "transfer", "that judge's")
        lines.append(_claim("the other task's judge", result["above_transfer"], result["gap_to_transfer"], line))
    if beside := against_rules(result["rows"]):
        lines.append(f"- {beside}")
    return "\n".join(lines) + "\n"


def _claim(what: str, above: Mapping[str, Any] | None, gap: Mapping[str, Any] | None, line: str | None) -> str:
    if above is None or gap is None:
        return f"- Its curve shares no range with that of {what}."
    where = f"at or above that of {what} on {above['mean']:.0%} of the common range"
    by = f"by {points(gap, '+.1f')} points on average"
    rests = f" {line}" if line else ""
    return f"- Its curve of accuracy against tokens a target call lies {where}, {by}.{rests}"
