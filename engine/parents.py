"""A tree as plain data: each node's parent, which stands before it; -1 is the root."""

from collections.abc import Sequence


def depths_of(parents: Sequence[int]) -> tuple[int, ...]:
    """Depth of each node [N]; children of the root have 1."""
    depths: list[int] = []
    for parent in parents:
        depths.append(1 if parent < 0 else depths[parent] + 1)
    return tuple(depths)


def kids_of(parents: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """Children of the root (entry 0) and of node i (entry i + 1), in their order."""
    kids: list[list[int]] = [[] for _ in range(len(parents) + 1)]
    for i, parent in enumerate(parents):
        kids[parent + 1].append(i)
    return tuple(map(tuple, kids))


def in_order(parents: Sequence[int]) -> bool:
    """Whether every parent stands before its children."""
    return all(-1 <= parent < i for i, parent in enumerate(parents))
