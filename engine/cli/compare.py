"""`compare`: methods on the same prompts, sampling and seeds, in turns: speed and quality pooled, traces on demand."""

import argparse
import hashlib
import json
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from engine.analysis.index import NAME as INDEX
from engine.analysis.index import entry
from engine.analysis.index import flaw as flaw_of_entry
from engine.analysis.index import write as write_index
from engine.analysis.rows import Row, flaw, table
from engine.cli.notes import Idle, own_defaults, tell
from engine.cli.options import add_models, add_prompts, add_sampling, add_shard, decoding, load_lab, prompts
from engine.cli.progress import track
from engine.cli.specs import Spec, file_name, once, split
from engine.config import label, parse_method
from engine.errors import ConfigError, EngineFault, LabError
from engine.files.written import write
from engine.kinds import COUNT, TO_FOLDER
from engine.lab import Lab
from engine.methods import EVERY, get_card
from engine.papers.systems import spread
from engine.runs.asking import able
from engine.runs.sweep import Kept, Sweep
from engine.runs.trajectories import STRIDE
from engine.tasks.marking import marking
from engine.tasks.prompts import Prompt
from engine.trace.store import Trace, sound

COLUMNS = (
    "tokens",
    "rounds",
    "iterations",  # where a method has some
    "verify_tokens",
    "tau",
    "accept_rate_tested",
    "tokens_per_s",
    "cost_ratio",
    "speedup",
)
BY_CATEGORY = ("prompts", "tokens", "tau", "accept_rate_tested", "tokens_per_s", "speedup")
TABLE = "table.json"
PAUSE = 10.0  # seconds between two tables of a sweep that runs, at least
MEASURES = {  # of engine.analysis.quality, as the terminal names them; shares are told in per cent
    "accuracy": "right, %",
    "accuracy_difference": "less ar's",
    "majority": "majority right, %",
    "majority_difference": "less ar's",
    "bleu": "BLEU",
    "bleu_relative": "BLEU, % of ar's",
    "chrf": "chrF",
    "rouge1": "ROUGE-1",
    "rouge2": "ROUGE-2",
    "rougeL": "ROUGE-L",
    "same_as_ar": "same as ar, %",
    "response_tokens": "tokens a response",
}
SHARES = ("accuracy", "accuracy_difference", "majority", "majority_difference", "same_as_ar")


def add_parser(subparsers: Any) -> None:
    """Register the command."""
    parser = subparsers.add_parser("compare")
    parser.add_argument(
        "--methods",
        required=True,
        metavar="A,B,...",
        help="methods, comma separated, or all that this pair can run; knobs as sd:gamma=7:correction=target or "
        "heterospec:thresholds=0.5,1.2",
    )
    add_models(parser)
    add_prompts(parser)
    add_sampling(parser)
    parser.add_argument(
        "--record", choices=("full", "light"), default="light", help="what traces keep (default: light)"
    )
    parser.add_argument(
        "--repeats",
        type=COUNT,
        default=1,
        metavar="N",
        help="answers a prompt and method, each with a seed of its own; from two on the majority counts too, maj@N "
        "(default: 1)",
    )
    parser.add_argument(
        "--out",
        type=TO_FOLDER,
        metavar="FOLDER",
        help="write every trace there (.jsonl.gz), and the table while it grows; the same command goes on after a stop",
    )
    add_shard(parser)
    parser.add_argument("--json", action="store_true", help="pooled metrics, intervals and quality as JSON")
    parser.set_defaults(handler=handle)


