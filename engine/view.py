"""RoundView: everything a rule may look at in one round, computed when first asked for.

Row convention: row 0 of a [M, V] tensor follows the last committed token, row i + 1 follows draft node i.
Dimension key: N nodes, M = N + 1 target rows, G draft groups, R rows of any, V vocabulary, n entries
kept.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from engine.config import Sampling
from engine.draft import Draft, SparseDistributions
from engine.errors import EngineFault
from engine.model.session import nan
from engine.sampling import distribution, first_argmax, pick, read, sent, wide
from engine.trace.events import TopN

BEYOND = 8  # entries that are looked at behind those that are kept, for equal ones
Part = Callable[["RoundView"], tuple[Tensor, ...]]  # numbers that a transfer may bring


class RoundView:
    """A draft, the target's raw logits over it, and the uniforms of this round.

    On a CPU each number is computed when first asked for. Elsewhere the first question brings all that a round may want
    in one transfer, for each makes the host wait for the device.
    """

    def __init__(
        self,
        draft: Draft,
        logits_MV: Tensor,
        sampling: Sampling,
        us: Sequence[float],
        u_emit: float,
        top_n: int = 10,
        hidden: Tensor | None = None,
        tokens: Sequence[int] = (),
        read: bool = True,
        looks: Tensor | None = None,
    ) -> None:
        """`hidden` holds the target's final-normed rows [M, D], `looks` where they looked in the source [M, Z].

        `tokens` is the sequence before this round. A draft that the target has not `read` has no rows: only row 0 is
        there, or none where the target was not called.
        """
        self.draft, self.logits, self.sampling = draft, logits_MV, sampling
        self.u, self.u_emit, self.top_n = us, u_emit, top_n
        self.hidden, self.tokens, self.read, self.looks = hidden, tokens, read, looks
        self.here = logits_MV.device.type == "cpu"
        self._wanted = {"choice" if sampling.greedy else "shares"}
        self._brought: dict[str, list[list[Any]]] = {}
        self._own = dict[str, Part]()

    def along(self, *names: str, **own: Part) -> None:
        """Have the first transfer bring these of `PARTS`, too, and a rule's `own` numbers."""
        self._wanted.update(names, own)
        self._own |= own

    def brought(self, name: str) -> list[list[Any]]:
        """Numbers of one of `PARTS`, or of a rule's own, as flat lists.

        Raises:
            EngineFault: a logit is NaN, which a session leaves to its reader on other devices than the CPU.
        """
        if name not in self._brought:
            if self.here:
                self._brought[name] = read(*self._part(name)(self))
            else:
                self._bring({*self._wanted, name} - self._brought.keys())
        return self._brought[name]

    def sound(self, *parts: Tensor) -> list[list[Any]]:
        """Tensors as flat lists, by one transfer, if the logits that they come from are sound.

        Raises:
            EngineFault: as `brought`.
        """
        if self.here:
            return read(*parts)
        (faulty,), *numbers = read(torch.isnan(self.logits).any(), *parts)
        if faulty:
            raise EngineFault(nan("target"))
        return numbers

    def _bring(self, names: set[str]) -> None:
        parts = {name: self._part(name)(self) for name in sorted(names)}
        lists = iter(self.sound(*(tensor for part in parts.values() for tensor in part)))
        self._brought |= {name: [next(lists) for _ in part] for name, part in parts.items()}

    def _part(self, name: str) -> Part:
        return self._own.get(name) or PARTS[name]

    @cached_property
    def choice(self) -> list[int]:
        """Argmax of each row, lowest id on ties [M]; one transfer."""
        return self.brought("choice")[0]

    @cached_property
    def p(self) -> Tensor:
        """The target's processed distribution [M, V]."""
        return distribution(self.logits, self.sampling)

    @cached_property
    def stats(self) -> "Stats":
        """Entropies, top-n and probabilities of this round (one pass over the logits)."""
        parts, n, theirs = self.brought("stats"), self.top_n, self.draft.logits
        target = _told(*parts[:4], n=n, rows_RV=self.logits)
        draft = _told(*parts[4:], n=n, rows_RV=theirs) if parts[4:] and theirs is not None else None
        return Stats(target, draft, self.draft.group, self.draft.parents, self.read)

    @cached_property
    def ranks(self) -> list[tuple[int, float]]:
        """Per node: the token's 1-based rank in the target's row (ties by id), and its gap to the first in nats."""
        return list(zip(*self.brought("ranks"), strict=True))

    def target_share(self, node: int) -> float:
        """Probability of a node's token under the distribution that the target samples from; the raw one when
        greedy."""
        if self.sampling.greedy:
            return self.stats.target.p_child[node]
        return self._shares[self.draft.parents[node] + 1][self.draft.tokens[node]]

    def draft_share(self, node: int) -> float | None:
        """Probability of a node's token under the distribution it was drawn from; the raw one when chosen, not
        drawn."""
        drawn_from = self.draft.distributions
        if isinstance(drawn_from, SparseDistributions):
            return float(drawn_from[self.draft.group[node]][self.draft.tokens[node]])
        if drawn_from is not None:
            return float(self.brought("shares")[1][node])
        return None if self.stats.draft is None else self.stats.draft.p_child[node]

    @cached_property
    def _shares(self) -> dict[int, dict[int, float]]:
        """Row -> token -> the target's processed probability, for the tokens that are tested there."""
        found = dict[int, dict[int, float]]()
        for (row, token), share in zip(self.tested, self.brought("shares")[0], strict=True):
            found.setdefault(row, {})[token] = share
        return found

    @cached_property
    def cut(self) -> tuple[list[TopN], list[TopN]]:
        """First entries, zeros left out, of the distributions that the target draws from [M] and the draft [G]."""
        drawn_from, parts = self.draft.distributions, self.brought("cut")
        if isinstance(drawn_from, SparseDistributions):
            drawn_from = torch.stack([drawn_from[g] for g in range(len(drawn_from))])
            parts = [*parts, *read(*_first(drawn_from, self.top_n))]
        target = rows_of(parts[0], parts[1], self.top_n, self.p)
        draft = rows_of(parts[2], parts[3], self.top_n, drawn_from) if drawn_from is not None else []
        return _alive(target), _alive(draft)

    def several(self, row: int) -> bool:
        """Whether more than one logit of a row is finite."""
        return bool(self.brought("several")[0][row])

    @cached_property
    def tested(self) -> list[tuple[int, int]]:
        """Row and token of whatever a test at that row looks at: the children, or all that they were drawn from."""
        draft, sparse = self.draft, self.draft.distributions
        if isinstance(sparse, SparseDistributions):
            group = {row: draft.group[kids[0]] for row, kids in enumerate(draft.kids) if kids}
            return [(row, token) for row, g in group.items() for token, _ in sparse.entries[g]]
        return [(parent + 1, token) for parent, token in zip(draft.parents, draft.tokens, strict=True)]

    def lumped(self, kids: Sequence[int]) -> "Lump | None":
        """The test at the parent of `kids` over few tokens; None where it takes whole distributions."""
        draft, drawn_from = self.draft, self.draft.distributions
        if draft.draw == "without_replacement" and not isinstance(drawn_from, SparseDistributions):
            return None
        known = self._shares[draft.parents[kids[0]] + 1]
        p = torch.tensor([*known.values(), max(0.0, 1 - sum(known.values()))], dtype=torch.float64, device="cpu")
        q = None
        if isinstance(drawn_from, SparseDistributions):
            q = p.new_tensor([*(q for _, q in drawn_from.entries[draft.group[kids[0]]]), 0.0])
        elif draft.draw == "sample":
            q = p.new_zeros(len(p))
            q[0] = self.brought("shares")[1][kids[0]]
        return Lump(list(known), p, q)

    def q(self, node: int) -> Tensor:
        """The distribution [V] that the node was drawn from.

        Raises:
            ValueError: the drafter gave none, although it says that it drew.
        """
        if self.draft.distributions is None:
            raise ValueError("this draft carries no distributions; its draw must be 'point'")
        return self.draft.distributions[self.draft.group[node]].to(self.logits.device)

    def distribution_without(self, row: int, token: int) -> Tensor:
        """The processed distribution [V] of a row whose raw logit at `token` is minus infinity (register E14)."""
        logits = self.logits[row].clone()
        logits[token : token + 1] = -float("inf")  # a fill: one place by its number would be an upload
        return distribution(logits, self.sampling)

    def next_choice(self, row: int, removed: Sequence[int]) -> int:
        """Argmax of a row without the removed tokens."""
        logits = self.logits[row].clone()
        logits.index_fill_(0, sent(list(removed), logits.device, torch.long), -float("inf"))
        return int(first_argmax(logits.unsqueeze(0)))

    def emit(self, row: int) -> int:
        """The target's own token at a row: its argmax when greedy, else a draw with this round's uniform."""
        return self.choice[row] if self.sampling.greedy else pick(self.p[row], self.u_emit)

    def draw(self, what: "int | Tensor") -> int:
        """A token as it is, or one drawn from a distribution [V] with this round's uniform."""
        return what if isinstance(what, int) else pick(what, self.u_emit)


