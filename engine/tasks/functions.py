"""Small Python functions from a short specification, scored by running hidden tests."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

from engine.tasks.problem import Measure, Problem, Writer
from engine.tasks.sandbox import run_python
from engine.tasks.snippets import (
    COUNT,
    LETTER_AGGREGATES,
    LETTER_FILTERS,
    LETTER_MAPS,
    NUMBER_AGGREGATES,
    NUMBER_FILTERS,
    NUMBER_MAPS,
    Aggregate,
    Part,
)

FAMILY = "functions"
ABOUT = "a small Python function to write from a description and one test"
READS = "The answer is the first function of a text."
OPENING, CUE, TEXTUAL = "Task:", "Code:", False
MEASURES: tuple[Measure, ...] = ("accuracy",)
HIDDEN_TESTS = 4
RESULTS = ("total", "result", "answer", "out")
VARIABLES = ("x", "item", "value", "e")
VERBS = ("gives", "returns", "finds", "brings")
TAKES = ("takes", "sees", "reads", "seeks")
ENDS = ("Finally", "Then", "Now", "So")
GIVES = ("give", "show", "send", "return")
OPENINGS = ("Write a function f", "Define f", "Implement a function f", "Give a Python function f")


@dataclass(frozen=True, slots=True)
class Spec:
    """What one function does: an aggregate of a map over the filtered elements of its input."""

    source: str  # "list", "string" or "range"
    aggregate: Aggregate
    chosen: Part | None  # None for a count
    chosen_c: Any
    test: Part | None  # None for no filter
    test_c: Any
    start: int = 0  # first number of a range

    def expected(self, given: Any) -> Any:
        """What the function must return for `given`, computed without its code."""
        elements = range(self.start, given + 1) if self.source == "range" else given
        kept = [v for v in elements if self.test is None or self.test.means(v, self.test_c)]
        return self.aggregate.means([v if self.chosen is None else self.chosen.means(v, self.chosen_c) for v in kept])

    def says(self) -> str:
        """The specification in words."""
        noun = "characters" if self.source == "string" else "numbers"
        where = {"list": "in xs", "string": "in s", "range": f"from {self.start} to n"}[self.source]
        chosen = noun if self.chosen is None else self.chosen.says.format(c=self.chosen_c)
        test = "" if self.test is None else " that are " + self.test.says.format(c=self.test_c)
        return f"{self.aggregate.says} {chosen} {where}{test}"


def generate(rng: Random) -> Problem:
    """Draw one problem; its key is the specification in words."""
    spec = _spec(rng)
    writer = Writer(rng)
    _write(writer, spec)
    cases = [(g, spec.expected(g)) for g in _inputs(rng, spec, HIDDEN_TESTS + 1)]
    lines = [f"assert f({given!r}) == {wanted!r}" for given, wanted in cases]
    parameter = {"list": "xs", "string": "s", "range": "n"}[spec.source]
    prompt = f"Task: {rng.choice(OPENINGS)}({parameter}) that returns {spec.says()}.\n{lines[0]}\nCode:"
    return Problem(FAMILY, spec.says(), prompt, writer.text, "\n".join(lines[1:]), tuple(writer.spans))


def _spec(rng: Random) -> Spec:
    source = rng.choice(("list", "list", "string", "range"))
    letters = source == "string"
    constant: Callable[[], Any] = (lambda: rng.choice("bcdefghklmnprst")) if letters else (lambda: rng.randint(2, 12))
    test = rng.choice(LETTER_FILTERS if letters else NUMBER_FILTERS)
    test_c = constant()
    start = rng.randint(1, 9) if source == "range" else 0
    if rng.random() < 0.15:
        return Spec(source, COUNT, None, 0, test, test_c, start)
    chosen = rng.choice(LETTER_MAPS if letters else NUMBER_MAPS)
    aggregate = rng.choice(LETTER_AGGREGATES if letters else NUMBER_AGGREGATES)
    unfiltered = rng.random() < 0.1
    return Spec(source, aggregate, chosen, rng.randint(2, 9), None if unfiltered else test, test_c, start)


def _inputs(rng: Random, spec: Spec, n: int) -> list[Any]:
    if spec.source == "range":
        return [rng.randint(spec.start, 15) for _ in range(n)]
    if spec.source == "string":
        letters = "aeioubcdefghklmnprstABEKT12"
        return ["".join(rng.choices(letters, k=rng.randint(3, 6))) for _ in range(n)]
    return [rng.choices(range(21), k=rng.randint(3, 5)) for _ in range(n)]


def _write(writer: Writer, spec: Spec) -> None:
    """The function, with three comments: their words and its names are free, and so is one way to add."""
    parameter = {"list": "xs", "string": "s", "range": "n"}[spec.source]
    elements = f"range({spec.start}, n + 1)" if spec.source == "range" else parameter
    writer.say(f"\ndef f({parameter}):\n    # ")
    writer.choose(VERBS)
    writer.say(" the ")
    writer.choose(("answer", "result", "value", "total"))
    writer.say("\n    ")
    result = writer.choose(RESULTS)
    writer.say(f" = {spec.aggregate.start}\n    # ")
    writer.choose(TAKES)
    writer.say(" each ")
    writer.choose(("character" if spec.source == "string" else "number", "one", "item", "value"))
    writer.say("\n    for ")
    variable = writer.choose(VARIABLES)
    writer.say(f" in {elements}:\n        ")
    if spec.test is not None:
        writer.say(f"if {spec.test.code.format(v=variable, c=spec.test_c)}:\n            ")
    _write_step(writer, spec, result, variable)
    writer.say("\n    # ")
    writer.choose(ENDS)
    writer.say(" ")
    writer.choose(GIVES)
    writer.say(f" it\n    return {result}\n")


def _write_step(writer: Writer, spec: Spec, result: str, variable: str) -> None:
    """What the loop does with an element; a plain addition may be written in two ways."""
    value = "" if spec.chosen is None else spec.chosen.code.format(v=variable, c=spec.chosen_c)
    step = spec.aggregate.step.format(a=result, m=value)
    left, sign, right = step.partition(" += ")
    if not sign or " + " in right or " - " in right:
        writer.say(step)
        return
    writer.say(left)
    writer.choose((" +=", f" = {left} +"))
    writer.say(f" {right}")


def extract(text: str) -> str | None:
    """The first top-level function of `text` (also inside a Markdown fence), or None."""
    fenced = re.search(r"```(?:python)?\n(.*?)```", text, re.DOTALL)
    lines = (fenced.group(1) if fenced else text).splitlines()
    first = next((i for i, line in enumerate(lines) if line.startswith("def ")), None)
    if first is None:
        return None
    body = lines[first + 1 :]
    stop = next((i for i, line in enumerate(body) if line and not line[0].isspace()), len(body))
    return "\n".join([lines[first], *body[:stop]]).rstrip() + "\n"


def equivalent(a: str | None, b: str | None) -> bool:
    """Whether two functions have the same syntax tree once their own names are numbered and `a += b` is `a = a + b`."""
    if a is None or b is None:
        return False
    try:
        return _shape(a) == _shape(b)
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # the latter two of what is nested too deeply
        return a.strip() == b.strip()


class _PlainSums(ast.NodeTransformer):
    """Writes `a += b` as `a = a + b`."""

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        if not isinstance(node.target, ast.Name):
            return node
        read = ast.Name(node.target.id, ast.Load())
        return ast.Assign([node.target], ast.BinOp(read, node.op, node.value))


def _shape(code: str) -> str:
    tree, names = _PlainSums().visit(ast.parse(code)), dict[str, str]()
    own = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    own |= {n.arg for n in ast.walk(tree) if isinstance(n, ast.arg)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in own:  # max and min are not the function's to rename
            node.id = names.setdefault(node.id, f"v{len(names)}")
        elif isinstance(node, ast.arg):
            node.arg = names.setdefault(node.arg, f"v{len(names)}")
    return ast.dump(tree)


def score(problem: Problem, text: str) -> float:
    """1.0 when the function in `text` passes every hidden test in the sandbox, else 0.0."""
    code = extract(text)
    if code is None:
        return 0.0
    return float(run_python(code + "\n" + problem.answer + "\n").passed)