def handle(args: argparse.Namespace) -> int:
    """Run prompt by prompt, all methods in turn on each, so that a drift of the machine meets all alike.

    A prompt that one method cannot run, or on which it fails, is told and left out for all: the others stay comparable.
    The same command, started again on its folder, tries those anew that failed, as a server that is gone comes back.
    What no prompt could be run with, a setting or a method, is refused before a folder is begun with it.
    """
    specs = [] if args.methods == EVERY else [parse_method(text) for text in split(args.methods)]
    once(specs)
    if args.repeats > 1 and not args.temperature:
        raise ConfigError("--repeats above 1 needs a --temperature above 0: greedy answers are all the same.")
    if args.shard.count > 1 and not args.out:
        raise ConfigError("Several processes need --out FOLDER, which is where their results meet.")
    decoding(args)
    found, lab = prompts(args, turns=True), load_lab(args)
    for name, given in specs:
        able(lab, lab.fitted(get_card(name)), given)
    specs = specs or _all(lab, args.task or "", found)
    sweep: Kept = Kept()
    if args.out:
        settings = _settings(args, lab, specs, found)
        sweep = Sweep(args.out, settings, args.shard, partial(_flaw, args.repeats, specs, found))
    idle = [Idle(spec) for spec in specs]
    told = _Told(args, len(found))
    done = sweep.done() - {unit["unit"] for unit in sweep.found() if unit.get("failed")}
    mine = [unit for unit in range(len(found)) if sweep.shard.takes(unit) and unit not in done]
    for unit in track(mine, "prompts", quiet=args.json):
        sweep.keep(unit, _unit(args, lab, specs, found[unit], unit, idle))
        told.now_and_then(sweep)
    table = told.whole(sweep)
    if table is not None:
        print(json.dumps(table, indent=1) if args.json else as_text(table))
    for spec, one in zip(specs, idle, strict=True):
        tell(*own_defaults(lab, *spec), one.note(lab))
    return 0


def _all(lab: Lab, task: str, prompts: Sequence[Prompt]) -> list[Spec]:
    """Every method of the loaded models but those that refuse the task, such as a judge of another one. They are asked
    with the first prompt that one of them can run.

    Raises:
        LabError: no method can run any; as the last says of the first prompt.
    """
    fault = LabError("No method can run on these models.")
    for number, prompt in enumerate(prompts):
        found, faults = list[Spec](), dict[str, LabError]()
        for card in lab.methods():
            try:
                lab.run(card.name, prompt.text, max_new_tokens=1, record="light", extras={"task": task})
            except LabError as error:
                faults[card.name] = error
            else:
                found.append((card.name, {}))
        if found:
            tell(*(f"{name} is left out: {error}" for name, error in faults.items()))
            return found
        fault = [fault, *faults.values()][-1] if number == 0 else fault
    raise fault


def _settings(args: argparse.Namespace, lab: Lab, specs: Sequence[Spec], found: Sequence[Prompt]) -> dict[str, Any]:
    """What makes two sweeps the same; processes that share a folder must agree on it."""
    texts = json.dumps([[p.key, p.category, *p.turns] for p in found]).encode()
    return {
        "methods": [label(spec) for spec in specs],
        "prompts": len(found),
        "prompts_sha256": hashlib.sha256(texts).hexdigest(),
        **decoding(args),
        "repeats": args.repeats,
        "record": args.record,
        "assets": {label(spec): used for spec in specs if (used := lab.contents(*spec))},
        **lab.identity(),
    }


def _flaw(repeats: int, specs: Sequence[Spec], found: Sequence[Prompt], unit: Mapping[str, Any]) -> str:
    """What is wrong with a line of the sweep; nothing of a sound one."""
    if unit["unit"] >= len(found):
        return f"it tells unit {unit['unit']}, and the {len(found)} prompts are numbered from 0"
    if "left_out" in unit:
        return "" if isinstance(unit["left_out"], str) else "left_out is a text"
    runs, names = unit.get("runs"), [label(spec) for spec in specs]
    if not isinstance(runs, dict) or sorted(runs) != sorted(names):
        return f"it lacks the runs of {', '.join(names)}"
    many = repeats * len(found[unit["unit"]].turns)
    if wrong := next((name for name in names if not isinstance(runs[name], list) or len(runs[name]) != many), ""):
        return f"it holds no {many} run{'s' * (many != 1)} of {wrong}"
    entries = unit.get("index", [])
    if not isinstance(entries, list):
        return "its entries of the index are no list"
    flaws = [*(flaw(row) for own in runs.values() for row in own), *map(flaw_of_entry, entries)]
    return next(filter(None, flaws), "")


