"""A draft tree while it grows: levels of candidates with cumulative scores, then the best of them as a Draft.

EAGLE-2 (2406.16858), sections 4.1 and 4.2: expansion takes the best `width` children of each of the best `width` nodes
a level; reranking keeps the best nodes of all levels. Dimension key: R frontier rows, k children a row, M candidates, V
vocabulary.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import log
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from engine.config import Knob, KnobValue
from engine.draft import EMPTY, Draft
from engine.errors import ConfigError
from engine.sampling import arrays, sent, wide
from engine.trace.records import Pruned, RoundExtras, Source

Ints = NDArray[np.int64]
Floats = NDArray[np.floating[Any]]
NEVER = -1 + 1e-6  # one less than the smallest chance
MOST_PRUNED = 48  # candidates left out that a full trace names, best first
TREE_KNOBS: tuple[Knob, ...] = (
    Knob("total_token", 60, "tokens verified a round, the root included", 2, 640, 1, "tokens", origin="code"),
    Knob("depth", 7, "levels grown after the first: the tree has one more", 0, 30, 1, "levels", origin="code"),
    Knob("tree_top_k", 10, "children a node, and nodes that go on each level", 1, 64, 1, "nodes", origin="code"),
)


class Trust(NamedTuple):
    """How far what a drafter says of its candidates is believed: a node's likeliest child fails `fails` times as often
    as it says, and another child holds `others` times as often, but never oftener than the likeliest."""

    fails: float
    others: float

    def likeliest(self, said: float) -> float:
        """The chance that a likeliest child holds, which the drafter says is `said`."""
        return max(1 - (1 - said) * self.fails, 1 + NEVER)

    def of(self, values_Rk: Tensor) -> Tensor:
        """Log-probabilities of children [R, k], the likeliest first, as they are believed."""
        first_R1 = torch.expm1(values_Rk[:, :1]).mul_(self.fails).clamp_(min=NEVER).log1p_()
        if values_Rk.shape[1] == 1:
            return first_R1
        believed = torch.minimum(values_Rk + log(self.others), first_R1)
        believed[:, :1] = first_R1
        return believed


@dataclass(frozen=True, slots=True)
class Plan:
    """How far a tree may grow, and how much of it is verified."""

    levels: int  # depth of the deepest node
    width: int  # children a node, and nodes expanded a level
    nodes: int  # verified, root excluded
    reuse: bool = True  # whether prepared buffers may be kept for the next round of this size
    spared: tuple[str, int] | None = None  # a cause, and how many nodes would be verified if it were not for it
    trust: Trust | None = None  # by which candidates are ranked; None: by what the drafter says


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


def likeliest(logits_RV: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Log-probabilities and ids [R, k] of each row's k likeliest, the likeliest first; logits are finite.

    Of a row of fewer than 64 k columns torch's `topk` sorts all it may need, which takes longer than to look once at
    a row that is filled up to so many.
    """
    logp = wide(logits_RV).log_softmax(-1)
    V = logp.shape[-1]
    if k == 1:
        ids = logp.argmax(-1, keepdim=True)
        return logp.gather(-1, ids), ids
    if V < 64 * k <= 2 * V and logp.device.type == "cpu":
        logp = F.pad(logp, (0, 64 * k - V), value=-torch.inf)
    top = logp.topk(min(k, V), dim=-1)
    return top.values, top.indices


