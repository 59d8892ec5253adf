"""Which problems a task name means, and when two of its answers count as the same."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from engine.errors import ConfigError, unknown
from engine.files.presets import list_presets
from engine.judge.criterion import Criterion, NoWorse, SameAnswer, SameRight, SameTests
from engine.judge.equivalence import check, parse
from engine.judge.search import Prompt
from engine.model import Tokenizer
from engine.tasks import get_task, load_problems
from engine.tasks.catalogue import SOURCED, Task
from engine.tasks.marking import EMBEDDED, OWN, TASKS
from engine.tasks.problem import Measure, Problem
from engine.tasks.prompts import Prompt as Asked
from engine.tasks.published import Published, get_published, load_published
from engine.tasks.references import bleu_counts, rouge_l, sentence_bleu
from engine.tasks.sandbox import run_python
from engine.tasks.wordings import is_right, references

LIMIT = 128  # tokens of a response; the solutions of the embedded families are shorter
OWN_LIMIT = 1024  # of one's own prompts, which have no answers: a chat model compares responses
CODE = ("functions", "humaneval", "mbpp")  # answers are programs: compared by their tests
POINTS = {"bleu": ("BLEU", sentence_bleu), "rouge": ("ROUGE-L", rouge_l)}


@dataclass(frozen=True, slots=True)
class Judged:
    """A task as mining and evaluation need it. `score` is 1 for a right response."""

    name: str
    score: Callable[[Problem, str], float]
    criterion: Criterion
    measures: tuple[Measure, ...]
    extract: Callable[[str], str | None]

    def counts(self, problem: Problem, text: str) -> list[int]:
        """The counts of which BLEU against the problem's answer is made; none where the task is no translation."""
        return bleu_counts(self.extract(text) or "", problem.answer) if "translation" in self.measures else []


def judged(name: str, full_report: bool = False, equivalence: str = "answer") -> Judged:
    """The task of that name, embedded or published, and when two of its responses count as the same.

    `full_report` compares how each test of a program ends instead of pass or fail (register A8). `equivalence`: see
    `engine.judge.equivalence.parse`.

    Raises:
        ConfigError: with the nearest right name; an equivalence that does not fit the task.
    """
    task = get_task(name) if name in EMBEDDED else _published(name)
    how = parse(equivalence)
    check(how, name, task.measures)
    score, criterion = task.score, _criterion(task, name, full_report)
    if name in SOURCED:
        criterion = SameRight(task.extract)
        score = partial(_right, task.extract)
    if how.name != "answer":
        unit, points = POINTS[how.name]
        criterion = NoWorse(task.extract, lambda problem, text: points(text, references(problem)), how.margin, unit)
    return Judged(name, score, criterion, task.measures, task.extract)


def limit_of(name: str) -> int:
    """Most tokens of a response to this task, unless told otherwise (T_max).

    Raises:
        ConfigError: with the nearest right name.
    """
    if name == OWN:
        return OWN_LIMIT
    return LIMIT if name in EMBEDDED else _published(name).limit


def _published(name: str) -> Published:
    if name == OWN:
        raise ConfigError("Prompts of your own have no answers by which a response could be right or wrong.")
    if name not in TASKS:
        raise ConfigError(unknown("task", name, TASKS))
    return get_published(name)


def _criterion(task: Task | Published, name: str, full_report: bool) -> Criterion:
    if name not in CODE:
        return SameAnswer(task.extract, task.equivalent)
    report = task.report if isinstance(task, Published) else _each_test
    return SameTests(task.extract, task.score, report if full_report else None)


def _right(extract: Callable[[str], str | None], problem: Problem, text: str) -> float:
    return float(is_right(problem, extract(text) or ""))


def _each_test(problem: Problem, text: str) -> list[str]:
    """How the function in `text` ends in each hidden test of an embedded problem."""
    code = get_task("functions").extract(text)
    if code is None:
        return ["no code"]
    return [run_python(f"{code}\n{test}\n").reason for test in problem.answer.splitlines()]


def problems(
    name: str, split: str, n: int, seed: int = 0, source: str = "", shots: int = 0, shots_from: str = ""
) -> list[Problem]:
    """The first n problems: of an embedded family's seeded stream, or of a published set's file, there with `shots`
    worked examples.

    Raises:
        ConfigError: an unknown name, a published set without a source, or a source or worked examples for others.
    """
    if (shots or shots_from) and name in EMBEDDED:
        raise ConfigError(f"{name} takes no worked examples; the models have learnt it without.")
    if source and name in EMBEDDED:
        raise ConfigError(f"{name} makes its own problems: leave --source out, or name a published task.")
    if name in EMBEDDED:
        return load_problems(name, split, n, seed)
    _published(name)
    return load_published(name, source, n, shots, shots_from)


def own_problems(found: Sequence[Asked]) -> list[Problem]:
    """A user's own prompts as problems without answers."""
    return [Problem(OWN, prompt.key, prompt.text, "", "") for prompt in found]


def case_problems(name: str) -> list[Problem]:
    """The prompts of the recorded cases of a task, with their reference answers; equal ones once."""
    cases = {case.prompt: case for case in list_presets() if case.kind == "case" and case.task == name}
    return [Problem(name, case.prompt, case.prompt, "", case.answer) for case in cases.values()]


def prompts(found: list[Problem], tokenizer: Tokenizer, chat: bool = False) -> list[Prompt]:
    """The problems with stable ids, encoded."""
    return [Prompt(f"{p.family}:{i}", p, tokenizer.encode(p.prompt, chat)) for i, p in enumerate(found)]
