"""RoundView: everything a rule may look at in one round, computed when first asked for.

Row convention: row 0 of a [M, V] tensor follows the last committed token, row i + 1 follows draft node i.
Dimension key: N nodes, M = N + 1 target rows, G draft groups, V vocabulary, n entries kept.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from engine.config import Sampling
from engine.draft import Draft
from engine.sampling import distribution, first_argmax, pick, wide
from engine.trace.events import TopN


class RoundView:
    """A draft, the target's raw logits over it, and the uniforms of this round."""

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

    @cached_property
    def choice(self) -> list[int]:
        """Argmax of each row, lowest id on ties [M]; one transfer."""
        return first_argmax(self.logits).tolist()  # type: ignore[no-any-return]

    @cached_property
    def p(self) -> Tensor:
        """The target's processed distribution [M, V]."""
        return distribution(self.logits, self.sampling)

    @cached_property
    def stats(self) -> "Stats":
        """Entropies, top-n and probabilities of this round (one pass over the logits)."""
        return observe(self.draft, self.logits, self.top_n, self.read)

    @cached_property
    def ranks(self) -> list[tuple[int, float]]:
        """Per node: the token's 1-based rank in the target's row (ties by id), and its gap to the first in nats."""
        if not len(self.draft):
            return []
        rows = wide(self.logits[[p + 1 for p in self.draft.parents]])
        tokens = torch.tensor(self.draft.tokens, device=rows.device).unsqueeze(1)
        mine = rows.gather(1, tokens)
        before = torch.arange(rows.shape[1], device=rows.device) < tokens
        rank = 1 + ((rows > mine) | ((rows == mine) & before)).sum(1, keepdim=True)
        gap = rows.amax(1, keepdim=True) - mine
        return [(int(r), g) for r, g in torch.cat((rank.to(gap.dtype), gap), 1).tolist()]

    def target_share(self, node: int) -> float:
        """Probability of a node's token under the distribution that the target samples from; the raw one when
        greedy."""
        if self.sampling.greedy:
            return self.stats.target.p_child[node]
        return float(self.p[self.draft.parents[node] + 1, self.draft.tokens[node]])

    def draft_share(self, node: int) -> float | None:
        """Probability of a node's token under the distribution it was drawn from; the raw one when chosen, not
        drawn."""
        if self.draft.distributions is not None:
            return float(self.q(node)[self.draft.tokens[node]])
        return None if self.stats.draft is None else self.stats.draft.p_child[node]

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
        logits[token] = -float("inf")
        return distribution(logits, self.sampling)

    def next_choice(self, row: int, removed: Sequence[int]) -> int:
        """Argmax of a row without the removed tokens."""
        logits = self.logits[row].clone()
        logits[list(removed)] = -float("inf")
        return int(first_argmax(logits.unsqueeze(0)))

    def emit(self, row: int) -> int:
        """The target's own token at a row: its argmax when greedy, else a draw with this round's uniform."""
        return self.choice[row] if self.sampling.greedy else pick(self.p[row], self.u_emit)

    def draw(self, what: "int | Tensor") -> int:
        """A token as it is, or one drawn from a distribution [V] with this round's uniform."""
        return what if isinstance(what, int) else pick(what, self.u_emit)


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
        return float(torch.tensor(first / p).log()) if p > 0 else float("inf")


def observe(draft: Draft, logits_MV: Tensor, n: int, read: bool = True) -> Stats:
    """Entropies, top-n and child probabilities of both models, from raw logits in fp32 at temperature 1."""
    tokens = torch.tensor(draft.tokens, device=logits_MV.device, dtype=torch.long)
    rows = [p + 1 for p in draft.parents] if read else []
    target = _distributions(logits_MV, rows, tokens, n)
    ours = None
    if draft.logits is not None and len(draft):
        ours = _distributions(draft.logits.to(logits_MV.device), list(draft.group), tokens, n)
    return Stats(target, ours, draft.group, draft.parents, read)


def _distributions(logits: Tensor, rows: list[int], tokens: Tensor, n: int) -> Distributions:
    logp = torch.log_softmax(wide(logits), dim=-1)
    p = logp.exp()
    h = -(p * logp).nan_to_num_(0.0).sum(-1)  # 0 * -inf is 0 here
    top = p.topk(min(n, p.shape[-1]), dim=-1)
    child = p[torch.tensor(rows, dtype=torch.long, device=p.device), tokens] if rows else p.new_empty(0)
    flat = torch.cat((h, child, top.values.flatten())).tolist()
    ids, width, count = top.indices.tolist(), top.indices.shape[-1], len(h)
    probs = flat[count + len(rows) :]
    tops = [list(zip(ids[r], probs[r * width : (r + 1) * width], strict=True)) for r in range(count)]
    return Distributions(flat[:count], tops, flat[count : count + len(rows)])
