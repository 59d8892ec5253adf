"""Numbers of runs that draw several trajectories a problem: acceptance length and throughput over the first k of them.

A row is one trajectory: method, problem, trajectory, tokens, rounds, seconds, verify_tokens, answer, truth (see
engine.tune.rows).
"""

from collections.abc import Mapping, Sequence
from typing import Any

from engine.analysis.intervals import as_json, mean_interval
from engine.analysis.votes import accuracy_over_n
from engine.tasks.marking import Marking

Row = Mapping[str, Any]


def by_problem(rows: Sequence[Row], method: str) -> dict[str, list[Row]]:
    """The trajectories of a method by problem, in order."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        if row["method"] == method:
            found.setdefault(row["problem"], []).append(row)
    return {key: sorted(group, key=lambda row: int(row["trajectory"])) for key, group in found.items()}


def methods_of(rows: Sequence[Row]) -> list[str]:
    """Names in the order of their first row."""
    return list(dict.fromkeys(row["method"] for row in rows))


def first_k(rows: Sequence[Row], method: str, k: int) -> dict[str, Any]:
    """Tables 1 and 2: acceptance length (correction or bonus included) and throughput over the first k trajectories.

    `tau` is the mean over problems of tokens / target calls with its 95 % t-interval, `tau_pooled` the quotient of
    sums; throughput is tokens over decode wall time of whole sets (register S1).
    """
    groups = [group[:k] for group in by_problem(rows, method).values() if len(group) >= k and _ran(group[:k])]
    taus = [_tau(group) for group in groups]
    every = [row for group in groups for row in group]
    tokens, rounds = sum(r["tokens"] for r in every), sum(r["rounds"] for r in every)
    seconds = sum(r["seconds"] for r in every)
    interval = mean_interval(taus)
    return {
        "method": method,
        "k": k,
        "problems": len(groups),
        "tau": as_json(interval),
        "tau_pooled": tokens / rounds if rounds else None,
        "tokens_per_s": tokens / seconds if seconds else None,
        "verify_per_token": sum(r["verify_tokens"] for r in every) / tokens if tokens else None,
    }


def at(rows: Sequence[Row], method: str, trajectory: int) -> dict[str, Any]:
    """Acceptance length of one trajectory alone (number from 1), mean over problems with its 95 % interval."""
    found = [g[trajectory - 1 : trajectory] for g in by_problem(rows, method).values() if len(g) >= trajectory]
    found = [group for group in found if _ran(group)]
    interval = mean_interval([_tau(group) for group in found])
    return {
        "method": method,
        "trajectory": trajectory,
        "problems": len(found),
        "tau": as_json(interval),
    }


def difference(rows: Sequence[Row], a: str, b: str, k: int) -> dict[str, Any]:
    """Paired over problems: tau of method a less that of b over the first k trajectories, with its 95 % interval."""
    left, right = by_problem(rows, a), by_problem(rows, b)
    keys = [key for key, group in left.items() if len(group) >= k and len(right.get(key, ())) >= k]
    keys = [key for key in keys if _ran(left[key][:k]) and _ran(right[key][:k])]
    interval = mean_interval([_tau(left[key][:k]) - _tau(right[key][:k]) for key in keys])
    return {"a": a, "b": b, "k": k, "problems": len(keys), "difference": as_json(interval)}


def growth(rows: Sequence[Row], method: str, first: int, last: int) -> dict[str, Any]:
    """Paired over problems: tau of trajectory `last` less that of trajectory `first`, with its 95 % interval."""
    groups = [
        g
        for g in by_problem(rows, method).values()
        if len(g) >= max(first, last) and _ran([g[last - 1]], [g[first - 1]])
    ]
    interval = mean_interval([_tau(g[last - 1 : last]) - _tau(g[first - 1 : first]) for g in groups])
    return {
        "method": method,
        "from": first,
        "to": last,
        "problems": len(groups),
        "difference": as_json(interval),
    }


def _ran(*groups: Sequence[Row]) -> bool:
    """Whether each group made a target call; a run that failed at once made none, and has no acceptance length."""
    return all(sum(r["rounds"] for r in group) for group in groups)


def _tau(group: Sequence[Row]) -> float:
    return float(sum(r["tokens"] for r in group) / sum(r["rounds"] for r in group))


def voted(rows: Sequence[Row], method: str, mark: Marking, ns: Sequence[int]) -> dict[int, float]:
    """Share of problems that the majority over the first n trajectories gets right; programs by their tests' score."""
    groups = list(by_problem(rows, method).values())
    answers = [[row["answer"] for row in group] for group in groups]
    return accuracy_over_n(answers, [[_right(row, mark) for row in group] for group in groups], mark.equivalent, ns)


def _right(row: Row, mark: Marking) -> bool:
    return mark.equivalent(row["answer"], row["truth"]) if mark.textual else (row["score"] or 0) >= 1
