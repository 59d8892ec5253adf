"""How Medusa heads are trained: cross-entropy of head k against the token k + 2 places on, weight 0.8^k (2401.10774,
eq. 1)."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

from engine.heads.medusa import MedusaHead, configuration, wanted
from engine.training.features import Batch
from engine.training.heads import Params, TrainingContext, rows_of

DECAY = 0.8


class MedusaRecipe:
    """Hard labels: a head that does not see the tokens between can only learn what usually follows."""

    def __init__(self, context: TrainingContext) -> None:
        self.context = context
        self.frozen: Params = {}
        self.config = configuration(context.heads, context.model.width, context.model.vocab)

    def start(self) -> Params:
        """Medusa-1's first weights: the block adds nothing, the output matrix is the target's."""
        model = self.context.model
        params = self.context.blank(wanted(self.context.heads, 1, model.width, model.vocab))
        for i in range(self.context.heads):
            params[f"{i}.0.linear.weight"].zero_()
            params[f"{i}.1.weight"] = self.context.matrix()
        return params

    def loss(self, params: Params, batch: Batch) -> tuple[Tensor, dict[str, float]]:
        """Weighted sum over heads."""
        rows, head = rows_of(batch), MedusaHead(self.context.heads, 1, params)
        state = rows.take(batch.last, 0)
        total, numbers = state.new_zeros(()), dict[str, float]()
        for i in range(self.context.heads):
            valid, goal = rows.valid(i), rows.take(batch.ids, 2 + i)
            logits = head.logits(state, i)
            each = F.cross_entropy(logits.flatten(0, 1), goal.flatten(), reduction="none").view_as(goal)
            n = valid.sum().clamp(min=1)
            total = total + DECAY**i * (each * valid).sum() / n
            numbers[f"match_{i}"] = float(((logits.argmax(-1) == goal) & valid).sum() / n)
        return total, numbers
