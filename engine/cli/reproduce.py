"""`reproduce`: the tables and figures of the five papers at the lab's scale; what is recorded, and what is missing."""

import argparse
import json
import shlex
import sys
from collections.abc import Mapping, Sequence
from contextlib import chdir
from itertools import pairwise
from pathlib import Path
from typing import Any

from engine.analysis.words import estimate
from engine.cli.notes import tell
from engine.cli.options import add_models, add_shard, load_lab
from engine.cli.reproducing import Running, made, prompts_of
from engine.errors import ConfigError
from engine.files.places import ROOT, there
from engine.kinds import COUNT, MINUTES, TO_FOLDER
from engine.lab import Lab
from engine.papers.entries import Item, Paper, chosen
from engine.papers.results import FOLDER, follows, load, place, save, verdict_of
from engine.papers.words import evidence, form, scaled

Entry = tuple[Paper, Item]
MODELS = (
    "preset",
    "target",
    "draft",
    "target_endpoint",
    "target_model",
    "eagle",
    "asset",
    "languages",
    "dtype",
)  # options that say which models make a result
PAIR = ("--target", "--draft", "--target-endpoint")
OTHERS = Path("build/reproduced")  # results of other models than the recorded ones, below the working folder
SHOWN = "python -m engine trajectories profile"  # writes nothing: what it shows is shipped
MODELLESS = ("python -m engine pooled ", SHOWN)  # they read what others wrote
ALL = (*MODELS, "items", "times")  # and how many runs, and whether with speeds
UNSAID: tuple[Any, ...] = (None, "", "auto", False, [])  # of options that were not given
MARKS = {"holds": "+", "fails": "-", "open": "?", "missing": " "}


def add_parser(subparsers: Any) -> None:
    """Register the command."""
    parser = subparsers.add_parser("reproduce")
    parser.add_argument(
        "what",
        nargs="?",
        default="",
        metavar="PAPER[:ITEM]",
        help="such as easd, or easd:T1 (default: everything that is not recorded yet)",
    )
    parser.add_argument("--list", action="store_true", help="all tables and figures, with their verdicts; run nothing")
    parser.add_argument("--again", action="store_true", help="measure again what is recorded")
    parser.add_argument(
        "--decide",
        action="store_true",
        help="tables, statements and verdicts anew from what is recorded, as after a change of an entry; run nothing",
    )
    parser.add_argument("--items", type=COUNT, metavar="N", help="prompts a task (default: as the entry says)")
    parser.add_argument(
        "--minutes", type=MINUTES, default=0.0, metavar="M", help="stop after so many; run again to go on (0: never)"
    )
    parser.add_argument(
        "--times", action="store_true", help="also speeds: for a machine on which nothing else runs meanwhile"
    )
    parser.add_argument(
        "--out",
        type=TO_FOLDER,
        metavar="FOLDER",
        help="results, and below it files that --again makes anew for them (default: docs/results/papers and the "
        f"recorded files; of other models, or of fewer prompts than are recorded, {OTHERS})",
    )
    parser.add_argument(
        "--keep",
        type=TO_FOLDER,
        default=Path("build/papers"),
        metavar="FOLDER",
        help="finished runs, to go on from there (default: build/papers)",
    )
    parser.add_argument("--json", action="store_true", help="entries or results as JSON")
    add_models(parser, "--pair", usual="each item's own")
    add_shard(parser)
    parser.set_defaults(handler=handle)