def _unit(
    args: argparse.Namespace, lab: Lab, specs: Sequence[Spec], prompt: Prompt, unit: int, idle: Sequence[Idle]
) -> dict[str, Any]:
    """All that a prompt gives: the rows of each method, or why it is left out."""
    rows: dict[str, list[Row]] = {label(spec): [] for spec in specs}
    kept = list[tuple[str, str, Trace]]()
    judged = dict[str, bool | None]()
    try:
        for repeat in range(args.repeats):
            options = _options(args, prompt, unit, repeat)
            for spec, one in zip(specs, idle, strict=True):
                for turn, trace in enumerate(_answers(lab, spec, prompt, options, judged)):
                    one.add(trace)
                    asked = (args.task or "", unit, turn, args.temperature, args.max_new_tokens)
                    rows[label(spec)].append(Row.of(trace, prompt.category, asked))
                    number = f"{unit:04d}" + (f"-turn{turn + 1}" if len(prompt.turns) > 1 else "")
                    number += f"-{repeat:02d}" if args.repeats > 1 else ""
                    kept.append((number, label(spec), trace))
    except LabError as error:
        left_out = f"prompt {unit + 1} ({prompt.key or prompt.text[:40]!r}): {error}"
        print(f"left out: {left_out}", file=sys.stderr)
        return {"left_out": left_out, "failed": isinstance(error, EngineFault)}
    entries = list[dict[str, Any]]()
    for number, name, trace in kept if args.out else ():
        file = f"{number}-{file_name(name)}.jsonl.gz"
        trace.save(args.out / file)
        entries.append(entry(trace, file, name))
    return {"runs": {name: [row.to_json() for row in own] for name, own in rows.items()}, "index": entries}


def _options(args: argparse.Namespace, prompt: Prompt, unit: int, repeat: int) -> dict[str, Any]:
    """How a prompt is decoded, and what its trace notes.

    Each prompt has a seed of its own: with the same uniforms for all, answers would be lucky or not together, and an
    interval over prompts far too narrow. Repeats lie as far apart as trajectories, behind all turns of the one before.
    """
    extras: dict[str, Any] = {"key": prompt.key, "task": args.task or "", "command": args.given}
    if prompt.category:
        extras["category"] = prompt.category
    if prompt.problem:
        extras["answer"] = prompt.problem.answer
    if args.repeats > 1:
        extras |= {"repeat": repeat, "repeats": args.repeats}
    seed = args.seed + unit + STRIDE * repeat * len(prompt.turns)
    return decoding(args) | {"record": args.record, "extras": extras, "seed": seed}


def run_all(lab: Lab, specs: Sequence[Spec], prompt: Prompt, options: dict[str, Any]) -> dict[str, Trace]:
    """Every method's run on a prompt's first turn.

    Raises:
        LabError: see `_answers`.
    """
    first = replace(prompt, more=())
    judged = dict[str, bool | None]()
    return {label(spec): _answers(lab, spec, first, options, judged)[0] for spec in specs}


def _answers(
    lab: Lab, spec: Spec, prompt: Prompt, options: dict[str, Any], judged: dict[str, bool | None]
) -> list[Trace]:
    """A method's run on a prompt, and on each further turn after its own answers; marked where there are right answers.
    Each turn has a seed of its own: drawn with the uniforms that drew the answers before, it would depend on them.

    `judged` holds whether texts are right that were marked for this prompt: the same text is never marked twice, so
    that a program that is as slow as its limit has one verdict for all methods.

    Raises:
        LabError: one cannot be, or ended in a fault.
    """
    name, given = spec
    mark = marking(prompt.problem.family) if prompt.problem else None
    said = list[str]()
    found = list[Trace]()
    for turn, text in enumerate(prompt.turns):
        said.append(text)
        asked = text if turn == 0 else lab.target.tokenizer.conversation(said, options["chat"])
        extras = options["extras"] | ({"conversation": prompt.conversation, "turn": turn} if prompt.more else {})
        own = options | {"extras": extras, "seed": options["seed"] + STRIDE * turn}
        trace = sound(lab.run(name, asked, **own, **given), label(spec))
        if mark and prompt.problem:
            if trace.text not in judged:
                judged[trace.text] = mark.right(prompt.problem, trace.text)
            if (right := judged[trace.text]) is not None:
                trace.head.extras["right"] = right
        said.append(trace.text)
        found.append(trace)
    return found


