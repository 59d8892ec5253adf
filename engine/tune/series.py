"""A series: several methods, many problems, n trajectories each; rows to a file, resumable, with a limit on time."""

import hashlib
import json
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from engine.config import parse_method
from engine.errors import ConfigError
from engine.lab import Lab
from engine.loop import Method
from engine.runs.running import prepare
from engine.tasks import load_problems
from engine.tasks.marking import marking
from engine.tasks.problem import Problem
from engine.trace.store import sound
from engine.tune.rows import Rows, row_of


@dataclass(frozen=True)
class Contender:
    """A method with knobs under a label."""

    label: str
    method: str
    knobs: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Plan:
    """What a series runs; the numbers that decide its rows."""

    contenders: tuple[Contender, ...]
    family: str = "arithmetic"
    split: str = "heldout"
    problems: int = 50
    n: int = 8
    temperature: float = 0.6
    max_new_tokens: int = 256
    seed: int = 0
    given: tuple[Problem, ...] = ()  # of a file or a published set, instead of an embedded family's
    chat: bool = False

    def settings(self, lab: Lab) -> dict[str, Any]:
        """The plan as the first line of its file."""
        texts = json.dumps([problem.prompt for problem in self.given]).encode()
        given = {"prompts_sha256": hashlib.sha256(texts).hexdigest()} if self.given else {}
        used = {one.label: lab.contents(one.method, one.knobs) for one in self.contenders}
        assets = {name: contents for name, contents in used.items() if contents}
        return {
            **given,
            **({"chat": True} if self.chat else {}),
            "family": self.family,
            "split": self.split,
            "n": self.n,
            "temperature": self.temperature,
            "max_new_tokens": self.max_new_tokens,
            "seed": self.seed,
            "dtype": lab.target.dtype,
            **lab.revisions,
            **({"assets": assets} if assets else {}),
        }

    def tasks(self) -> list[Problem]:
        """The problems, always the same."""
        return list(self.given) or load_problems(self.family, self.split, self.problems, self.seed)


def run_series(lab: Lab, plan: Plan, rows: Rows, minutes: float = 0.0) -> Iterator[tuple[str, str]]:
    """Run what is missing in `rows`, problem by problem, all contenders in turn; yields each finished (label, problem).

    A contender whose knob scope is global keeps its method from problem to problem; one that goes on after a stop runs
    the finished problems again, to learn what it had learnt. Stops after `minutes` (0 is no
    limit). Of several processes each takes every nth problem.

    Raises:
        ConfigError: several processes, and a method that lives from problem to problem.
    """
    if not rows.shard.alone and (one := next((c for c in plan.contenders if c.knobs.get("scope") == "global"), None)):
        raise ConfigError(f"{one.label} lives from problem to problem: it cannot be shared by several processes.")
    deadline = time.monotonic() + 60 * minutes if minutes else float("inf")
    mark, living, tasks = marking(plan.family), dict[str, Method](), plan.tasks()
    unfinished = {
        contender.label
        for contender in plan.contenders
        for problem in tasks
        if not rows.done(contender.label, problem.key, plan.n)
    }
    for number, problem in enumerate(tasks):
        if not rows.shard.takes(number):
            continue
        for contender in plan.contenders:
            if time.monotonic() > deadline:
                return
            lasting = contender.knobs.get("scope") == "global"
            known = rows.done(contender.label, problem.key, plan.n)
            if known and not (lasting and contender.label in unfinished):
                continue
            if lasting and contender.label not in living:
                living[contender.label] = prepare(lab, contender.method, **contender.knobs)
            traces = lab.trajectories(
                contender.method,
                problem.prompt,
                plan.n,
                temperature=plan.temperature,
                max_new_tokens=plan.max_new_tokens,
                seed=plan.seed + number,
                keep=living.get(contender.label),
                chat=plan.chat,
                **contender.knobs,
            )
            if known:  # only for what the method learns
                deque(traces, maxlen=0)
                continue
            rows.add([row_of(sound(trace, contender.label), contender.label, problem, mark) for trace in traces])
            yield contender.label, problem.key


Observer = Callable[[Any], None]


def watch(method: Method, observe: Observer) -> Method:
    """The method, with `observe` called on each Outcome before its own parts learn from it."""
    own = method.drafter.observe

    def both(outcome: Any) -> None:
        observe(outcome)
        own(outcome)

    method.drafter.observe = both  # type: ignore[method-assign]
    return method


def contenders(specs: Sequence[str]) -> tuple[Contender, ...]:
    """Methods with knobs as typed, for example `stand:drafting=deterministic:tree=heuristic`; the text is the label."""
    return tuple(Contender(spec, *parse_method(spec)) for spec in specs)
