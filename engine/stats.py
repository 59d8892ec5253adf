"""All per-node numbers of a round in one pass over its logits, on the device, with two transfers to the host.

Dimension key: N nodes, M = N + 1 target rows, G draft groups, V vocabulary, n entries kept.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from engine.draft import Draft
from engine.sampling import wide
from engine.trace.events import TopN


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

    def h_draft(self, node: int) -> float | None:
        """Draft entropy where the node was proposed, nats."""
        return None if self.draft is None else self.draft.h[self.group[node]]

    def h_target(self, node: int) -> float:
        """Target entropy of the row that judges the node, nats."""
        return self.target.h[self.parents[node] + 1]

    def overlap(self, node: int, n: int) -> float | None:
        """|top-n of the draft and top-n of the target| / n, EASD eq. 5; n is capped at the entries kept."""
        if self.draft is None:
            return None
        row, group = self.parents[node] + 1, self.group[node]
        n = min(n, len(self.target.top[row]), len(self.draft.top[group]))
        return len(self.target.ids(row, n) & self.draft.ids(group, n)) / n

    def margin(self, node: int) -> float:
        """Log p(target's first) - log p(node's token), nats; the same difference as between raw logits."""
        first = self.target.top[self.parents[node] + 1][0][1]
        p = self.target.p_child[node]
        return float(torch.tensor(first / p).log()) if p > 0 else float("inf")


def observe(draft: Draft, logits_MV: Tensor, n: int) -> Stats:
    """Entropies, top-n and child probabilities of both models, from raw logits in fp32 at temperature 1."""
    tokens = torch.tensor(draft.tokens, device=logits_MV.device, dtype=torch.long)
    target = _distributions(logits_MV, [p + 1 for p in draft.parents], tokens, n)
    ours = None
    if draft.logits is not None and len(draft):
        ours = _distributions(draft.logits.to(logits_MV.device), list(draft.group), tokens, n)
    return Stats(target, ours, draft.group, draft.parents)


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