class _Told:
    """The table, written into the folder of a sweep while it runs, and at its end."""

    def __init__(self, args: argparse.Namespace, prompts: int) -> None:
        self._out, self._prompts, self._due = args.out, prompts, 0.0

    def now_and_then(self, sweep: Kept) -> None:
        """Write the table so far, so seldom that it costs a twentieth of the time at most."""
        began = time.monotonic()
        if self._out and began >= self._due:
            self._write(_Rows(sweep.found()))
            self._due = time.monotonic() + max(PAUSE, 20 * (time.monotonic() - began))

    def whole(self, sweep: Kept) -> dict[str, dict[str, Any]] | None:
        """The table of all prompts; None where other processes are still at work.

        Raises:
            ConfigError: no prompt could be run by all methods.
        """
        found = _Rows(sweep.found())
        self._write(found)
        if found.units < self._prompts:
            if len(sweep.done()) == self._prompts:  # others ended meanwhile, and this table may lie over theirs
                return self.whole(sweep)
            print(f"{found.units} of {self._prompts} prompts are done; the rest is others'.", file=sys.stderr)
            return None
        if self._out:
            write_index(self._out / INDEX, (row for unit in sweep.found() for row in unit.get("index", ())))
        if not found.rows:
            raise ConfigError(f"No prompt could be run by all methods; the first: {found.left_out}")
        if found.out:
            tell(f"{found.out} of {self._prompts} prompts are left out; the first: {found.left_out}")
        return table(found.rows)

    def _write(self, found: "_Rows") -> None:
        if self._out and found.rows:
            write(self._out / TABLE, (json.dumps(table(found.rows), indent=1) + "\n").encode())


class _Rows:
    """What a table needs of the units that are done: how many they are, the rows of each method, how many are left out
    and why the first is."""

    def __init__(self, found: Iterable[Mapping[str, Any]]) -> None:
        self.units, self.out, self.rows, self.left_out = 0, 0, dict[str, list[Row]](), ""
        for unit in found:
            self.units += 1
            self.out += "left_out" in unit
            self.left_out = self.left_out or unit.get("left_out", "")
            for name, own in unit.get("runs", {}).items():
                self.rows.setdefault(name, []).extend(map(Row.from_json, own))


def as_text(table: dict[str, dict[str, Any]]) -> str:
    """The tables for a terminal: counts and speeds, quality with its intervals, and each category of prompts."""
    columns = [name for name in COLUMNS if name != "iterations" or any(row.get(name) for row in table.values())]
    lines = [f"{'method':28}" + "".join(f"{column:>20}" for column in columns)]
    lines += [
        f"{name:28}" + "".join(f"{_cell(row.get(column)):>20}" for column in columns) for name, row in table.items()
    ]
    lines += ["", *quality_lines({name: row["quality"] for name, row in table.items()})]
    categories = dict.fromkeys(category for row in table.values() for category in row.get("categories", ()))
    for category in categories:
        lines += ["", f"{category[:28]:28}" + "".join(f"{column:>20}" for column in BY_CATEGORY)]
        lines += [
            f"{name:28}" + "".join(f"{_cell(row['categories'][category].get(column)):>20}" for column in BY_CATEGORY)
            for name, row in table.items()
        ]
    return "\n".join(lines)


def quality_lines(found: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """The quality of each method with its intervals, a line each below a heading; measures that none has are absent."""
    shown = [name for name in MEASURES if any(name in row for row in found.values())]
    return [f"{'method':28}" + "".join(f" {MEASURES[name]:>25}" for name in shown)] + [
        f"{name:28}" + "".join(f" {spread(row.get(measure), measure in SHARES) or '-':>25}" for measure in shown)
        for name, row in found.items()
    ]


def _cell(value: Any) -> str:
    """Three digits of a fraction, and all before the point: 1.78, 1068."""
    if value is None:
        return "-"
    if not isinstance(value, float):
        return str(value)
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"
