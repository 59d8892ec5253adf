"""Lessons: Markdown files with a TOML header, built on recorded cases, whose tasks the page can check.

presets/lessons/NAME.md; docs/design/0013-learn.md describes the format. `lessons_json` fills every number in from the
traces and sends the answers along, so that the page checks tasks without a rule engine of its own. No torch.
"""

import math
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal, get_args

from engine.analysis.decisions import decider
from engine.analysis.words import half_up
from engine.errors import ConfigError, unknown
from engine.files.places import PRESETS
from engine.files.presets import View
from engine.learn.recorded import Case, Place, case
from engine.threshold import Threshold

Thresholds = Mapping[str, Threshold]
Maker = Callable[[Case, Mapping[str, Any], Place | None, dict[str, Any]], "Task"]
FOLDER = PRESETS / "lessons"
Room = Literal["compare", "many", "trajectories", "judge", "papers", "learn"]
Kind = Literal["choice", "predict", "select", "set"]
HEAD = {"title", "order", "minutes", "teaches", "case", "links"}
STEP = {"case", "room", "view", "lane", "at", "holds", "task"}
TASK: dict[str, tuple[set[str], set[str]]] = {  # required, and allowed beside them
    "choice": ({"ask", "options"}, {"after"}),
    "predict": ({"ask", "metric"}, {"tolerance", "unit", "after", "digits"}),
    "select": ({"ask", "lane", "where"}, {"after", "hint"}),
    "set": ({"ask", "lane", "knob", "range", "count", "want"}, {"after", "hint"}),
}
SLOT = re.compile(r"\{\{([^{}|]+)(?:\|([^{}|]+))?\}\}")
MOST_STEPS = 20
GRID = 2000  # most settings of a knob that a `set` task tries


@dataclass(frozen=True)
class Task:
    """What the learner is asked. `answer` depends on the kind, see `check`; `options` and `after` are Markdown."""

    kind: Kind
    ask: str
    answer: Any
    after: str = ""  # told once the task is done
    hint: str = ""
    unit: str = ""
    tolerance: float = 0.0
    options: tuple[tuple[str, str], ...] = ()  # of a choice: text, and what is said when it is taken
    lane: int | None = None  # of a select or set: the lane it is about
    knob: str = ""
    state: str = ""  # of a set: the state that is counted
    counts: tuple[tuple[float, int], ...] = ()  # of a set: value of the knob, tokens that meet the condition


@dataclass(frozen=True)
class Step:
    """One step: what to read (Markdown, numbers filled in), where to look, and perhaps a task."""

    title: str
    text: str
    case: str
    room: Room
    view: View
    lane: int | None = None
    at: Place | None = None
    task: Task | None = None


@dataclass(frozen=True)
class Lesson:
    """A lesson as the page takes it."""

    name: str
    title: str
    teaches: str  # one sentence
    text: str  # what is said before the first step
    steps: tuple[Step, ...]
    order: int = 100
    minutes: int = 5
    links: tuple[str, ...] = ()  # names of method pages, cases and lessons
    cases: tuple[str, ...] = field(default=())

    def to_json(self) -> dict[str, Any]:
        """JSON types."""
        steps = [_step_json(step) for step in self.steps]
        names = ("name", "title", "teaches", "text", "order", "minutes")
        said = {name: getattr(self, name) for name in names}
        return said | {"links": list(self.links), "cases": list(self.cases), "steps": steps}


def check(task: Task, given: Any) -> bool:
    """Whether an answer is right; the page decides alike.

    It is the index of an option (`choice`), a number (`predict`), a place as {"round", "node", "pos"} with `node` null
    for a token that was not drafted (`select`), or a value of the knob (`set`).
    """
    if task.kind == "choice":
        return bool(given in task.answer)
    if task.kind == "predict":
        return isinstance(given, int | float) and abs(given - task.answer) <= task.tolerance + 1e-9
    if task.kind == "select":
        return any(_same(place, given) for place in task.answer)
    below = [count for value, count in task.counts if value <= given + 1e-9]
    return bool(below) and given <= task.counts[-1][0] + 1e-9 and below[-1] == task.answer