def handle(args: argparse.Namespace) -> int:
    """List, or run what is missing."""
    found, files, named = chosen(args.what), _files(args), bool(args.out)
    args = argparse.Namespace(**{**vars(args), "out": _out(args).resolve()})
    if args.list:
        print(json.dumps([_listed(args, one) for one in found], indent=1) if args.json else as_list(args, found))
        return 0
    if args.decide:
        return _decide(args, found)
    wanted = [one for one in found if one[1].plans or one[1].source]
    if not wanted:
        _, item = found[0]
        raise ConfigError(f"Nothing is measured for {args.what}: {item.untestable or 'it is a scheme or an example.'}")
    if not args.what and not args.again:
        wanted = [one for one in wanted if not place(*one, args.out).is_file()]
    results, labs = list[dict[str, Any]](), dict[str | None, Lab]()
    running = Running(args.keep, args.items, args.times, args.minutes, args.shard)
    for entry in wanted:
        paper, item = entry
        print(f"{paper.key}:{item.id} {item.name}: {item.shows}", file=sys.stderr)
        out = args.out if named or args.out != FOLDER else _beside(args, *entry)
        result = _measured(args, entry, files, labs, running)
        if result is None and running.over():
            print("stopped at the time that was given; run again to go on", file=sys.stderr)
            return 1
        if result is None:
            print(f"  {paper.key}:{item.id}: the rest is others'", file=sys.stderr)
            continue
        results.append(result)
        told = save(paper, item, result, out)
        if out != FOLDER:
            print(f"  written: {told}", file=sys.stderr)
        if not args.json:
            print(as_text(entry, result))
    if args.json:
        print(json.dumps(results, indent=1))
    return 0


def _measured(
    args: argparse.Namespace, entry: Entry, files: Path, labs: dict[str | None, Lab], running: Running
) -> dict[str, Any] | None:
    """An entry's result, with the command that makes it again: by its runs, or from files that other commands make,
    which are made where they are missing; None where runs are missing."""
    paper, item = entry
    bearing = ALL if item.plans else MODELS if _gather(args, item, files) else ()
    tell(_passed_over(args, *entry, bearing))
    if item.plans:
        result = made(paper, item, _lab(args, item, labs), running)
    else:
        result = _from_source(item, _roots(files if bearing else ROOT, bool(_given(args, bearing))))
    return None if result is None else _called(result | {"command": _again(args, *entry, bearing)})


def _decide(args: argparse.Namespace, found: Sequence[Entry]) -> int:
    """Write again what follows from each recorded result, and say where a verdict changed."""
    for entry in found:
        if (result := load(*entry, args.out)) is None:
            continue
        roots = _roots(args.out, not _as_recorded(entry, result)) if args.out != FOLDER else (ROOT,)
        now = _called(result | follows(entry[1], result, *roots))
        save(*entry, now, args.out)
        if now["verdict"] != result["verdict"]:
            print(f"{entry[0].key}:{entry[1].id}: {now['verdict']}, no longer {result['verdict']}")
    return 0


def _lab(args: argparse.Namespace, item: Item, labs: dict[str | None, Lab]) -> Lab:
    """The models of an item's runs: those that the options name, else its own pair; loaded once."""
    preset = item.pair if args.preset is None and args.target is None else args.preset
    if preset not in labs:
        labs[preset] = load_lab(argparse.Namespace(**{**vars(args), "preset": preset}))
    return labs[preset]


def _again(args: argparse.Namespace, paper: Paper, item: Item, bearing: Sequence[str]) -> str:
    """The command that makes this result again."""
    words = ["python", "-m", "engine", "reproduce", f"{paper.key}:{item.id}"]
    return shlex.join([*words, *(word for option in _given(args, bearing) for word in option)])


def _given(args: argparse.Namespace, names: Sequence[str]) -> list[list[str]]:
    """Those of some options that were given, each as its words."""
    found = list[list[str]]()
    for name in names:
        value, option = getattr(args, name), f"--{name.replace('_', '-')}"
        if value is True:
            found.append([option])
        elif value not in UNSAID:
            found += [[option, str(one)] for one in (value if isinstance(value, list) else [value])]
    return found


def _passed_over(args: argparse.Namespace, paper: Paper, item: Item, bearing: Sequence[str]) -> str:
    """Which options that were given do not bear on an item that is read from files; empty where there are none."""
    other = list(dict.fromkeys(option for option, *_ in _given(args, [name for name in ALL if name not in bearing])))
    if not other:
        return ""
    return f"  {paper.key}:{item.id} is read from {', '.join(item.source)}; no bearing on that: {', '.join(other)}"