@dataclass(slots=True)
class Lump:
    """A test over few tokens, on the host: their probabilities, and that of all others together."""

    tokens: list[int]  # [S]
    p: Tensor  # [S + 1], the last of all others
    q: Tensor | None  # [S + 1]

    def whole(self, rest: Tensor, p_V: Tensor) -> Tensor:
        """The distribution [V] that a rest [S + 1] stands for, up to a factor: all others keep their ratios."""
        lump = float(self.p[-1])
        spread = p_V * (float(rest[-1]) / lump if lump > 0 else 0.0)
        spread[sent(self.tokens, p_V.device)] = sent(rest[:-1], p_V.device, p_V.dtype)
        return spread


def _choice(view: RoundView) -> tuple[Tensor, ...]:
    return (first_argmax(view.logits),)


def _ranks(view: RoundView) -> tuple[Tensor, ...]:
    if not len(view.draft) or not view.read:
        return view.logits.new_empty(0, dtype=torch.long), view.logits.new_empty(0)
    rows = wide(view.logits.index_select(0, sent([p + 1 for p in view.draft.parents], view.logits.device)))
    tokens = sent(view.draft.tokens, rows.device).unsqueeze(1)
    mine = rows.gather(1, tokens)
    before = torch.arange(rows.shape[1], device=rows.device) < tokens
    rank = 1 + ((rows > mine) | ((rows == mine) & before)).sum(1)
    return rank, (rows.amax(1, keepdim=True) - mine).squeeze(1)


