"""A draft tree while it grows: levels of candidates with cumulative scores, then the best of them as a Draft.

EAGLE-2 (2406.16858), sections 4.1 and 4.2: expansion takes the best `width` children of each of the best `width` nodes
a level; reranking keeps the best nodes of all levels. Dimension key: R frontier rows, k children a row, M candidates, V
vocabulary.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from engine.config import Knob, KnobValue
from engine.draft import EMPTY, Draft
from engine.errors import ConfigError
from engine.sampling import wide
from engine.trace.records import Pruned, RoundExtras, Source

MOST_PRUNED = 48  # candidates left out that a full trace names, best first
TREE_KNOBS: tuple[Knob, ...] = (
    Knob("total_token", 60, "tokens verified a round, the root included", 2, 640, 1, "tokens", origin="code"),
    Knob("depth", 7, "levels grown after the first: the tree has one more", 0, 30, 1, "levels", origin="code"),
    Knob("tree_top_k", 10, "children a node, and nodes that go on each level", 1, 64, 1, "nodes", origin="code"),
)


@dataclass(frozen=True, slots=True)
class Plan:
    """How far a tree may grow, and how much of it is verified."""

    levels: int  # depth of the deepest node
    width: int  # children a node, and nodes expanded a level
    nodes: int  # verified, root excluded
    reuse: bool = True  # whether prepared buffers may be kept for the next round of this size
    spared: tuple[str, int] | None = None  # a cause, and how many nodes would be verified if it were not for it


def check_size(knobs: Mapping[str, KnobValue], context: int, only_chains: bool = False) -> tuple[int, int, int]:
    """total_token, depth and tree_top_k; the last is 1, which gives a chain, for a target that checks nothing else.

    Raises:
        ConfigError: a tree that is larger than the target's whole context.
    """
    total, depth, width = int(knobs["total_token"]), int(knobs["depth"]), int(knobs["tree_top_k"])
    if total >= context:
        raise ConfigError(
            f"A tree of {total} tokens does not fit a target that reads at most {context}: lower total_token."
        )
    return total, depth, 1 if only_chains else width


class Growth:
    """All candidates of a round, on the drafter's device. Candidate ids count through the levels, so parents come
    first."""

    def __init__(self, width: int, device: torch.device, names: Tensor | None = None, vocab: int = 0) -> None:
        """`names` [V'] gives the target's id of each draft id (EAGLE-3's reduced vocabulary); `vocab` the target's
        V."""
        self.width, self.names, self.vocab = width, names, vocab
        self.tokens: list[Tensor] = []
        self.scores: list[Tensor] = []
        self.parents: list[Tensor] = []  # candidate ids; -1 is the root
        self.logits: list[Tensor] = []  # of the expanded rows, a level each
        self.values: list[Tensor] = []  # log-probabilities of the children taken [R, k], a level each
        self.picks: list[Tensor] = []  # places of the next frontier within the level's candidates
        self.frontier = torch.full((1,), -1, dtype=torch.long, device=device)
        self.best = torch.zeros(1, device=device)  # cumulative scores of the frontier [R]
        self.count = 0
        self._starts: list[int] = []
        self.kept_rows: dict[int, Tensor] = {}  # by level: frontier rows of before that alone had children there

    @property
    def levels(self) -> int:
        """Levels grown so far."""
        return len(self.tokens)

    def keep(self, rows: Tensor) -> None:
        """Let only these frontier rows have children in the next level."""
        self.kept_rows[self.levels] = rows
        self.frontier, self.best = self.frontier[rows], self.best[rows]

    def add(self, logits_RV: Tensor) -> None:
        """One more level: the best children of every frontier row, and of all these the next frontier."""
        x = wide(logits_RV)
        top = x.topk(min(self.width, x.shape[-1]), dim=-1)
        values = top.values - x.logsumexp(-1, keepdim=True)
        ids = top.indices.flatten()
        scores = (self.best.unsqueeze(1) + values).flatten()
        self.tokens.append(ids if self.names is None else self.names[ids])
        self.scores.append(scores)
        self.parents.append(self.frontier.repeat_interleave(values.shape[1]))
        self.logits.append(logits_RV)
        self.values.append(values)
        order = scores.sort(descending=True, stable=True)  # ties by index: parents stay ahead of their children
        pick = order.indices[: self.width]
        self.picks.append(pick)
        self._starts.append(self.count)
        self.frontier, self.best = pick + self.count, order.values[: self.width]
        self.count += len(scores)

    @property
    def rows(self) -> Tensor:
        """For each frontier node the row of the last level's logits under which it was taken [R]."""
        return self.picks[-1] // self.values[-1].shape[1]

    @property
    def fresh(self) -> Tensor:
        """Tokens of the frontier [R]."""
        return self.tokens[-1][self.picks[-1]]

    def draft(
        self,
        nodes: int,
        *,
        full: bool = False,
        spared: tuple[str, int] | None = None,
        source: str = "head",
        extras: RoundExtras | None = None,
    ) -> Draft:
        """The best `nodes` candidates by cumulative score, in level order; children in the order of their probability.

        With `full` also the logits they came from, their source, and the best of those left out with the cause: that of
        `spared` (see `Plan`) for the nodes it tells of, "rank" for one that was never expanded, else "budget".
        """
        if not self.tokens:
            return EMPTY
        scores, tokens, parents = torch.cat(self.scores), torch.cat(self.tokens), torch.cat(self.parents)
        order = scores.sort(descending=True, stable=True).indices
        kept = order[:nodes].sort().values
        ids: list[int] = kept.tolist()
        place = {-1: -1} | {c: i for i, c in enumerate(ids)}
        numbers = torch.stack((tokens[kept], parents[kept])).tolist()
        told: RoundExtras = {**(extras or {}), "candidates": self.count}
        logs = tuple(scores[kept].tolist())
        new = Draft(tuple(numbers[0]), tuple(place[p] for p in numbers[1]), scores=logs, extras=told)
        if not full:
            return new
        group, logits = self._distributions(numbers[1])
        sources = tuple(Source(kind=source, level=d) for d in new.depths)
        pruned = self._pruned(order[nodes:], scores, tokens, parents, place, _cause(order, spared))
        return replace(new, group=group, logits=logits, sources=sources, pruned=pruned)

    def _distributions(self, parents: Sequence[int]) -> tuple[tuple[int, ...], Tensor]:
        """Group of each node, and the raw logits [G, V] of the groups, in the target's ids."""
        expanded = sorted(set(parents))
        rows = []
        for candidate in expanded:
            level = 0 if candidate < 0 else 1 + max(i for i, s in enumerate(self._starts) if s <= candidate)
            k = self.values[level].shape[1]
            row = int((self.parents[level][::k] == candidate).nonzero()[0])
            rows.append(self.logits[level][row])
        logits = torch.stack(rows)
        if self.names is not None:
            wider = logits.new_full((len(rows), self.vocab), -torch.inf)
            logits = wider.index_copy_(1, self.names, logits)
        place = {c: g for g, c in enumerate(expanded)}
        return tuple(place[p] for p in parents), logits

    def _pruned(
        self,
        left: Tensor,
        scores: Tensor,
        tokens: Tensor,
        parents: Tensor,
        place: dict[int, int],
        cause: dict[int, str],
    ) -> tuple[Pruned, ...]:
        expanded = set(torch.cat(self.parents).tolist())
        out: list[Pruned] = []
        for c in left.tolist():
            parent = int(parents[c])
            if parent not in place:
                continue
            why = cause.get(c, "budget" if c in expanded else "rank")
            out.append({"token": int(tokens[c]), "parent": place[parent], "score": float(scores[c]), "cause": why})
            if len(out) == MOST_PRUNED:
                break
        return tuple(out)


def _cause(order: Tensor, spared: tuple[str, int] | None) -> dict[int, str]:
    """The cause for each candidate that a tree of the spared size would hold; `order` is best first."""
    return {} if spared is None else dict.fromkeys(order[: spared[1]].tolist(), spared[0])