def _beside(args: argparse.Namespace, paper: Paper, item: Item) -> Path:
    """The folder of a result that nobody named: that of the recorded ones, or where these have more another, which is
    told."""
    if not (lacking := _lacking(args, paper, item)):
        return FOLDER
    out = OTHERS.resolve()
    told = f"{lacking}: that result stays, and this one is written below {out} (--out {FOLDER} replaces it)"
    print(f"  {told}", file=sys.stderr)
    return out


def _lacking(args: argparse.Namespace, paper: Paper, item: Item) -> str:
    """What the recorded result of an item has and these runs would not: more prompts of a task, or speeds; empty where
    they have as much, or nothing is recorded."""
    recorded = load(paper, item, args.out) if item.plans else None
    if recorded is None:
        return ""
    now, name = prompts_of(item.plans, args.items), f"{paper.key}:{item.id}"
    for task, count in recorded.get("prompts", {}).items():
        if count > now.get(task, 0):
            return f"{name} is recorded with {count} prompts of {task}, and these are {now.get(task, 0)}"
    return f"{name} is recorded with speeds, which --times takes" if recorded.get("times") and not args.times else ""


def _out(args: argparse.Namespace) -> Path:
    """The folder of results: of other models than the recorded ones never that of the recorded results."""
    return args.out or (OTHERS if _given(args, MODELS) else FOLDER)


def _files(args: argparse.Namespace) -> Path:
    """The folder below which the files that items are read from are made anew: the recorded ones are overwritten by the
    recorded models alone, where no other place is named."""
    return _out(args).resolve() if args.out or _given(args, MODELS) else ROOT


def _gather(args: argparse.Namespace, item: Item, files: Path) -> bool:
    """Make the files that an item reads, where a recorded one is missing or wanted anew, below the folder `files`;
    whether one was. Its commands are this program's own, and one that says with `--out` which file it makes is run for
    that alone."""
    there = {name for name in item.source if (ROOT / name).is_file() and not args.again}
    if there.issuperset(item.source):
        return False
    from engine.cli import main  # noqa: PLC0415  (it knows this command)

    if given := _given(args, MODELS):
        there = set()  # all are of the same models
    models = [word for option, *value in given for word in (option, *(_anywhere(one) for one in value))]
    files.mkdir(parents=True, exist_ok=True)
    if files != ROOT:
        print(f"  files are written below {files}", file=sys.stderr)
    for command in item.commands:
        words = shlex.split(command)[3:]
        if there.intersection(words):
            continue
        words = words if command.startswith(MODELLESS) else [*_pairless(args, words), *models]
        told = shlex.join(["python", "-m", "engine", *words])
        print(f"  {told}", file=sys.stderr)
        with chdir(files):
            status = main(words)
        if status:
            raise ConfigError(f"{told} ended with status {status}, in {files}.")
    if all(command.startswith(SHOWN) for command in item.commands):
        return False
    for name in item.source:
        if given and not (files / name).is_file():
            told = "no command of this entry makes it, and the recorded one is of the embedded pair: left out"
            print(f"  {name}: {told}", file=sys.stderr)
    return True


def _pairless(args: argparse.Namespace, words: Sequence[str]) -> list[str]:
    """The words of a command, without the pair that it names where a target is given in its place."""
    if not args.target or "--preset" not in words:
        return list(words)
    at = words.index("--preset")
    return [*words[:at], *words[at + 2 :]]


def _anywhere(value: str) -> str:
    """A model, or ROLE=MODEL, as it is named from any folder: one of the working folder by its whole path."""
    role, equals, ref = value.rpartition("=")
    own = there(Path(ref)) and not there(ROOT / ref)
    return f"{role}{equals}{Path(ref).resolve()}" if own else value


def _roots(files: Path, others: bool) -> tuple[Path, ...]:
    """Where the files of an item are looked for: those of other models are not the recorded ones."""
    return (files,) if others or files == ROOT else (files, ROOT)