class Growth:
    """All candidates of a round, on the drafter's device. Ids count through the levels, so parents come first.

    A level is written down as it comes; what only the finished tree needs is made at the end, for all levels at once.
    """

    def __init__(
        self,
        width: int,
        device: torch.device,
        names: Tensor | None = None,
        vocab: int = 0,
        trust: Trust | None = None,
    ) -> None:
        """`names` [V'] gives the target's id of each draft id (EAGLE-3's reduced vocabulary); `vocab` the target's
        V."""
        self.width, self.names, self.vocab, self.trust = width, names, vocab, trust
        self.ids: list[Tensor] = []  # the drafter's own ids of the candidates [M], a level each
        self.scores: list[Tensor] = []  # cumulative log-probabilities [M], as they are believed
        self.logits: list[Tensor] = []  # of the expanded rows [R, V]
        self.values: list[Tensor] = []  # log-probabilities of the children taken [R, k]
        self.picks: list[Tensor] = []  # places of the next frontier within the level's candidates [R]
        self.best = torch.zeros(1, dtype=torch.float32, device=device)  # cumulative scores of the frontier [R]
        self._only = torch.zeros(1, dtype=torch.long, device=device)  # place of the one node of a chain's level
        self.kept_rows: dict[int, Tensor] = {}  # by level: frontier rows of before that alone had children there
        self.starts: list[int] = []  # id of the first candidate of each level
        self.count = 0
        self._fresh: Tensor | None = None
        self._candidates: Candidates | None = None

    @property
    def levels(self) -> int:
        """Levels grown so far."""
        return len(self.ids)

    def keep(self, rows: Tensor) -> None:
        """Let only these frontier rows have children in the next level."""
        self.kept_rows[self.levels] = rows
        self.best = self.best[rows]

    def narrow(self, places: Sequence[int]) -> None:
        """Let only these of the frontier go on, which rise."""
        n, self._fresh = len(places), None
        if places[-1] == n - 1:  # the first ones, as mostly
            self.picks[-1], self.best = self.picks[-1][:n], self.best[:n]
            return
        index = sent(places, self.best.device)
        self.picks[-1], self.best = self.picks[-1].index_select(0, index), self.best.index_select(0, index)

    def within(self, nodes: int) -> list[int] | None:
        """Places of the frontier's nodes under which something may be among the best `nodes` of all candidates in the
        end, on a CPU; None is all. No node is likelier than the one above it, and of equal ones the first is taken.

        Where the frontiers before would fit into the tree nearly all has, and looking takes longer than it saves.
        """
        if self.width == 1 or self.count <= nodes or nodes > self.width * (self.levels - 1):
            return None
        least = np.partition(torch.cat(self.scores).numpy(), -nodes)[-nodes]
        rows = int((self.best.numpy() > least).sum())  # the frontier falls
        return None if rows == self.best.shape[0] else list(range(rows))

    def add(self, logits_RV: Tensor) -> None:
        """One more level: the best children of every frontier row, and of all these the next frontier."""
        values, ids = likeliest(logits_RV, self.width)
        believed = values if self.trust is None else self.trust.of(values)
        scores = (believed + self.best.unsqueeze(1)).flatten()
        self.starts.append(self.count)
        self.ids.append(ids.flatten())
        self.scores.append(scores)
        self.logits.append(logits_RV)
        self.values.append(values)
        self.count += scores.shape[0]
        self._fresh = None
        if self.width == 1:
            self.picks.append(self._only)
            self.best = scores
            return
        order = scores.sort(descending=True, stable=True)  # ties by index: parents stay ahead of their children
        self.picks.append(order.indices[: self.width])
        self.best = order.values[: self.width]

    @property
    def rows(self) -> Tensor:
        """For each frontier node the row of the last level's logits under which it was taken [R]."""
        return self._only if self.width == 1 else self.picks[-1].div(self.values[-1].shape[1], rounding_mode="floor")

    @property
    def fresh(self) -> Tensor:
        """Tokens of the frontier, as the target names them [R]."""
        if self._fresh is None:
            last = self.ids[-1]
            self._fresh = self._named(last if self.width == 1 else last.index_select(0, self.picks[-1]))
        return self._fresh

    def _named(self, ids: Tensor) -> Tensor:
        return ids if self.names is None else self.names.index_select(0, ids)

    @property
    def tokens(self) -> Tensor:
        """Tokens of all candidates, as the target names them [count]."""
        return self._named(torch.cat(self.ids))

    def candidates(self) -> "Candidates":
        """All candidates so far, on the host; one transfer."""
        if self._candidates is None or len(self._candidates.scores) != self.count:
            self._candidates = self._fetched()
        return self._candidates

    def _fetched(self) -> "Candidates":
        if self.width == 1 and not self.kept_rows and self.trust is None:  # a chain is in order as it is
            scores, tokens = arrays(torch.cat(self.scores), self.tokens)
            every = np.arange(self.count)
            return Candidates(tokens, every - 1, scores, every, every, scores)
        kept = [torch.cat([*self.kept_rows.values()])] if self.kept_rows else []
        own = [torch.cat([values.flatten() for values in self.values])] if self.trust else []
        scores, tokens, picks, *few = arrays(torch.cat(self.scores), self.tokens, torch.cat(self.picks), *kept, *own)
        said = few.pop() if own else scores
        picked = [picks.shape[0] for picks in self.picks]
        taken = np.concatenate(([-1], picks + np.repeat(self.starts, picked)))  # ids of every frontier, the root first
        if kept:
            taken = taken[self._asked(picked, few[0])]
        rows = np.arange(self.count) // self.values[0].shape[1]  # those of all levels' logits, one after the other
        parents = taken[rows]
        if own:
            for start, end in pairwise([*self.starts[1:], self.count]):
                said[start:end] += said[parents[start:end]]
        return Candidates(tokens, parents, said, rows, np.argsort(-scores, kind="stable"), scores)

    def _asked(self, picked: Sequence[int], kept: Ints) -> Ints:
        """Of all frontiers, one after the other, the places that had children: `kept` has those of the levels that
        keep some."""
        places, before, known = list[Ints](), 0, 0
        for level, n in enumerate([1, *picked[:-1]]):
            some = np.arange(n)
            if level in self.kept_rows:
                size = len(self.kept_rows[level])
                some, known = kept[known : known + size], known + size
            places.append(before + some)
            before += n
        return np.concatenate(places)

    def draft(
        self,
        nodes: int,
        *,
        full: bool = False,
        spared: tuple[str, int] | None = None,
        extras: RoundExtras | None = None,
    ) -> Draft:
        """The best `nodes` candidates by cumulative score, as it is believed, in level order; children in the order of
        their probability.

        With `full` also the logits they came from, their source, and the best of those left out with the cause: that of
        `spared` (see `Plan`) for the nodes it tells of, "rank" for one that was never expanded, else "budget".
        """
        if not self.ids:
            return EMPTY
        every = self.candidates()
        kept = np.sort(every.order[:nodes])
        told: RoundExtras = {**(extras or {}), "candidates": self.count}
        tokens, parents, scores = every.within(kept, kept)
        new = Draft(tuple(tokens), tuple(parents), scores=tuple(scores), extras=told)
        if not full:
            return new
        group, logits = self._distributions(every.rows[kept])
        sources = tuple(Source(kind="head", level=d) for d in new.depths)
        left, above = every.order[nodes:], every.parents
        left = left[np.isin(above[left], kept) | (above[left] < 0)][:MOST_PRUNED]  # their parent is in the tree
        name, size = spared or ("", 0)
        fates = np.isin(left, every.order[:size]).tolist(), np.isin(left, above).tolist()  # saved but for it; expanded
        pruned = tuple(
            Pruned(token=t, parent=p, score=s, cause=name if saved else "budget" if expanded else "rank")
            for t, p, s, saved, expanded in zip(*every.within(kept, left), *fates, strict=True)
        )
        return replace(new, group=group, logits=logits, sources=sources, pruned=pruned)

    def _distributions(self, rows: Ints) -> tuple[tuple[int, ...], Tensor]:
        """Group of each node, from its row of all levels' logits, and the raw logits [G, V] of the groups, in the
        target's ids."""
        used, group = np.unique(rows, return_inverse=True)
        logits = torch.cat(self.logits)
        logits = logits.index_select(0, sent(used, logits.device))
        if self.names is not None:
            wider = logits.new_full((len(used), self.vocab), -torch.inf)
            logits = wider.index_copy_(1, self.names, logits)
        return tuple(group.tolist()), logits


@dataclass(frozen=True, slots=True)
class Candidates:
    """The candidates of a growth on the host, by id [M]."""

    tokens: Ints  # as the target names them
    parents: Ints  # ids; -1 for the root
    scores: Floats  # cumulative log-probabilities of the drafter
    rows: Ints  # of all levels' logits: the one that each was taken from
    order: Ints  # ids from the best to the worst; ties by id
    believed: Floats  # the scores by which they are ordered

    def within(self, kept: Ints, some: Ints) -> tuple[list[int], list[int], list[float]]:
        """Tokens, parents and scores of some, whose parents are among the `kept`, which rise, and are named by place
        there."""
        above = self.parents[some]
        places = np.where(above < 0, above, np.searchsorted(kept, above))
        return self.tokens[some].tolist(), places.tolist(), self.scores[some].tolist()
