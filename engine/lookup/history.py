"""History: the sequences of a problem end to end, and where in them a position lies. Scope: how long they are
remembered.

A problem is a prompt. Its trajectories are drawn one after another, and what was learned from one serves the next
(STAND, section 5.1; register S10).
"""

from bisect import bisect_right
from collections.abc import Sequence

from engine.config import Knob
from engine.trace.records import Source

SCOPE = Knob(
    "scope",
    "problem",
    "what was seen is kept for one run, for all trajectories of a prompt, or for good",
    choices=("run", "problem", "global"),
    advanced=True,
)


NEWER_HALF = "past it the automaton is built anew over the newer half of the text"


def entries_knob(default: int, what: str, past: str = "the least recently used leave first") -> Knob:
    """The knob that bounds memory; `past` says what happens there."""
    return Knob(
        "entries",
        default,
        f"most {what} kept; {past}",
        16,
        10_000_000,
        1,
        "entries",
        advanced=True,
    )


class History:
    """Trajectories of the current scope: each is the prompt and what was generated after it."""

    def __init__(self, scope: str) -> None:
        self.scope = scope
        self.tokens: list[int] = []
        self._starts: list[int] = []
        self._prompts: list[int] = []
        self._prompt: list[int] = []

    def begin(self, prompt: Sequence[int]) -> bool:
        """A new sequence starts with its prompt; true when all that came before must be forgotten."""
        prompt = list(prompt)
        forget = bool(self._starts) and (self.scope == "run" or (self.scope == "problem" and prompt != self._prompt))
        if forget:
            self.tokens, self._starts, self._prompts = [], [], []
        self._starts.append(len(self.tokens))
        self._prompts.append(len(prompt))
        self._prompt = prompt
        self.tokens += prompt
        return forget

    def extend(self, tokens: Sequence[int]) -> list[int]:
        """The sequence has grown to `tokens`; returns what is new."""
        new = list(tokens[len(self.tokens) - self._starts[-1] :])
        self.tokens += new
        return new

    @property
    def trajectory(self) -> int:
        """Number of the current trajectory, from 0."""
        return len(self._starts) - 1

    @property
    def start(self) -> int:
        """Where the current trajectory starts."""
        return self._starts[-1]

    def starts(self) -> list[int]:
        """Where each trajectory starts."""
        return self._starts

    def end(self, trajectory: int) -> int:
        """One past the last position of a trajectory."""
        return self._starts[trajectory + 1] if trajectory + 1 < len(self._starts) else len(self.tokens)

    def of(self, at: int) -> int:
        """The trajectory that holds a position."""
        return bisect_right(self._starts, at) - 1

    def continuation(self, at: int, n: int) -> list[int]:
        """At most n tokens from a position on, within its trajectory."""
        return self.tokens[at : min(at + n, self.end(self.of(at)))]

    def place(self, at: int) -> Source:
        """Where a position lies, for the trace: trajectory (and how many ago), part of it, and position within that
        part."""
        trajectory = self.of(at)
        pos = at - self._starts[trajectory]
        inside = pos < self._prompts[trajectory]
        return {
            "trajectory": trajectory,
            "ago": self.trajectory - trajectory,
            "part": "prompt" if inside else "response",
            "pos": pos if inside else pos - self._prompts[trajectory],
        }
