"""Run what an item of a paper lacks: methods in turn on each prompt, every finished run kept, so that it can go on.

Runs are shared: two items that ask for the same method on the same prompt under the same settings have it once.
"""

import hashlib
import json
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from engine.cli.compare import run_all
from engine.config import parse_method
from engine.errors import ConfigError
from engine.files.held import hold
from engine.files.shards import MAIN, Shard, parts
from engine.files.written import append, write
from engine.lab import Lab
from engine.methods import get_card
from engine.papers.entries import Item, Paper, Plan, label
from engine.papers.records import Record, Records, Row, numbers, record, to_json
from engine.papers.summary import of_records, summary
from engine.runs.trajectories import STRIDE
from engine.tasks import load_problems
from engine.tasks.marking import Marking, marking
from engine.tasks.prompts import Prompt
from engine.tasks.rows import cut_in_head, json_lines, mend

Name = tuple[str, int, int, str]  # task, prompt, repeat, method
HEAD = b'{"settings"'
COMPARED = {"translation", "summary"}  # measures of texts against references
EVERY = 20.0  # seconds between two lines of progress


@dataclass
class Running:
    """How runs are made: where finished ones are kept, and for how long to go on."""

    keep: Path
    items: int | None = None
    times: bool = False
    minutes: float = 0.0
    shard: Shard = MAIN
    began: float = field(default_factory=time.monotonic)
    stores: dict[str, "Store"] = field(default_factory=dict)

    def over(self) -> bool:
        """Whether the time that was given is spent."""
        return bool(self.minutes) and time.monotonic() - self.began > 60 * self.minutes

    def store(self, settings: Mapping[str, Any]) -> "Store":
        """The finished runs under some settings."""
        text = json.dumps(settings, sort_keys=True)
        name = hashlib.sha256(text.encode()).hexdigest()[:12]
        if name not in self.stores:
            self.stores[name] = Store(self.keep / f"runs-{name}.jsonl", settings, self.shard)
        return self.stores[name]


class Store:
    """A file of finished runs, a line a run; the first line is the settings. Of several processes each has its own."""

    def __init__(self, path: Path, settings: Mapping[str, Any], shard: Shard = MAIN) -> None:
        """Open, or create.

        Raises:
            ConfigError: a damaged file, or one that another process appends to.
        """
        self.whole, self.path, self.rows = path, shard.own(path), dict[Name, Row]()
        self._held = hold(self.path)
        if cut_in_head(self.path, HEAD):
            write(self.path, (json.dumps({"settings": settings}) + "\n").encode())
        mend(self.path)
        self.read()

    def read(self) -> None:
        """What all processes have finished by now.

        Raises:
            ConfigError: a damaged file.
        """
        for path in parts(self.whole):
            for number, row in () if cut_in_head(path, HEAD) else json_lines(path, torn=path != self.path):
                if number == 1:
                    continue
                if not isinstance(row, dict) or not {"task", "prompt", "repeat", "method", "run"} <= row.keys():
                    raise ConfigError(f"{path}, line {number} is no run: delete the file, and measure again.")
                self.rows[row["task"], row["prompt"], row["repeat"], row["method"]] = row["run"]

    def add(self, name: Name, run: Row) -> None:
        """Keep a finished run."""
        task, prompt, repeat, method = name
        row = {"task": task, "prompt": prompt, "repeat": repeat, "method": method, "run": run}
        append(self.path, (json.dumps(row, ensure_ascii=False) + "\n").encode())
        self.rows[name] = run


def prompts_of(plans: Iterable[Plan], items: int | None = None) -> dict[str, int]:
    """How many prompts a result has, by task (with the plan's tag): as many as the plans say, or `items`."""
    return {f"{task}{'@' + plan.tag if plan.tag else ''}": items or plan.items for plan in plans for task in plan.tasks}


def made(paper: Paper, item: Item, lab: Lab, running: Running) -> Row | None:
    """The result of an item's plans, once all its runs are there; None where time ran out before, or others have theirs
    to do.

    Raises:
        ConfigError: an unknown method, knob or task, or a run that failed.
    """
    plans = [replace(plan, items=running.items or plan.items) for plan in item.plans]
    for plan in plans:
        for method in plan.methods:
            name, knobs = parse_method(method)
            get_card(name).resolve(knobs)
    pairs = {"target": lab, "draft": _alone(lab) if any(plan.writer == "draft" for plan in plans) else lab}
    plans = [_runnable(pairs[plan.writer], plan) for plan in plans]
    for plan in plans:
        if not _run(pairs[plan.writer], plan, running, f"{paper.key}:{item.id}"):
            return None
    found = _records(pairs, plans, running)
    models = {"target": lab.target.describe()} | {role: model.describe() for role, model in lab.models.items()}
    return {
        "created": datetime.now(UTC).date().isoformat(),
        "preset": lab.preset,
        "models": {role: {k: told.get(k) for k in ("id", "revision", "parameters")} for role, told in models.items()},
        "device": str(lab.target.device),
        "dtype": lab.target.dtype,
        "prompts": prompts_of(plans),
        "times": running.times,
        **summary(item, of_records(found)),
        **to_json(found),
    }