def _same(place: Place, given: Mapping[str, Any]) -> bool:
    if place.round != given.get("round"):
        return False
    if place.node is None or given.get("node") is None:
        return bool(place.pos == given.get("pos"))
    return bool(place.node == given["node"])


def lesson_names(folder: Path = FOLDER) -> tuple[str, ...]:
    """All lessons, sorted by name."""
    return tuple(sorted(path.stem for path in folder.glob("*.md")))


def lessons(thresholds: Thresholds, folder: Path = FOLDER) -> list[Lesson]:
    """All lessons, by order and name; `thresholds` are what rules declare (`engine.rules.THRESHOLDS`).

    Raises:
        ConfigError: a file is no valid lesson.
    """
    found = (read_lesson(folder / f"{name}.md", thresholds) for name in lesson_names(folder))
    return sorted(found, key=lambda lesson: (lesson.order, lesson.name))


def lessons_json(thresholds: Thresholds) -> list[dict[str, Any]]:
    """All lessons in JSON types, for the page.

    Raises:
        ConfigError: a file is no valid lesson.
    """
    return [lesson.to_json() for lesson in lessons(thresholds)]


def read_lesson(path: Path, thresholds: Thresholds) -> Lesson:
    """A lesson file.

    Raises:
        ConfigError: the header, a step or a task cannot be read, or asks for something that was not recorded.
    """
    try:
        return parse(path.stem, path.read_text(encoding="utf-8"), thresholds)
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path.name} is not valid UTF-8: {error}.") from None


def parse(name: str, text: str, thresholds: Thresholds) -> Lesson:
    """A lesson from its text.

    Raises:
        ConfigError: as `read_lesson`; the message names lesson and step.
    """
    head, body = _header(name, text)
    parts = re.split(r"^## +(.+?) *$", body, flags=re.M)
    intro, titles, texts = parts[0].strip(), parts[1::2], parts[2::2]
    if not 1 <= len(titles) <= MOST_STEPS:
        raise ConfigError(f"{name}: a lesson has 1 to {MOST_STEPS} steps (## headings), not {len(titles)}.")
    steps: list[Step] = []
    at = {"case": str(head["case"]), "room": "compare", "view": "text"}
    for number, (title, content) in enumerate(zip(titles, texts, strict=True), 1):
        try:
            at, step = _step(title, content, at, thresholds)
        except ConfigError as error:
            raise ConfigError(f"{name}, step {number} ({title}): {error}") from None
        steps.append(step)
    first = steps[0]
    return Lesson(
        name=name,
        title=str(head["title"]),
        teaches=str(head["teaches"]),
        text=_filled(intro, case(first.case), None),
        steps=tuple(steps),
        order=int(head.get("order", 100)),
        minutes=int(head.get("minutes", 5)),
        links=tuple(map(str, head.get("links", ()))),
        cases=tuple(dict.fromkeys(step.case for step in steps)),
    )


def _header(name: str, text: str) -> tuple[dict[str, Any], str]:
    match = re.match(r"\+\+\+\n(.*?)\n\+\+\+\n(.*)", text, re.S)
    if match is None:
        raise ConfigError(f"{name}: a lesson starts with a TOML header between two lines of +++.")
    head = _toml(name, match[1])
    for key in head:
        if key not in HEAD:
            raise ConfigError(f"{name}: " + unknown("key of the header", key, HEAD))
    for key in ("title", "teaches", "case"):
        if not head.get(key):
            raise ConfigError(f"{name}: the header needs {key!r}.")
    return head, match[2]


