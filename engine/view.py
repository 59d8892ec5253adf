"""RoundView: everything a rule may look at in one round, computed when first asked for.

Row convention: row 0 of a [M, V] tensor follows the last committed token, row i + 1 follows draft node i.
"""

from collections.abc import Sequence
from functools import cached_property

import torch
from torch import Tensor

from engine.config import Sampling
from engine.draft import Draft
from engine.sampling import distribution, first_argmax, pick, wide
from engine.stats import Stats, observe


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
    ) -> None:
        """`hidden` holds the target's final-normed rows [M, D]; `tokens` the sequence before this round."""
        self.draft, self.logits, self.sampling = draft, logits_MV, sampling
        self.u, self.u_emit, self.top_n = us, u_emit, top_n
        self.hidden, self.tokens = hidden, tokens

    @cached_property
    def choice(self) -> list[int]:
        """Argmax of each row, lowest id on ties [M]; one transfer."""
        return first_argmax(self.logits).tolist()  # type: ignore[no-any-return]

    @cached_property
    def p(self) -> Tensor:
        """The target's processed distribution [M, V]."""
        return distribution(self.logits, self.sampling)

    @cached_property
    def stats(self) -> Stats:
        """Entropies, top-n and probabilities of this round (one pass over the logits)."""
        return observe(self.draft, self.logits, self.top_n)

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