def _runnable(lab: Lab, plan: Plan) -> Plan:
    """The plan without the methods that these models cannot run; what they were for stays unmeasured, which is said."""
    reasons = {method: lab.hindrance(get_card(parse_method(method)[0])) for method in plan.methods}
    for method, reason in reasons.items():
        if reason:
            print(f"  left out: {method}: {reason}", file=sys.stderr)
    return replace(plan, methods=tuple(method for method, reason in reasons.items() if not reason))


def _alone(lab: Lab) -> Lab:
    """The draft model as a target without a draft.

    Raises:
        ConfigError: the pair has no draft model.
    """
    if "draft" not in lab.models:
        raise ConfigError("This entry runs the draft model alone, and none is loaded: give --draft.")
    return Lab(lab.models["draft"], {}, {})


def _settings(lab: Lab, plan: Plan, times: bool) -> Row:
    """What finished runs hang on, beside the contents of the heads and judges that each uses (`_kept_as`)."""
    return {
        **lab.identity(),
        "max_new_tokens": plan.max_new_tokens,
        "temperature": plan.temperature,
        "top_p": plan.top_p,
        "seed": plan.seed,
        "seeds": "of each prompt",  # runs that shared one are made anew
        "record": plan.record,
        "times": times,
    }


def _kept_as(lab: Lab, method: str) -> str:
    """The name of a method's runs in a store: with the contents of the heads, judges or bins that it takes, if any, so
    that its runs are made anew where these are others."""
    used = lab.contents(*parse_method(method))
    return method if not used else f"{method} {hashlib.sha256(repr(used).encode()).hexdigest()[:8]}"


def _missing(lab: Lab, plan: Plan, store: Store) -> Iterator[tuple[str, int, int, list[str]]]:
    """Task, prompt, repeat and the methods that have not run on it yet."""
    names = {method: _kept_as(lab, method) for method in plan.methods}
    for task in plan.tasks:
        for prompt in range(plan.items):
            for repeat in range(plan.repeats):
                left = [m for m in plan.methods if (task, prompt, repeat, names[m]) not in store.rows]
                if left:
                    yield task, prompt, repeat, left


def _run(lab: Lab, plan: Plan, running: Running, what: str) -> bool:
    """Make the runs of a plan that are not kept yet; whether all are there now."""
    store = running.store(_settings(lab, plan, running.times))
    missing = [one for one in _missing(lab, plan, store) if running.shard.takes(one[1])]
    total = sum(len(methods) for *_, methods in missing)
    problems = {task: load_problems(task, "heldout", plan.items) for task in plan.tasks}
    marks = {task: marking(task) for task in plan.tasks}
    done, began, told = 0, time.monotonic(), 0.0
    for task, place, repeat, methods in missing:
        if running.over():
            return False
        problem = problems[task][place]
        prompt = Prompt(problem.prompt, problem.key, problem.solution, problem)
        options = {
            "max_new_tokens": plan.max_new_tokens,
            "temperature": plan.temperature,
            "top_p": plan.top_p,
            "seed": plan.seed + place + STRIDE * repeat,  # of its own, as in `compare`: prompts are independent
            "record": plan.record,
            "extras": {"task": task, "key": problem.key, "answer": problem.answer, "repeat": repeat},
        }
        specs = {method: parse_method(method) for method in methods}
        runs = run_all(lab, list(specs.values()), prompt, options)
        for method, trace in zip(specs, runs.values(), strict=True):
            right, answer = trace.head.extras.get("right"), _answer(marks[task], trace.text, plan.repeats)
            store.add((task, place, repeat, _kept_as(lab, method)), numbers(trace, right, answer, running.times))
        done, spent = done + len(methods), time.monotonic() - began
        if spent - told > EVERY or done == total:
            told, left = spent, spent / done * (total - done) / 60
            print(f"  {what}: {done} of {total} runs, about {left:.1f} min left", file=sys.stderr, flush=True)
    store.read()
    return not any(_missing(lab, plan, store))


def _answer(mark: Marking, text: str, repeats: int) -> str | None:
    """What a measure reads of the text: a translation or summary, or the answer that several responses vote with."""
    if COMPARED & set(mark.measures) or (repeats > 1 and mark.textual):
        return mark.extract(text) or ""
    return None


def _records(pairs: Mapping[str, Lab], plans: list[Plan], running: Running) -> Records:
    found, references = dict[tuple[str, str], Record](), dict[str, list[str]]()
    for plan in plans:
        rows = running.store(_settings(pairs[plan.writer], plan, running.times)).rows
        for task in plan.tasks:
            if COMPARED & set(marking(task).measures):
                references[task] = [problem.answer for problem in load_problems(task, "heldout", plan.items)]
            for method in plan.methods:
                known, name = _kept_as(pairs[plan.writer], method), label(plan, method)
                kept = [rows[task, i, r, known] for i in range(plan.items) for r in range(plan.repeats)]
                found[task, name] = record(task, name, plan.repeats, kept)
    return Records(found, references)
