"""How much later trajectories repeat of earlier ones (STAND, section 3.1, figure 2). Pure; token ids in, shares out."""

from collections.abc import Iterator, Sequence

Gram = tuple[int, ...]


def grams(tokens: Sequence[int], n: int) -> Iterator[Gram]:
    """The n-grams of a sequence, from left to right."""
    return (tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1))


def repeated_share(trajectories: Sequence[Sequence[int]], n: int) -> float | None:
    """Share of all n-grams in these trajectories that stand at another place too, in the same or another trajectory.

    The paper says that n-grams "recur across" trajectories; this counts occurrences of n-grams that occur at least twice.
    None when there is no n-gram.
    """
    counts: dict[Gram, int] = {}
    for tokens in trajectories:
        for gram in grams(tokens, n):
            counts[gram] = counts.get(gram, 0) + 1
    total = sum(counts.values())
    return sum(c for c in counts.values() if c > 1) / total if total else None


def seen_share(trajectories: Sequence[Sequence[int]], n: int) -> float | None:
    """Share of the last trajectory's n-grams that an earlier trajectory holds: what a drafter could have looked up.

    None when there is no earlier trajectory or no n-gram.
    """
    if len(trajectories) < 2:
        return None
    earlier = {gram for tokens in trajectories[:-1] for gram in grams(tokens, n)}
    last = list(grams(trajectories[-1], n))
    return sum(gram in earlier for gram in last) / len(last) if last else None


def overlap_table(
    problems: Sequence[Sequence[Sequence[int]]], counts: Sequence[int], orders: Sequence[int]
) -> list[dict[str, float]]:
    """Figure 2 as rows: for each number of trajectories and each order the mean over problems of both shares."""
    rows = []
    for k in counts:
        groups = [problem[:k] for problem in problems if len(problem) >= k]
        for n in orders:
            repeated = [s for s in (repeated_share(group, n) for group in groups) if s is not None]
            seen = [s for s in (seen_share(group, n) for group in groups) if s is not None]
            rows.append(
                {"trajectories": k, "order": n, "problems": len(groups), "repeated": _mean(repeated), "seen_before": _mean(seen)}
            )
    return rows


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else float("nan")
