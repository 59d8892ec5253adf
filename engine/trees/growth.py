"""A draft tree while it grows: levels of candidates with cumulative scores, then the best of them as a Draft.

EAGLE-2 (2406.16858), sections 4.1 and 4.2: expansion takes the best `width` children of each of the best `width` nodes
a level; reranking keeps the best nodes of all levels. Dimension key: R frontier rows, k children a row, M candidates, V
vocabulary.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from engine.config import Knob, KnobValue
from engine.draft import EMPTY, Draft
from engine.errors import ConfigError
from engine.sampling import read, wide
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
    """All candidates of a round, on the drafter's device. Ids count through the levels, so parents come first.

    A level is written down as it comes; what only the finished tree needs is made at the end, for all levels at once.
    """

    def __init__(self, width: int, device: torch.device, names: Tensor | None = None, vocab: int = 0) -> None:
        """`names` [V'] gives the target's id of each draft id (EAGLE-3's reduced vocabulary); `vocab` the target's
        V."""
        self.width, self.names, self.vocab = width, names, vocab
        self.ids: list[Tensor] = []  # the drafter's own ids of the candidates [M], a level each
        self.scores: list[Tensor] = []  # cumulative log-probabilities [M]
        self.logits: list[Tensor] = []  # of the expanded rows [R, V]
        self.values: list[Tensor] = []  # log-probabilities of the children taken [R, k]
        self.picks: list[Tensor] = []  # places of the next frontier within the level's candidates [R]
        self.best = torch.zeros(1, device=device)  # cumulative scores of the frontier [R]
        self.kept_rows: dict[int, Tensor] = {}  # by level: frontier rows of before that alone had children there
        self.starts: list[int] = []  # id of the first candidate of each level
        self.count = 0
        self._ranked: tuple[int, Tensor, Tensor] | None = None

    @property
    def levels(self) -> int:
        """Levels grown so far."""
        return len(self.ids)

    def keep(self, rows: Tensor) -> None:
        """Let only these frontier rows have children in the next level."""
        self.kept_rows[self.levels] = rows
        self.best = self.best[rows]

    def narrow(self, rows: int) -> None:
        """Let only the first, likeliest, rows of the frontier go on."""
        self.picks[-1], self.best = self.picks[-1][:rows], self.best[:rows]

    def add(self, logits_RV: Tensor) -> None:
        """One more level: the best children of every frontier row, and of all these the next frontier."""
        x = wide(logits_RV)
        ids = x.topk(min(self.width, x.shape[-1]), dim=-1).indices
        values = x.log_softmax(-1).gather(-1, ids)
        scores = (values + self.best.unsqueeze(1)).flatten()
        order = scores.sort(descending=True, stable=True)  # ties by index: parents stay ahead of their children
        self.starts.append(self.count)
        self.ids.append(ids.flatten())
        self.scores.append(scores)
        self.logits.append(logits_RV)
        self.values.append(values)
        self.picks.append(order.indices[: self.width])
        self.best = order.values[: self.width]
        self.count += len(scores)

    @property
    def rows(self) -> Tensor:
        """For each frontier node the row of the last level's logits under which it was taken [R]."""
        return self.picks[-1].div(self.values[-1].shape[1], rounding_mode="floor")

    @property
    def fresh(self) -> Tensor:
        """Tokens of the frontier, as the target names them [R]."""
        return self._named(self.ids[-1].index_select(0, self.picks[-1]))

    def _named(self, ids: Tensor) -> Tensor:
        return ids if self.names is None else self.names.index_select(0, ids)

    @property
    def tokens(self) -> Tensor:
        """Tokens of all candidates, as the target names them [count]."""
        return self._named(torch.cat(self.ids))

    def parents(self) -> tuple[Tensor, Tensor]:
        """For each candidate its parent's id, -1 for the root, and the row of all levels' logits it was taken from."""
        under, row, first = list[Tensor](), list[Tensor](), 0
        for level, values in enumerate(self.values):
            R, k = values.shape
            if level:
                frontier = self.picks[level - 1] + self.starts[level - 1]
                frontier = frontier[self.kept_rows[level]] if level in self.kept_rows else frontier
            else:
                frontier = torch.full((1,), -1, dtype=torch.long, device=values.device)
            under.append(frontier.unsqueeze(1).expand(R, k).flatten())
            row.append(torch.arange(first * k, (first + R) * k, device=values.device) // k)
            first += R
        return torch.cat(under), torch.cat(row)

    def ranked(self) -> tuple[Tensor, Tensor]:
        """Scores of all candidates, and their ids from the best to the worst; ties by id."""
        if self._ranked is None or self._ranked[0] != self.count:
            scores = torch.cat(self.scores)
            self._ranked = self.count, scores, scores.sort(descending=True, stable=True).indices
        return self._ranked[1:]

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
        if not self.ids:
            return EMPTY
        (scores, order), tokens, (parents, rows) = self.ranked(), self.tokens, self.parents()
        kept = order[:nodes].sort().values
        table = torch.stack((tokens[kept], _places(kept, parents[kept])))
        numbers = torch.cat((table.to(scores.dtype), scores[kept].unsqueeze(0))).tolist()  # one transfer; ids fit
        told: RoundExtras = {**(extras or {}), "candidates": self.count}
        new = Draft(tuple(map(int, numbers[0])), tuple(map(int, numbers[1])), scores=tuple(numbers[2]), extras=told)
        if not full:
            return new
        group, logits = self._distributions(rows[kept])
        sources = tuple(Source(kind=source, level=d) for d in new.depths)
        left = order[nodes:]
        left = left[torch.isin(parents[left], kept) | (parents[left] < 0)][:MOST_PRUNED]  # their parent is in the tree
        name, size = spared or ("", 0)
        fates = torch.isin(left, order[:size]), torch.isin(left, parents)  # saved but for the cause; expanded
        lost = zip(*read(tokens[left], _places(kept, parents[left]), scores[left], *fates), strict=True)
        pruned = tuple(
            Pruned(token=t, parent=p, score=s, cause=name if saved else "budget" if expanded else "rank")
            for t, p, s, saved, expanded in lost
        )
        return replace(new, group=group, logits=logits, sources=sources, pruned=pruned)

    def _distributions(self, rows: Tensor) -> tuple[tuple[int, ...], Tensor]:
        """Group of each node, from its row of all levels' logits, and the raw logits [G, V] of the groups, in the
        target's ids."""
        used, group = torch.unique_consecutive(rows, return_inverse=True)  # rows rise with the candidates
        logits = torch.cat(self.logits)[used]
        if self.names is not None:
            wider = logits.new_full((len(used), self.vocab), -torch.inf)
            logits = wider.index_copy_(1, self.names, logits)
        return tuple(group.tolist()), logits


def _places(kept: Tensor, candidates: Tensor) -> Tensor:
    """Where candidates are among the `kept` ones, which rise; -1, the root, stays."""
    return torch.where(candidates < 0, candidates, torch.searchsorted(kept, candidates))
