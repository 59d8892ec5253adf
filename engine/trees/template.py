"""Template: the shape of a static draft tree as plain data. Which rank of draft token hangs where, before any token is
known.

Node i hangs under parents[i] < i (-1 is the round's root) and takes the `ranks[i]`-th best draft token there, from 0.
Nodes stand breadth first, siblings by rank.
"""

import heapq
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from engine.errors import AssetError, unknown
from engine.files.documents import fits, read_object
from engine.files.written import write
from engine.parents import depths_of, in_order, kids_of

FOLDER = Path(__file__).resolve().parents[2] / "assets" / "trees"
MOST = 4096  # nodes that a template file may hold


@dataclass(frozen=True)
class Template:
    """A prefix-closed set of rank paths. `card` says where it comes from; it takes no part in comparisons."""

    parents: tuple[int, ...]
    ranks: tuple[int, ...]
    card: Mapping[str, Any] = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        if len(self.parents) != len(self.ranks) or not in_order(self.parents):
            raise ValueError("a template needs one rank a node, and each parent before its child")
        keys = list(zip(self.depths, self.parents, self.ranks, strict=True))
        if any(rank < 0 for rank in self.ranks) or any(a >= b for a, b in pairwise(keys)):
            raise ValueError("a template stands breadth first, siblings by rank and each rank once")

    def __len__(self) -> int:
        return len(self.parents)

    @cached_property
    def depths(self) -> tuple[int, ...]:
        """Depth of each node; children of the root have 1."""
        return depths_of(self.parents)

    @cached_property
    def kids(self) -> tuple[tuple[int, ...], ...]:
        """Children of the root (entry 0) and of node i (entry i + 1), by rank."""
        return kids_of(self.parents)

    @property
    def depth(self) -> int:
        """Depth of the deepest node; 0 for an empty template."""
        return self.depths[-1] if self.parents else 0

    @cached_property
    def profile(self) -> tuple[int, ...]:
        """Nodes at depths 1, 2, ..."""
        return tuple(self.depths.count(d) for d in range(1, self.depth + 1))

    @cached_property
    def width(self) -> int:
        """Most draft tokens wanted of one parent: its highest rank plus one."""
        return max(self.ranks, default=-1) + 1

    @cached_property
    def paths(self) -> tuple[tuple[int, ...], ...]:
        """The ranks from the root down to each node."""
        paths: list[tuple[int, ...]] = []
        for parent, rank in zip(self.parents, self.ranks, strict=True):
            paths.append((rank,) if parent < 0 else (*paths[parent], rank))
        return tuple(paths)

    def cut(self, nodes: int, depth: int) -> "Template":
        """The first nodes in breadth-first order, no deeper than `depth`. Prefix-closed, since parents come first."""
        n = min(max(nodes, 0), sum(d <= depth for d in self.depths))
        return self if n == len(self) else Template(self.parents[:n], self.ranks[:n], self.card)

    def keep(self, nodes: Iterable[int]) -> "Template":
        """Only these nodes, breadth first, with the ranks that they have.

        Raises:
            ValueError: a node without its parent.
        """
        kept = sorted(set(nodes))
        if not prefix_closed(self.parents, kept):
            raise ValueError("a node was kept without its parent")
        return from_paths((self.paths[i] for i in kept), self.card)

    def compact(self) -> "Template":
        """The same tree with sibling ranks renumbered 0, 1, ... (register S6)."""
        place = {kid: j for kids in self.kids for j, kid in enumerate(kids)}
        paths: list[tuple[int, ...]] = []
        for i, parent in enumerate(self.parents):
            paths.append((place[i],) if parent < 0 else (*paths[parent], place[i]))
        return from_paths(paths, self.card)

    def to_json(self) -> dict[str, Any]:
        """JSON types: the card's fields, counts for the reader, and the two arrays."""
        return {
            **self.card,
            "kind": "tree",
            "nodes": len(self),
            "depth": self.depth,
            "profile": list(self.profile),
            "parents": list(self.parents),
            "ranks": list(self.ranks),
        }

    def save(self, path: str | Path) -> None:
        """Write a JSON file: the card, then the arrays on one line each."""
        lines = [f" {json.dumps(k)}: {json.dumps(v, ensure_ascii=False)}" for k, v in self.to_json().items()]
        write(Path(path), ("{\n" + ",\n".join(lines) + "\n}\n").encode())


def prefix_closed(parents: Sequence[int], kept: Iterable[int]) -> bool:
    """Whether every kept node's parent is kept too."""
    known = {-1, *kept}
    return all(parents[i] in known for i in known if i >= 0)