def _shares(view: RoundView) -> tuple[Tensor, ...]:
    """The target's processed probabilities of what is tested, and the draft's of the nodes where it drew them."""
    p, draft = view.p, view.draft
    mine = theirs = p.new_empty(0)
    if view.read and view.tested:
        rows, tokens = sent(view.tested, p.device).unbind(1)
        mine = p[rows, tokens]
    if isinstance(draft.distributions, Tensor):
        group, token = sent((draft.group, draft.tokens), draft.distributions.device)
        theirs = draft.distributions[group, token].to(p.device)
    return mine, theirs


def _several(view: RoundView) -> tuple[Tensor, ...]:
    return ((view.logits > -torch.inf).sum(-1) > 1,)


def _cut(view: RoundView) -> tuple[Tensor, ...]:
    """First entries of the distributions that target and draft draw from."""
    drawn_from = view.draft.distributions
    parts = _first(view.p, view.top_n)
    return parts + (_first(drawn_from.to(view.p.device), view.top_n) if isinstance(drawn_from, Tensor) else ())


def _first(distributions_RV: Tensor, n: int) -> tuple[Tensor, ...]:
    p = wide(distributions_RV)
    ids = first_ids(p, n)
    return p.gather(-1, ids), ids


def first_ids(x_RV: Tensor, n: int) -> Tensor:
    """Ids of the n largest entries of each row and of the next `BEYOND`, equal ones by id [R, n + BEYOND]; of more
    equal ones than that any may be missing, see `rows_of`."""
    ids = x_RV.topk(min(n + BEYOND, x_RV.shape[-1]), dim=-1).indices.sort(dim=-1).values
    order = x_RV.gather(-1, ids).sort(dim=-1, descending=True, stable=True).indices
    return ids.gather(-1, order)


@dataclass(slots=True)
class Distributions:
    """Entropy in nats and the first n entries of each row of raw softmax distributions, on the host."""

    h: list[float]
    top: list[TopN]
    p_child: list[float]  # per node: probability of the node's token in its row

    def ids(self, row: int, n: int) -> set[int]:
        """The n most probable ids of a row."""
        return {token for token, _ in self.top[row][:n]}


