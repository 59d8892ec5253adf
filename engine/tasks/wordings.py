"""The right wordings of a problem's solution: whether a text is one of them, and a few of them as references."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random

from engine.tasks.problem import Problem, Writer

DRAWN = 14  # wordings drawn as references, besides the canonical one and the solution


def is_right(problem: Problem, text: str) -> bool:
    """Whether `text` is the problem's answer, or one of the right wordings of its solution, but for spaces.

    Wordings are tried in the order in which the writer picks; one that has left the text is followed no further.
    """
    sought = " ".join(text.split())
    if sought == " ".join(problem.answer.split()):
        return True
    scripts: list[list[int]] = [[]] if problem.write is not None else []
    while scripts:
        script = scripts.pop()
        follower = _Follower(None, script=script, sought=sought)
        if _written(problem.write, follower):
            return True
        for at in range(len(script), len(follower.options)):
            scripts += [[*follower.picks[:at], pick] for pick in range(1, follower.options[at])]
    return False


def references(problem: Problem) -> list[str]:
    """Right texts to measure others by: the answer, and of a problem whose wording is free its solution and `DRAWN`
    wordings more, always the same; each once."""
    found = [problem.answer]
    if problem.write is not None:
        rng = Random(f"references/{problem.key}")
        writers = [Writer(rng) for _ in range(DRAWN)]
        for writer in writers:
            problem.write(writer)
        found += [problem.solution, *(writer.text for writer in writers)]
    return list(dict.fromkeys(found))


class _LeftError(Exception):
    """What was written is no longer the beginning of the text that is sought."""


@dataclass(slots=True)
class _Follower(Writer):
    """Picks what a script says, and the first alternative behind its end, as long as the text sought begins so."""

    script: Sequence[int] = ()
    sought: str = ""
    picks: list[int] = field(default_factory=list)
    options: list[int] = field(default_factory=list)  # how many there were at each pick

    def say(self, text: str) -> None:
        self.text += text
        begun = " ".join(self.text.split()).lower()  # a sentence gets its capital when it is whole
        if not self.sought.lower().startswith(begun):
            raise _LeftError

    def pick(self, options: Sequence[object]) -> int:
        at = len(self.picks)
        self.picks.append(self.script[at] if at < len(self.script) else 0)
        self.options.append(len(options))
        return self.picks[at]

    def choose(self, options: Sequence[str]) -> str:
        chosen = options[self.pick(options)]
        self.say(chosen)
        return chosen


def _written(write: Callable[[Writer], None] | None, follower: _Follower) -> bool:
    assert write is not None
    try:
        write(follower)
    except _LeftError:
        return False
    return " ".join(follower.text.split()) == follower.sought