def _from_source(item: Item, roots: Sequence[Path]) -> dict[str, Any]:
    return {"source": list(item.source), "commands": list(item.commands), **follows(item, {}, *roots)}


def _embedded(result: Mapping[str, Any]) -> bool:
    """Whether a result is of models that the lab ships, as all that is read from its own files is, unless they were
    made by others for it."""
    words = shlex.split(result["command"])
    named = [word for option, word in pairwise(words) if option in PAIR]
    ids = [str(model["id"]) for model in result.get("models", {}).values()]
    return all(one.startswith("assets/") for one in (*ids, *named))


def _as_recorded(entry: Entry, result: Mapping[str, Any]) -> bool:
    """Whether a result is of the models and prompts of the recorded one, which `larger` of an entry speaks of."""
    paper, item = entry
    return str(result["command"]).removesuffix(" --times").endswith(f" {paper.key}:{item.id}")


def _called(result: dict[str, Any]) -> dict[str, Any]:
    """The result of other models with tables that do not name the embedded pair, which entries speak of."""
    if _embedded(result):
        return result
    tables = [table | {"title": table["title"].replace("Embedded ", "This ")} for table in result["tables"]]
    return result | {"tables": tables}


def _listed(args: argparse.Namespace, entry: Entry) -> dict[str, Any]:
    paper, item = entry
    result = load(paper, item, args.out)
    return {
        "paper": paper.key,
        "item": item.id,
        "name": item.name,
        "shows": item.shows,
        "claim": item.claim,
        "verdict": verdict_of(item, result),
        "recorded": result is not None,
        "untestable": item.untestable,
        "runs": sum(len(p.methods) * len(p.tasks) * p.items * p.repeats for p in item.plans),
    }


def as_list(args: argparse.Namespace, found: Sequence[Entry]) -> str:
    """All entries for a terminal, paper by paper, and how many have a result."""
    lines, key = list[str](), ""
    for paper, item in found:
        if paper.key != key:
            lines += ["", paper.title]
            key = paper.key
        told = verdict_of(item, load(paper, item, args.out))
        lines.append(f"  {f'{paper.key}:{item.id}':16}{told:20}{item.shows}")
    counted = [(p, i) for p, i in found if not i.hardware and not i.illustration]
    done = sum(place(p, i, args.out).is_file() for p, i in counted)
    lines.append(
        f"\n{len(found)} tables and figures; of the {len(counted)} that are measurements and need neither other"
    )
    lines.append(f"hardware nor models of 70 B, {done} have a recorded result ({done / max(1, len(counted)):.0%}).")
    return "\n".join(lines).strip("\n")


def as_text(entry: Entry, result: dict[str, Any]) -> str:
    """A result for a terminal: its tables, what was decided, and the verdict."""
    paper, item = entry
    lines = [f"\n{paper.key}:{item.id} {item.name}. {item.claim}"]
    for table in result["tables"]:
        if table["form"] == "points":
            continue
        scale = 100 if table["percent"] else 1
        columns = [f"{c:g}" if isinstance(c, float | int) else c for c in table["columns"]]
        lines.append(f"{table['title']}, {table['y']}")
        lines.append(f"{'':32}" + "".join(f"{c[:26]:>28}" for c in columns))
        rows = [(row["name"], [scaled(cell, scale) for cell in row["cells"]]) for row in table["rows"]]
        shape = form(cell for _, cells in rows for cell in cells)
        lines += [f"{name[:31]:32}" + "".join(f"{estimate(c, shape):>28}" for c in cells) for name, cells in rows]
    for check, told in zip(item.checks, result["checks"], strict=True):
        lines.append(f" {MARKS[told['outcome']]} {told['says']} ({evidence(check, told)})")
    larger = f" {item.larger}" if item.larger and _as_recorded(entry, result) else ""
    lines.append(f"Verdict: {result['verdict']}.{larger}")
    return "\n".join(lines)
