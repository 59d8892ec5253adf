"""What "the same answer" means: comparing extracted answers, or how code does in its tests, or whether a wording is one
of the right ones, or how near texts come to references."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from engine.tasks.problem import Problem
from engine.tasks.wordings import is_right


@dataclass(frozen=True, slots=True)
class Response:
    """A response as text, and its extracted answer."""

    text: str
    answer: str | None


class Criterion(Protocol):
    """Decides whether a swapped token mattered."""

    @property
    def running(self) -> bool:
        """Compares with the current response, not with the first."""

    def answer(self, problem: Problem, text: str) -> str | None:
        """The answer in a response; only the response is looked at, never the prompt (register A11)."""

    def important(self, problem: Problem, first: Response, current: Response, alternative: Response) -> bool:
        """Whether the alternative is worse. `first` is the target's own response, `current` the one being searched."""


@dataclass(frozen=True)
class SameAnswer:
    """Important when the answer differs from that of the target's first response. A missing answer differs."""

    extract: Callable[[str], str | None]
    equivalent: Callable[[str | None, str | None], bool]
    running: bool = False

    def answer(self, problem: Problem, text: str) -> str | None:
        return self.extract(text)

    def important(self, problem: Problem, first: Response, current: Response, alternative: Response) -> bool:
        if first.answer is None and alternative.answer is None:
            return False
        return not self.equivalent(first.answer, alternative.answer)


class SameTests:
    """Important when the tests end otherwise: "pass" or "fail" (two failures are equal), register A8.

    `report` compares the ending of each test instead, errors and limits included. Code that was run before is not run
    again.
    """

    running = False

    def __init__(
        self,
        extract: Callable[[str], str | None],
        score: Callable[[Problem, str], float],
        report: Callable[[Problem, str], list[str]] | None = None,
    ) -> None:
        self.extract, self.score, self.report = extract, score, report
        self._known: dict[tuple[str, str | None], str] = {}

    def answer(self, problem: Problem, text: str) -> str | None:
        key = (problem.key, self.extract(text))
        if key not in self._known:
            if self.report is not None:
                self._known[key] = "; ".join(self.report(problem, text))
            else:
                self._known[key] = "pass" if self.score(problem, text) >= 1 else "fail"
        return self._known[key]

    def important(self, problem: Problem, first: Response, current: Response, alternative: Response) -> bool:
        return first.answer != alternative.answer


class SameRight:
    """Important when the alternative is none of the right wordings of the solution.

    The target's first response must be one: else there is nothing to lose, and the prompt is skipped as one without an
    answer.
    """

    running = False

    def __init__(self, extract: Callable[[str], str | None]) -> None:
        self.extract = extract

    def answer(self, problem: Problem, text: str) -> str | None:
        found = self.extract(text)
        return found if found is not None and is_right(problem, found) else None

    def important(self, problem: Problem, first: Response, current: Response, alternative: Response) -> bool:
        return alternative.answer is None


class NoWorse:
    """Important when a measure (0 to 100) falls by more than `margin` points below that of the target's first response.

    It is always the first that counts, so that many small losses do not add up. The answer says the measure.
    """

    running = False

    def __init__(
        self, extract: Callable[[str], str | None], measure: Callable[[Problem, str], float], margin: float, unit: str
    ) -> None:
        self.extract, self.measure, self.margin, self.unit = extract, measure, margin, unit
        self._known: dict[tuple[str, str], float] = {}

    def answer(self, problem: Problem, text: str) -> str | None:
        return None if self.extract(text) is None else f"{self._points(problem, text):.1f} {self.unit}"

    def important(self, problem: Problem, first: Response, current: Response, alternative: Response) -> bool:
        lost = self._points(problem, first.text) - self._points(problem, alternative.text)
        return lost > self.margin + 1e-9

    def _points(self, problem: Problem, text: str) -> float:
        key = (problem.key, text)
        if key not in self._known:
            self._known[key] = self.measure(problem, self.extract(text) or "")
        return self._known[key]
