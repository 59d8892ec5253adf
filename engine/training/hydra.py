"""How Hydra heads are trained: cross-entropy of head k against the target's own distribution there, given the true path
(2402.05109)."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from engine.heads.block import Spec, rope
from engine.heads.files import configured
from engine.heads.hydra import HydraHead, wanted
from engine.training.features import Batch
from engine.training.heads import Params, TrainingContext, rows_of, soft_loss

DECAY = 0.8


class HydraRecipe:
    """prefix-mlp with distillation, as Hydra++."""

    def __init__(self, context: TrainingContext) -> None:
        model = context.model
        self.context, self.frozen = context, Params()
        self.spec = Spec(model.width, 2 * model.width, 4, 1, 64)
        self.config: dict[str, Any] = {
            "model_type": "hydra",
            "hydra_head_arch": "prefix-mlp",
            "hydra_num_heads": context.heads,
            "hydra_num_layers": 1,
            "grounded_heads": True,
            "hidden_size": model.width,
            "vocab_size": model.vocab,
            **configured(self.spec),
        }
        self.cos, self.sin = rope(self.spec, model.context, context.matrix())

    def start(self) -> Params:
        """The prefix passes through, each head starts from the target's output matrix."""
        model = self.context.model
        params = self.context.blank(wanted(self.spec, self.context.heads, 1, model.vocab))
        D = model.width
        for i in range(self.context.heads):
            params[f"hydra_lm_head.{i}.1.weight"] = self.context.matrix()
            params[f"hydra_mlp.{i}.1.res_connection.weight"][:, :D] += torch.eye(D, device=self.context.device)
        return params

    def loss(self, params: Params, batch: Batch) -> tuple[Tensor, dict[str, float]]:
        """Weighted sum over heads."""
        head = HydraHead(self.spec, self.context.heads, 1, params, self.context.model.decoder)
        rows = rows_of(batch)
        pos = torch.arange(batch.ids.shape[1], device=batch.ids.device)
        q, k, v = head.block.project(head.normed(batch.last, "layers.0.input_layernorm"), self.cos[pos], self.sin[pos])
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        inputs = rows.take(head.normed(head.block.close(batch.last, a), "norm"), 0)
        total, numbers = inputs.new_zeros(()), dict[str, float]()
        wanted_logits = self.context.head(rows.take(batch.last, 1))
        for i in range(self.context.heads):
            inputs = torch.cat((inputs, self.context.embed(rows.take(batch.ids, 1 + i))), -1)
            loss, same = soft_loss(head.logits(inputs, i), F.pad(wanted_logits[:, i:], (0, 0, 0, i)), rows.valid(i))
            total = total + DECAY**i * loss
            numbers[f"match_{i}"] = same
        return total, numbers