def _toml(where: str, text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{where}: not valid TOML: {error}.") from None


def _step(title: str, content: str, before: Mapping[str, Any], thresholds: Thresholds) -> tuple[dict[str, Any], Step]:
    """Where the step leaves the page (case, room, view and lane stay until another step changes them), and the step."""
    match = re.match(r"\s*```toml\n(.*?)\n```\n?(.*)", content, re.S)
    said, text = (_toml("its settings", match[1]), match[2]) if match else ({}, content)
    for key in said:
        if key not in STEP:
            raise ConfigError(unknown("setting of a step", key, STEP))
    for key, known in (("room", get_args(Room)), ("view", get_args(View))):
        if said.get(key, known[0]) not in known:
            raise ConfigError(unknown(key, said[key], known))
    if said.get("case", before["case"]) != before["case"]:
        before = {name: value for name, value in before.items() if name != "lane"}
    now: dict[str, Any] = {**before, **{key: said[key] for key in ("case", "room", "view", "lane") if key in said}}
    recorded = case(now["case"])
    lane = recorded.lane(now["lane"]) if "lane" in now else None
    at = _place(recorded, now.get("lane"), said["at"]) if "at" in said else None
    for claim in said.get("holds", ()):
        if not recorded.holds(str(claim), at):
            raise ConfigError(f"{claim!r} does not hold in {recorded.preset.name}, so the text would be untrue.")
    task = _task(recorded, said["task"], at, thresholds) if "task" in said else None
    if at is not None and task is not None and task.kind == "select" and check(task, at.to_json()):
        raise ConfigError("`at` points at an answer of the step's own task.")
    step = Step(
        title,
        _filled(text.strip(), recorded, at),
        now["case"],
        now["room"],
        now["view"],
        lane if at is None else at.lane,
        at,
        task,
    )
    return now, step


def _place(recorded: Case, lane: str | None, given: Any) -> Place:
    if not isinstance(given, dict):
        raise ConfigError("`at` is a table of conditions, such as { state = 'rejected', nth = 2 }.")
    where = {key: value for key, value in given.items() if key not in ("lane", "nth")}
    lane, nth = given.get("lane", lane), given.get("nth", 1)
    if lane is None:
        raise ConfigError("`at` needs a lane, in itself or in the step.")
    found = recorded.find(lane, where)
    if not isinstance(nth, int) or not 1 <= nth <= len(found):
        raise ConfigError(f"`at` asks for place {nth} of {len(found)} in lane {lane} where {where} holds.")
    return found[nth - 1]


def _task(recorded: Case, said: Any, at: Place | None, thresholds: Thresholds) -> Task:
    if not isinstance(said, dict) or said.get("kind") not in TASK:
        given = said.get("kind") if isinstance(said, dict) else said
        raise ConfigError(unknown("kind of task", given, TASK))
    required, allowed = TASK[said["kind"]]
    for key in required - said.keys():
        raise ConfigError(f"a {said['kind']} task needs {key!r}.")
    for key in said.keys() - required - allowed - {"kind"}:
        raise ConfigError(unknown(f"key of a {said['kind']} task", key, required | allowed))
    words: dict[str, Any] = {
        key: _filled(str(said[key]), recorded, at) for key in ("ask", "after", "hint", "unit") if key in said
    }
    makers: dict[str, Maker] = {"choice": _choice, "predict": _predict, "select": _select}
    return makers.get(said["kind"], partial(_set, thresholds))(recorded, said, at, words)


def _choice(recorded: Case, said: Mapping[str, Any], at: Place | None, words: dict[str, Any]) -> Task:
    options = said["options"]
    if not isinstance(options, list) or len(options) < 2 or any("text" not in option for option in options):
        raise ConfigError("a choice needs at least two options, each with a text.")
    right = tuple(i for i, option in enumerate(options) if option.get("right"))
    if not right or len(right) == len(options):
        raise ConfigError("a choice needs an option that is right and one that is not.")
    shown = tuple(
        (_filled(str(option["text"]), recorded, at), _filled(str(option.get("why", "")), recorded, at))
        for option in options
    )
    return Task("choice", answer=right, options=shown, **words)


def _predict(recorded: Case, said: Mapping[str, Any], at: Place | None, words: dict[str, Any]) -> Task:
    value = recorded.value(str(said["metric"]), at)
    if isinstance(value, str):
        raise ConfigError(f"{said['metric']!r} is a word; a learner predicts numbers.")
    digits, tolerance = int(said.get("digits", 0 if isinstance(value, int) else 2)), float(said.get("tolerance", 0))
    return Task("predict", answer=round(value, digits) if digits else round(value), tolerance=tolerance, **words)


def _select(recorded: Case, said: Mapping[str, Any], at: Place | None, words: dict[str, Any]) -> Task:
    found = recorded.find(str(said["lane"]), said["where"])
    if not found or len(found) == sum(1 for _ in recorded.places(str(said["lane"]))):
        raise ConfigError(f"where {dict(said['where'])} holds for {len(found)} tokens: for some, not for none or all.")
    return Task("select", answer=tuple(found), lane=recorded.lane(str(said["lane"])), **words)


def _set(
    thresholds: Thresholds, recorded: Case, said: Mapping[str, Any], at: Place | None, words: dict[str, Any]
) -> Task:
    lane, knob, where = recorded.lane(str(said["lane"])), str(said["knob"]), said["count"]
    trace = recorded.traces[lane]
    if knob not in trace.head.knobs:
        raise ConfigError(unknown(f"knob of {trace.head.method}", knob, trace.head.knobs))
    if not isinstance(where, dict) or set(where) != {"state"}:
        raise ConfigError("`count` is { state = ... }: the state that decisions have under the knob.")
    low, high, stride = (float(x) for x in said["range"])
    size = int((high - low) / stride + 1e-9) + 1 if stride > 0 else 0
    if not 2 <= size <= GRID:
        raise ConfigError(f"range = {said['range']} is [first, last, step] with 2 to {GRID} values.")
    tested = [node for event in trace.rounds for node in event.nodes if node.state != "discarded"]

    def count(knobs: Mapping[str, Any]) -> int:
        made = map(decider(trace.head, knobs, thresholds.get(trace.head.rule)), tested)
        return sum(one is not None and one.state == where["state"] for one in made)

    values = [round(low + i * stride, 9) for i in range(size)]
    counts = [(value, count(trace.head.knobs | {knob: value})) for value in values]
    want = int(said["want"])
    if want == count(trace.head.knobs):
        raise ConfigError(f"the run has {want} {where['state']} already, so there is nothing to set.")
    if want not in {count for _, count in counts} or all(count == want for _, count in counts):
        raise ConfigError(f"{want} {where['state']} is reached by none or by all of the settings.")
    return Task("set", answer=want, lane=lane, knob=knob, state=where["state"], counts=tuple(counts), **words)


def _rounded(value: Any, how: str) -> str:
    """In one of Python's formats, rounded as the page rounds the same number."""
    found = re.fullmatch(r"\.(\d+)([f%])", how)
    if not found or not isinstance(value, (int, float)) or not math.isfinite(value):
        return format(value, how)
    digits = int(found[1])
    return half_up(value, digits) if found[2] == "f" else f"{half_up(100 * value, digits)}%"


def _filled(text: str, recorded: Case, here: Place | None) -> str:
    """The text with `{{ number | format }}` filled in; a format is one of Python's, such as .1f or .0%."""

    def fill(match: re.Match[str]) -> str:
        value, how = recorded.value(match[1].strip(), here), (match[2] or "").strip()
        if not how and isinstance(value, float):
            how = ".2f"
        try:
            told = _rounded(value, how) if how else str(value).strip()
            return told.replace("%", " %") if how.endswith("%") else told
        except ValueError:
            raise ConfigError(f"{match[0]} has no such format: use one of Python's, such as .1f or .0%.") from None

    return SLOT.sub(fill, text)


def _step_json(step: Step) -> dict[str, Any]:
    said = {name: getattr(step, name) for name in ("title", "text", "case", "room", "view", "lane")}
    return said | {"at": step.at.to_json() if step.at else None, "task": _task_json(step.task) if step.task else None}


def _task_json(task: Task) -> dict[str, Any]:
    said: dict[str, Any] = {name: getattr(task, name) for name in ("kind", "ask", "after", "hint")}
    if task.kind == "choice":
        options = [{"text": text, "why": why, "right": i in task.answer} for i, (text, why) in enumerate(task.options)]
        return said | {"options": options}
    if task.kind == "predict":
        return said | {"answer": task.answer, "tolerance": task.tolerance, "unit": task.unit}
    if task.kind == "select":
        return said | {"lane": task.lane, "answers": [place.to_json() for place in task.answer]}
    return said | {
        "lane": task.lane,
        "knob": task.knob,
        "state": task.state,
        "want": task.answer,
        "counts": [list(c) for c in task.counts],
    }
