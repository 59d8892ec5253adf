"""What "the same answer" means: comparing extracted answers, or comparing how code does in its tests."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from engine.tasks.problem import Problem


@dataclass(frozen=True, slots=True)
class Response:
    """A response as text, and its extracted answer."""

    text: str
    answer: str | None


class Criterion(Protocol):
    """Decides whether a swapped token mattered. `running`: compares with the current response, not with the first."""

    running: bool

    def answer(self, problem: Problem, text: str) -> str | None:
        """The answer in a response; only the response is looked at, never the prompt (register A11)."""

    def important(self, problem: Problem, first: Response, current: Response, alternative: Response) -> bool:
        """Whether the alternative is not as good. `first` is the target's own response, `current` the one being searched."""


@dataclass(frozen=True)
class SameAnswer:
    """Important when the extracted answer differs from that of the target's first response. A missing answer differs."""

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

    `report` compares the ending of each test instead, errors and limits included.
    """

    running = False

    def __init__(self, score: Callable[[Problem, str], float], report: Callable[[Problem, str], list[str]] | None = None) -> None:
        self.score, self.report = score, report
        self._known: dict[tuple[str, str], str] = {}

    def answer(self, problem: Problem, text: str) -> str | None:
        key = (problem.key, text)
        if key not in self._known:
            full = self.report(problem, text) if self.report else None
            self._known[key] = "; ".join(full) if full is not None else "pass" if self.score(problem, text) >= 1 else "fail"
        return self._known[key]

    def important(self, problem: Problem, first: Response, current: Response, alternative: Response) -> bool:
        return first.answer != alternative.answer
