"""How a DFlash drafter is trained: blocks that begin anywhere in a text, all their masks filled at once (2602.06036).

The paper takes the target's own texts as what is to be written; here each mask learns the target's whole distribution.

Dimension key as in `heads`; N blocks a text, S rows of a block, H query heads, K key-value heads, C channels a head.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from engine.errors import ModelMismatch
from engine.heads.block import Block, Spec, rope
from engine.heads.dflash import DflashSpec, name, wanted
from engine.heads.eagle_load import three
from engine.heads.files import configured
from engine.model import Model
from engine.training.features import Batch
from engine.training.heads import Params, TrainingContext

LAYERS, SIZE, MLP = 3, 16, 384
BLOCKS = 12  # a text and step
DECAY = 7.0  # rows behind the root after which an error weighs e times less (the paper's for blocks of 16)


def mask_of(model: Model) -> int:
    """The id that stands for a token that is not known: one that is never a block's root, padding or else the end of a
    text.

    Raises:
        ModelMismatch: the target's tokenizer has neither.
    """
    words = model.tokenizer.hf
    found: int | None = next(
        (i for i in (words.pad_token_id, words.eos_token_id) if i is not None and i < model.vocab), None
    )
    if found is None:
        raise ModelMismatch(
            f"A DFlash drafter needs a token for what it does not know yet, and the tokenizer of {model.name} has "
            "neither one for padding nor one for the end of a text."
        )
    return found


class DflashRecipe:
    """Every mask learns the target's distribution at its place, given the true text before it."""

    def __init__(self, context: TrainingContext) -> None:
        """Sizes by the target's.

        Raises:
            ModelMismatch: it has not enough layers, or its tokenizer no token that can be the mask.
        """
        self.context, model = context, context.model
        self.frozen: Params = {}
        block = Spec(model.width, MLP, 4, 1, 64)
        mask, taps = mask_of(model), three(model, "A DFlash drafter as it is trained here")
        self.spec = DflashSpec(block, LAYERS, taps, model.width, SIZE, mask, model.vocab)
        self.config: dict[str, Any] = {
            "architectures": ["DFlashDraftModel"],
            "model_type": "qwen3",
            "hidden_size": model.width,
            "num_hidden_layers": LAYERS,
            "num_target_layers": model.layers,
            "vocab_size": model.vocab,
            **configured(block),
            "max_position_embeddings": model.context,
            "attention_bias": False,
            "hidden_act": "silu",
            "block_size": SIZE,
            "dflash_config": {"mask_token_id": mask, "target_layer_ids": [tap - 1 for tap in self.spec.taps]},
        }
        self.cos, self.sin = rope(block, model.context + SIZE, context.matrix())

    def start(self) -> Params:
        """Matrices small, the mean of the taps passed through."""
        params = self.context.blank(wanted(self.spec))
        D, taps = self.spec.block.width, len(self.spec.taps)
        params["fc.weight"] += torch.eye(D, device=self.context.device).repeat(1, taps) / taps
        return params

    def loss(self, params: Params, batch: Batch) -> tuple[Tensor, dict[str, float]]:
        """Cross-entropy against the target's distributions; the k-th mask weighs exp(-(k - 1) / 7)."""
        B, T = batch.ids.shape
        S, device = self.spec.size, batch.ids.device
        low, high = (batch.start - 1).clamp(min=1), batch.size - 2
        spread = torch.rand(B, BLOCKS, device=device) * (high - low + 1).unsqueeze(1)
        root_BN = low.unsqueeze(1) + spread.long()
        where_BM = (root_BN.unsqueeze(-1) + torch.arange(S, device=device)).flatten(1)  # M = N S rows
        filled = torch.full((B, BLOCKS, S), self.spec.mask, device=device)
        filled[..., 0] = batch.ids.gather(1, root_BN)
        states = self._forward(params, self.context.embed(filled.flatten(1)), batch.taps, root_BN, where_BM)
        logits = self.context.head(states.view(B, BLOCKS, S, -1)[:, :, 1:])
        before = where_BM.view(B, BLOCKS, S)[:, :, :-1]
        index = before.clamp(max=T - 1).flatten(1).unsqueeze(-1).expand(-1, -1, batch.last.shape[-1])
        with torch.no_grad():
            goal = self.context.head(batch.last.gather(1, index)).view(B, BLOCKS, S - 1, -1)
        valid = before + 1 < batch.size[:, None, None]
        weights = torch.exp(-torch.arange(S - 1, device=device) / DECAY) * valid
        each = -(goal.softmax(-1) * logits.log_softmax(-1)).sum(-1)
        with torch.no_grad():
            same = (logits.argmax(-1) == goal.argmax(-1)) & valid
            reached = same.cumprod(-1).sum() / (B * BLOCKS)
            numbers = {
                f"match_{k}": float(same[..., k].sum() / valid[..., k].sum().clamp(min=1)) for k in (0, 3, 7, 14)
            }
        return (each * weights).sum() / weights.sum(), numbers | {"accepted": float(reached)}

    def _forward(self, params: Params, x: Tensor, taps: Tensor, root_BN: Tensor, where_BM: Tensor) -> Tensor:
        """Normed states [B, M, D] of the blocks' rows."""
        spec, T = self.spec.block, taps.shape[1]
        eps, D = spec.eps, (spec.width,)
        context = F.rms_norm(F.linear(taps, params["fc.weight"]), D, params["hidden_norm.weight"], eps)
        sees = torch.arange(T, device=x.device) < root_BN.unsqueeze(-1)  # [B, N, T]
        unseen = ~sees.repeat_interleave(self.spec.size, 1).unsqueeze(1)  # [B, 1, M, T]
        here = where_BM.clamp(max=len(self.cos) - 1)
        turns = (self.cos[here].unsqueeze(1), self.sin[here].unsqueeze(1))
        past = (self.cos[:T], self.sin[:T])
        for at in map(name, range(self.spec.layers)):
            h = F.rms_norm(x, D, params[f"{at}.input_layernorm.weight"], eps)
            q = self._heads(params, at, "q", h, turns)
            k, v = self._heads(params, at, "k", h, turns), self._heads(params, at, "v", h, None)
            k0, v0 = self._heads(params, at, "k", context, past), self._heads(params, at, "v", context, None)
            x = Block(params, at, spec).close(x, self._look(q, k, v, k0, v0, unseen))
        return F.rms_norm(x, D, params["norm.weight"], eps)

    def _heads(self, params: Params, at: str, kind: str, x: Tensor, turn: tuple[Tensor, Tensor] | None) -> Tensor:
        """Queries, keys or values [B, heads, rows, C]; with `turn` normed and rotated."""
        flat = F.linear(x, params[f"{at}.self_attn.{kind}_proj.weight"])
        made = flat.view(*flat.shape[:-1], -1, self.spec.block.channels).transpose(1, 2)
        if turn is None:
            return made
        norm, (cos, sin) = params[f"{at}.self_attn.{kind}_norm.weight"], turn
        normed: Tensor = F.rms_norm(made, norm.shape, norm, self.spec.block.eps)
        return normed * cos + normed.roll(norm.shape[0] // 2, -1) * sin

    def _look(self, q: Tensor, k: Tensor, v: Tensor, k0: Tensor, v0: Tensor, unseen: Tensor) -> Tensor:
        """Attention [B, H, M, C] of the rows over the committed tokens that they may see and over their own block."""
        (B, H, M, C), S = q.shape, self.spec.size
        k, v, k0, v0 = (t.repeat_interleave(H // t.shape[1], 1) for t in (k, v, k0, v0))
        q = q * C**-0.5
        past = (q @ k0.mT).masked_fill(unseen, -torch.inf)
        q, k, v = (t.reshape(B, H, M // S, S, C) for t in (q, k, v))
        weights = torch.cat((past, (q @ k.mT).view(B, H, M, S)), -1).softmax(-1)
        own = weights[..., -S:].reshape(B, H, M // S, S, S) @ v
        looked: Tensor = own.view(B, H, M, C) + weights[..., :-S] @ v0
        return looked