def from_paths(paths: Iterable[Sequence[int]], card: Mapping[str, Any] | None = None) -> Template:
    """A template from rank paths, as Medusa and others write their trees: (0,), (0, 0), (1,), ...

    Raises:
        ValueError: a path whose beginning is not there, or one given twice.
    """
    ordered: list[tuple[int, ...]] = sorted((tuple(p) for p in paths), key=lambda p: (len(p), p))
    index = {path: i for i, path in enumerate(ordered)}
    if len(index) != len(ordered) or any(not p or (len(p) > 1 and p[:-1] not in index) for p in ordered):
        raise ValueError("paths must be given once each, with all their beginnings")
    parents = tuple(index[p[:-1]] if len(p) > 1 else -1 for p in ordered)
    return Template(parents, tuple(p[-1] for p in ordered), dict(card or {}))


@lru_cache(maxsize=64)
def best_first(nodes: int, depth: int, first: float = 0.75, ratio: float = 0.5, ranks: int = 10) -> Template:
    """The `nodes` likeliest paths if rank 0 holds with probability `first` and rank r > 0 with (1 - first) * ratio^r.

    Greedy over the product of rank probabilities, ties by path. 625 nodes and depth 20 give STAND's initial tree (App.
    A.1 names only these two numbers; register S5): it reaches exactly depth 20, with at most 92 nodes a level.
    """
    weights = [first] + [(1 - first) * ratio**r for r in range(1, ranks)]
    heap: list[tuple[float, tuple[int, ...]]] = [(-w, (r,)) for r, w in enumerate(weights)]
    heapq.heapify(heap)
    chosen: list[tuple[int, ...]] = []
    while heap and len(chosen) < nodes:
        score, path = heapq.heappop(heap)
        chosen.append(path)
        if len(path) < depth:
            for r, w in enumerate(weights):
                heapq.heappush(heap, (score * w, (*path, r)))
    made = {"first": first, "ratio": ratio, "ranks": ranks, "cap": depth}
    return from_paths(chosen, {"name": f"best_first_{nodes}", "title": f"Best-first, {nodes} nodes", "made": made})


def chain_template(length: int) -> Template:
    """One node a level, always the first draft token."""
    return Template(tuple(range(-1, length - 1)), (0,) * length, {"name": f"chain_{length}"})


def from_json(data: Any) -> Template:
    """A template from its JSON form.

    Raises:
        AssetError: not such a file, or one that contradicts itself.
    """
    try:
        if not isinstance(data, dict) or data.get("kind") != "tree":
            raise AssetError('This is no tree file: its "kind" is not "tree".')
        if gone := [name for name in ("parents", "ranks") if name not in data]:
            raise ValueError(f"it lacks {' and '.join(gone)}")
        if len(data["parents"]) > MOST:
            raise ValueError(f"it has more than {MOST} nodes")
        if not fits(data["parents"], list[int]) or not fits(data["ranks"], list[int]):
            raise ValueError("its parents and ranks must be integers")
        if max(data["ranks"], default=0) >= MOST:
            raise ValueError(f"a rank must be below {MOST}")
        _check_usage(data.get("usage"))
        card = {k: v for k, v in data.items() if k not in ("kind", "nodes", "depth", "profile", "parents", "ranks")}
        return Template(tuple(data["parents"]), tuple(data["ranks"]), card)
    except (TypeError, ValueError) as error:
        raise AssetError(f"This tree file cannot be used: {error}.") from None


def _check_usage(usage: Any) -> None:
    """See that what an optimised tree says of the tree that it was chosen from can be grown again.

    Raises:
        ValueError: it cannot.
    """
    if usage is None:
        return
    if not isinstance(usage, dict):
        raise ValueError("its usage must be an object")
    for name in ("nodes", "depth", "ranks"):
        if not fits(usage.get(name), int) or not 1 <= usage[name] <= MOST:
            raise ValueError(f"usage.{name} must be an integer from 1 to {MOST}")
    for name in ("first", "ratio"):
        if not fits(usage.get(name), float) or not 0 < usage[name] < 1:
            raise ValueError(f"usage.{name} must be a number between 0 and 1")
    counts, kept = usage.get("counts", ()), usage.get("kept", ())
    if not fits(counts, list[int]) or not fits(kept, list[int]) or len(counts) > MOST:
        raise ValueError("usage.counts and usage.kept must be lists of integers")
    if any(not 0 <= place < len(counts) for place in kept) or any(count < 0 for count in counts):
        raise ValueError("usage.kept must name places of usage.counts, which must not be negative")


def load_template(path: str | Path) -> Template:
    """A template file.

    Raises:
        AssetError: missing, damaged, or no tree.
    """
    found = read_object(Path(path))
    try:
        return from_json(found)
    except AssetError as error:
        raise AssetError(f"The tree {path} cannot be read: {error}") from None


def tree_names() -> tuple[str, ...]:
    """Names of the trees that are shipped under assets/trees/, sorted."""
    return tuple(sorted(p.stem for p in FOLDER.glob("*.json")))


@lru_cache(maxsize=64)
def named_template(name: str) -> Template:
    """A shipped tree by name.

    Raises:
        AssetError: unknown, with the nearest right name; or damaged.
    """
    if name not in tree_names():
        raise AssetError(unknown("tree", name, tree_names()))
    return load_template(FOLDER / f"{name}.json")