@dataclass(slots=True)
class Stats:
    """What a full trace keeps of a round; `draft` is None for drafters without distributions (lookup)."""

    target: Distributions
    draft: Distributions | None
    group: tuple[int, ...]
    parents: tuple[int, ...]
    read: bool = True  # whether the target has rows for the nodes

    def h_draft(self, node: int) -> float | None:
        """Draft entropy where the node was proposed, nats."""
        return None if self.draft is None else self.draft.h[self.group[node]]

    def h_target(self, node: int) -> float | None:
        """Target entropy of the row that judges the node, nats; None where the target has not read the draft."""
        return self.target.h[self.parents[node] + 1] if self.read else None

    def overlap(self, node: int, n: int) -> float | None:
        """|top-n of the draft and top-n of the target| / n, EASD eq. 5; n is capped at the entries kept."""
        if self.draft is None or not self.read:
            return None
        row, group = self.parents[node] + 1, self.group[node]
        n = min(n, len(self.target.top[row]), len(self.draft.top[group]))
        return len(self.target.ids(row, n) & self.draft.ids(group, n)) / n

    def margin(self, node: int) -> float:
        """Log p(target's first) - log p(node's token), nats; the same difference as between raw logits."""
        first = self.target.top[self.parents[node] + 1][0][1]
        p = self.target.p_child[node]
        return float(torch.tensor(first / p, dtype=torch.float32, device="cpu").log()) if p > 0 else float("inf")


def observe(draft: Draft, logits_MV: Tensor, n: int, read: bool = True) -> Stats:
    """Entropies, top-n and child probabilities of both models, from raw logits in fp32 at temperature 1."""
    view = RoundView(draft, logits_MV, Sampling(), [], 0.0, n, read=read)
    return view.stats


def _stats(view: RoundView) -> tuple[Tensor, ...]:
    """What `Stats` holds, of the target and of the draft where it has logits."""
    draft, logits, n = view.draft, view.logits, view.top_n
    tokens = sent(draft.tokens, logits.device, torch.long)
    parts = _distributions(logits, [p + 1 for p in draft.parents] if view.read else [], tokens, n)
    if draft.logits is not None and len(draft):
        parts += _distributions(draft.logits.to(logits.device), list(draft.group), tokens, n)
    return parts


def _distributions(logits: Tensor, rows: list[int], tokens: Tensor, n: int) -> tuple[Tensor, ...]:
    """Entropies, children's probabilities, first probabilities and ids."""
    rows_RV = wide(logits)
    logp = torch.log_softmax(rows_RV, dim=-1)
    p = logp.exp()
    h = -(p * logp).nan_to_num_(0.0).sum(-1)  # 0 * -inf is 0 here
    ids = first_ids(rows_RV, n)  # of logits, whose first is the choice, where probabilities may have lost a difference
    child = p[sent(rows, p.device, torch.long), tokens] if rows else p.new_empty(0)
    return h, child, p.gather(-1, ids), ids


def _told(
    h: list[float], child: list[float], values: list[float], ids: list[int], *, n: int, rows_RV: Tensor
) -> Distributions:
    """Flat lists of a transfer, put in order."""
    return Distributions(h, rows_of(values, ids, n, rows_RV), child)


def _alive(tops: list[TopN]) -> list[TopN]:
    """Without entries of no probability."""
    return [[one for one in top if one[1] > 0] for top in tops]


def rows_of(values: list[float], ids: list[int], n: int, rows_RV: Tensor) -> list[TopN]:
    """Flat lists of first probabilities and ids (`first_ids`) as the first n of each row: likeliest first, equal ones
    by id. Rows of which more are equal than the lists hold are sorted themselves, by one transfer for all of them."""
    count = rows_RV.shape[0]
    pairs, width = list(zip(ids, values, strict=True)), len(ids) // count if count else 0
    found = [pairs[r * width : (r + 1) * width] for r in range(count)]
    few = n < width < rows_RV.shape[-1]
    tied = [r for r, row in enumerate(found) if few and row[-1][1] == row[n - 1][1] > 0]
    if tied:
        rows = wide(rows_RV.index_select(0, sent(tied, rows_RV.device)))
        (order,) = read(rows.sort(dim=-1, descending=True, stable=True).indices[:, :n])
        for at, r in enumerate(tied):
            found[r] = [(i, p) for i, (_, p) in zip(order[at * n : (at + 1) * n], found[r], strict=False)]
    return [row[:n] for row in found]


PARTS: dict[str, Part] = {
    "choice": _choice,
    "ranks": _ranks,
    "shares": _shares,
    "stats": _stats,
    "several": _several,
    "cut": _cut,
}
