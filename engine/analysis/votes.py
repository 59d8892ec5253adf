"""Best of n by majority: the answer that most trajectories agree on (Wang et al. 2022); how accuracy grows with n."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

Answer = str | None
Equivalent = Callable[[Answer, Answer], bool]


@dataclass(frozen=True, slots=True)
class Vote:
    """The winning answer, how many of n gave it, their share of all n; a trajectory without an answer has no vote."""

    answer: Answer
    count: int
    n: int

    @property
    def share(self) -> float:
        """Votes for the winner over all trajectories."""
        return self.count / self.n if self.n else 0.0


def majority(answers: Sequence[Answer], equivalent: Equivalent) -> Vote:
    """The answer most often given; of equals the one that came first."""
    groups: list[tuple[Answer, int]] = []
    for answer in answers:
        if answer is None:
            continue
        for i, (known, count) in enumerate(groups):
            if equivalent(known, answer):
                groups[i] = (known, count + 1)
                break
        else:
            groups.append((answer, 1))
    winner = max(groups, key=lambda group: group[1], default=(None, 0))
    return Vote(winner[0], winner[1], len(answers))


def majority_right(answers: Sequence[Answer], right: Sequence[bool], equivalent: Equivalent) -> bool:
    """Whether the majority is right: one of those that gave its answer is. Programs are right by their tests."""
    winner = majority(answers, equivalent).answer
    return any(
        good and answer is not None and equivalent(winner, answer) for answer, good in zip(answers, right, strict=True)
    )


def accuracy_over_n(
    answers: Sequence[Sequence[Answer]], right: Sequence[Sequence[bool]], equivalent: Equivalent, ns: Sequence[int]
) -> dict[int, float]:
    """For each n the share of problems whose majority over the first n trajectories (or all, if fewer) is right."""
    return {
        n: sum(majority_right(given[:n], good[:n], equivalent) for given, good in zip(answers, right, strict=True))
        / max(len(answers), 1)
        for n in ns
    }
