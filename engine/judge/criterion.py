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
