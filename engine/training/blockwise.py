"""How heads without output matrices of their own are trained: cross-entropy of each against the target's own text, the
target frozen (Stern et al. 2018, 1811.03115, section 4; its heads share the vocabulary projection too)."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from engine.heads.medusa import MedusaHead, configuration, wanted
from engine.training.features import Batch
from engine.training.heads import Params, TrainingContext, rows_of


class BlockwiseRecipe:
    """The mean over heads, where the paper draws one head a step to save memory: of the same gradient, with less
    noise."""

    def __init__(self, context: TrainingContext) -> None:
        self.context = context
        self.frozen: Params = {}
        self.config = configuration(context.heads, context.model.width, context.model.vocab, context.bottleneck)

    def start(self) -> Params:
        """Blocks that add nothing yet: every head says what the target says of the next token."""
        params = self.context.blank(wanted(self.context.heads, 1, self.context.model.width, 0, self.context.bottleneck))
        for name in params:
            if name.endswith("out.weight"):
                params[name].zero_()
        return params

    def loss(self, params: Params, batch: Batch) -> tuple[Tensor, dict[str, float]]:
        """Mean over heads of the mean over the places where each still predicts a token of the text."""
        n, rows = self.context.heads, rows_of(batch)
        head = MedusaHead(n, 1, params, output=self.context.head)
        x = head.states(rows.take(batch.last, 0).flatten(0, 1), n)
        valid = torch.stack([rows.valid(i) for i in range(n)], -1).flatten(0, 1)
        goal = torch.stack([rows.take(batch.ids, 2 + i) for i in range(n)], -1).flatten(0, 1)[valid]
        logits = self.context.head(x[valid])
        each, hits = x.new_zeros(valid.shape), x.new_zeros(valid.shape)
        each = each.masked_scatter(valid, F.cross_entropy(logits, goal, reduction="none"))
        hits = hits.masked_scatter(valid, (logits.argmax(-1) == goal).float())
        size = valid.sum(0).clamp(min=1)
        numbers = {f"match_{i}": share for i, share in enumerate((hits.sum(0) / size).tolist())}
        return (each.sum(0) / size).mean(), numbers
