"""How an MTP head is trained for a finished target: unrolled as it drafts, against the target's own distributions.

DeepSeek-V3 (2412.19437) trains its modules with the model, one depth each; a head that is asked again and again must
meet its own states in training, as EAGLE-3's does (2503.01840, 3.2). Dimension key as in `heads`.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from engine.heads.block import Spec, rope
from engine.heads.files import configured
from engine.heads.mtp import LlamaLayer, MtpHead, joints
from engine.training.eagle import attend
from engine.training.features import Batch
from engine.training.heads import Params, TrainingContext, rows_of, soft_loss

STEPS, DECAY = 5, 0.8  # unrolled steps and the weight of each next one


class MtpRecipe:
    """Step j reads the head's own states of step j - 1 and the true token j places on."""

    def __init__(self, context: TrainingContext) -> None:
        self.context, model = context, context.model
        self.frozen: Params = {}
        self.spec = Spec(model.width, 2 * model.width, 4, 1, 64)
        self.at = f"model.layers.{model.layers}"  # as DeepSeek-V3 numbers it: one behind the model's own
        self.config: dict[str, Any] = {
            "model_type": "llama",
            "num_nextn_predict_layers": 1,
            "num_hidden_layers": model.layers,
            "hidden_size": model.width,
            "vocab_size": model.vocab,
            **configured(self.spec),
            "max_position_embeddings": model.context,
        }
        self.cos, self.sin = rope(self.spec, model.context + STEPS, context.matrix())

    def _published(self, name: str) -> str:
        """The name of a weight in the checkpoint."""
        inside = {"norm.weight": "shared_head.norm.weight"}.get(name, name.removeprefix("block."))
        return f"{self.at}.{inside}"

    def start(self) -> Params:
        """The state passes through, and leaves with the spread of the target's."""
        D = self.context.model.width
        params = self.context.blank(joints(D) | LlamaLayer.wanted(self.spec))
        params["eh_proj.weight"][:, D:] += torch.eye(D, device=self.context.device)
        part = self.context.features.rows[0][0]
        params["norm.weight"] *= part["last"].float().square().mean().sqrt().to(self.context.device)
        return {self._published(name): weight for name, weight in params.items()}

    def loss(self, params: Params, batch: Batch) -> tuple[Tensor, dict[str, float]]:
        """Sum over steps of 0.8^j times the cross-entropy against the target's distribution."""
        own = {name: params[self._published(name)] for name in joints(1) | LlamaLayer.wanted(self.spec)}
        layer = LlamaLayer(own, self.spec)
        head = MtpHead(own, layer, self.context.model.decoder, self.spec.eps)
        rows = rows_of(batch)
        goal = self.context.head(rows.take(batch.last, 1))
        shifted = F.pad(batch.ids[:, 1:], (0, 1))
        pos = torch.arange(batch.ids.shape[1], device=batch.ids.device)
        mixed = head.mix(self.context.embed(shifted), batch.last)
        _, k0, v0 = layer.block.project(layer.normed(mixed), self.cos[pos], self.sin[pos])
        sees = pos <= rows.at.unsqueeze(-1)  # [B, R, T]
        state, diagonal = rows.take(batch.last, 0), list[tuple[Tensor, Tensor]]()
        total, numbers = state.new_zeros(()), dict[str, float]()
        for j in range(STEPS):
            x = head.mix(self.context.embed(rows.take(batch.ids, 1 + j)), state)
            here = (rows.at + j).clamp(max=len(self.cos) - 1)
            q, k, v = layer.block.project(layer.normed(x), self.cos[here].unsqueeze(1), self.sin[here].unsqueeze(1))
            if j:
                diagonal.append((k, v))
            state = head.close(layer.block.close(x, attend(q, k0, v0, sees, diagonal)))
            loss, same = soft_loss(self.context.head(state), F.pad(goal[:, j:], (0, 0, 0, j)), rows.valid(j))
            total = total + DECAY**j * loss
            numbers[f"match_{j}"] = same
        return total, numbers
