"""A language model as the judge of equivalence (AutoJudge appendix L), for tasks without a checkable answer.

The alternative is shown as A, the response being searched as B; the swap is important when A is strictly worse.
Register A7.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from engine.errors import ConfigError
from engine.judge.client import Endpoint
from engine.judge.criterion import Response
from engine.tasks.problem import Problem

Winner = Literal["A", "B", "tie"]
Vote = Literal["paper", "unanimous"]
ASK = (
    "You compare two answers of assistants to one request. Judge helpfulness, relevance, correctness and concision; "
    "differences of wording alone do not count. Think briefly, then end with exactly one verdict: [[A>>B]] assistant A "
    "is significantly better, [[A>B]] slightly better, [[A=B]] about the same, [[B>A]] assistant B is slightly better, "
    "[[B>>A]] significantly better."
)
_VERDICT = re.compile(r"\[\[\s*(A\s*>>?\s*B|B\s*>>?\s*A|A\s*=\s*B|B\s*=\s*A)\s*\]\]")


def verdict(text: str) -> Winner:
    """The last verdict in a judge's answer, its five grades made three; a tie when there is none."""
    found = _VERDICT.findall(text)
    if not found or "=" in found[-1]:
        return "tie"
    return "A" if found[-1].lstrip().startswith("A") else "B"


def winner(votes: Sequence[Winner], how: Vote = "paper") -> Winner:
    """ "paper": the majority of decisive votes, a tie when they balance. "unanimous": a tie unless all agree."""
    if how == "unanimous":
        return votes[0] if votes and len(set(votes)) == 1 else "tie"
    a, b = votes.count("A"), votes.count("B")
    return "A" if a > b else "B" if b > a else "tie"


@dataclass(frozen=True)
class JudgeModel:
    """Asks a chat model `votes` times. The answer of a response is the response."""

    endpoint: Endpoint
    votes: int = 3
    how: Vote = "paper"
    temperature: float = 0.0

    def __post_init__(self) -> None:
        if self.votes < 1 or self.how not in ("paper", "unanimous"):
            raise ConfigError(
                f"A judge needs at least one vote, counted as in the paper or unanimous; not {self.votes}, {self.how}."
            )

    @property
    def running(self) -> bool:
        """The alternative is compared with the response being searched (appendix L)."""
        return True

    def answer(self, problem: Problem, text: str) -> str | None:
        return text

    def important(self, problem: Problem, first: Response, current: Response, alternative: Response) -> bool:
        return self.compare(problem.prompt, alternative.text, current.text) == "B"

    def compare(self, prompt: str, a: str, b: str) -> Winner:
        """Who is better, by vote; equal texts are not asked about."""
        if a == b:
            return "tie"
        said = f"[Request]\n{prompt}\n\n[Assistant A]\n{a}\n[End of A]\n\n[Assistant B]\n{b}\n[End of B]"
        messages = [{"role": "system", "content": ASK}, {"role": "user", "content": said}]
        votes = [verdict(self.endpoint.chat(messages, temperature=self.temperature, seed=n)) for n in range(self.votes)]
        return winner(votes, self.how)
