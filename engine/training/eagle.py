"""How EAGLE heads are trained: EAGLE-3 by training-time test (2503.01840, 3.2), EAGLE-2 by regression on features
(2401.15077).

Dimension key as in `heads`; C channels, H heads.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from engine.heads.block import Spec, rope
from engine.heads.eagle import EagleHead, EagleSpec, wanted
from engine.heads.eagle_load import three
from engine.training.features import Batch
from engine.training.heads import Params, TrainingContext, rows_of, soft_loss

STEPS, DECAY = 7, 0.8  # unrolled steps and the weight of each next one (reference code)
DRAFT_VOCAB = 448
REGRESSION, TOKENS, NOISE = 1.0, 0.1, 0.1  # EAGLE-1's weights of its two losses, and its feature noise


def _block(model_width: int) -> Spec:
    return Spec(model_width, 2 * model_width, 4, 1, 64)


def _config(spec: EagleSpec, context: int) -> dict[str, Any]:
    b = spec.block
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": b.width,
        "intermediate_size": b.mlp,
        "num_attention_heads": b.heads,
        "num_key_value_heads": b.kv_heads,
        "head_dim": b.channels,
        "num_hidden_layers": 1,
        "hidden_act": "silu",
        "rms_norm_eps": b.eps,
        "max_position_embeddings": context,
        "vocab_size": spec.vocab,
        "tie_word_embeddings": False,
        "rope_theta": b.theta,
    }


class Eagle3Recipe:
    """Seven unrolled steps: step j reads the head's own hidden rows of step j - 1 and the true token j places on."""

    def __init__(self, context: TrainingContext) -> None:
        """Sizes by the target's.

        Raises:
            ModelMismatch: it has not enough layers.
        """
        self.context, model = context, context.model
        three(model, "EAGLE-3")
        counts = context.features.counts(model.vocab)
        size = min(DRAFT_VOCAB, model.vocab)
        ids = counts.argsort(descending=True, stable=True)[:size].sort().values
        self.ids = ids.to(context.device)
        self.covered = float(counts[ids].sum() / counts.sum())
        self.spec = EagleSpec("eagle3", _block(model.width), model.width, model.vocab, size)
        self.matrix = context.matrix()[self.ids]
        self.frozen: Params = {}
        if size < model.vocab:
            marked = torch.zeros(model.vocab, dtype=torch.bool).index_fill_(0, ids, True)
            self.frozen = {"d2t": ids - torch.arange(size), "t2d": marked}
        self.config = _config(self.spec, model.context) | {"draft_vocab_size": size}
        self.cos, self.sin = rope(self.spec.block, model.context + STEPS, self.matrix)

    def start(self) -> Params:
        """Matrices small, the last tap passed through, the output head as the target's."""
        D = self.spec.block.width
        names = {n: s for n, s in wanted(self.spec).items() if n not in ("d2t", "t2d")}
        params = self.context.blank(names)
        params["fc.weight"][:, 2 * D :] += torch.eye(D, device=self.context.device)
        params["lm_head.weight"] = self.matrix.clone()
        return params

    def loss(self, params: Params, batch: Batch) -> tuple[Tensor, dict[str, float]]:
        """Sum over steps of 0.8^j times the cross-entropy against the target's distribution on the draft vocabulary."""
        head = EagleHead(self.spec, params, self.context.model.decoder)
        rows, hidden_all = rows_of(batch), head.feature(batch.taps)
        full = F.linear(
            rows.take(batch.last, 1), self.context.matrix()
        )  # judged rows, step 0; later steps read on in it
        inside, target = _inside(full, self.ids), full[..., self.ids]
        T = batch.ids.shape[1]
        shifted = F.pad(batch.ids[:, 1:], (0, 1))
        _, x_all = head.mix(head.embed(shifted), hidden_all)
        pos = torch.arange(T, device=batch.ids.device)
        _, k0, v0 = head.block.project(x_all, self.cos[pos], self.sin[pos])
        sees = pos <= rows.at.unsqueeze(-1)  # [B, R, T]
        hidden, diagonal = rows.take(hidden_all, 0), list[tuple[Tensor, Tensor]]()
        total, numbers = hidden.new_zeros(()), dict[str, float]()
        for j in range(STEPS):
            residual, x = head.mix(head.embed(rows.take(batch.ids, 1 + j)), hidden)
            here = (rows.at + j).clamp(max=len(self.cos) - 1)
            q, k, v = head.block.project(x, self.cos[here].unsqueeze(1), self.sin[here].unsqueeze(1))
            if j:
                diagonal.append((k, v))
            hidden = head.block.close(residual, attend(q, k0, v0, sees, diagonal))
            valid = rows.valid(j) & F.pad(inside[:, j:], (0, j))
            loss, same = soft_loss(head.unrolled_logits(hidden), F.pad(target[:, j:], (0, 0, 0, j)), valid)
            total = total + DECAY**j * loss
            numbers |= {f"match_{j}": same} | ({} if j else {"loss_0": float(loss.detach())})
        return total, numbers | {"covered": self.covered}


def _inside(full: Tensor, ids: Tensor) -> Tensor:
    """Whether the target's first choice lies in the draft vocabulary [B, R]."""
    marked = torch.zeros(full.shape[-1], dtype=torch.bool, device=full.device).index_fill_(0, ids, True)
    return marked[full.argmax(-1)]


def attend(q: Tensor, k0: Tensor, v0: Tensor, sees: Tensor, diagonal: list[tuple[Tensor, Tensor]]) -> Tensor:
    """Attention of R rows over T committed keys they may see, and over one own key of each earlier unrolled step [B, H,
    R, C]."""
    scale = q.shape[-1] ** -0.5
    groups = q.shape[1] // k0.shape[1]
    k0, v0 = k0.repeat_interleave(groups, 1), v0.repeat_interleave(groups, 1)
    scores = (q @ k0.mT * scale).masked_fill(~sees.unsqueeze(1), -torch.inf)
    own = [(q * k.repeat_interleave(groups, 1)).sum(-1, keepdim=True) * scale for k, _ in diagonal]
    weights = torch.cat([scores, *own], -1).softmax(-1)
    T = k0.shape[2]
    out = weights[..., :T] @ v0
    for m, (_, v) in enumerate(diagonal):
        out = out + weights[..., T + m : T + m + 1] * v.repeat_interleave(groups, 1)
    return out


class Eagle2Recipe:
    """One step: from (token, feature) to the next feature; smooth L1 on it plus a tenth of the cross-entropy of its
    logits."""

    def __init__(self, context: TrainingContext) -> None:
        self.context, model = context, context.model
        self.spec = EagleSpec("eagle2", _block(model.width), model.width, model.vocab, model.vocab)
        self.frozen: Params = {"embed_tokens.weight": context.embed(torch.arange(model.vocab, device=context.device))}
        self.config = _config(self.spec, model.context) | {"bias": True}
        self.cos, self.sin = rope(self.spec.block, model.context, context.matrix())

    def start(self) -> Params:
        """Matrices small, the feature passed through."""
        D = self.spec.block.width
        params = self.context.blank({n: s for n, s in wanted(self.spec).items() if n not in self.frozen})
        params["fc.weight"][:, D:] += torch.eye(D, device=self.context.device)
        return params

    def loss(self, params: Params, batch: Batch) -> tuple[Tensor, dict[str, float]]:
        """EAGLE-1's two losses, with uniform noise on the features that go in."""
        head = EagleHead(self.spec, {**self.frozen, **params}, self.context.model.decoder)
        rows = rows_of(batch)
        noisy = batch.last + (torch.rand_like(batch.last) - 0.5) * 2 * NOISE
        pos = torch.arange(batch.ids.shape[1], device=batch.ids.device)
        residual, x = head.mix(head.embed(F.pad(batch.ids[:, 1:], (0, 1))), noisy)
        q, k, v = head.block.project(x, self.cos[pos], self.sin[pos])
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        out = rows.take(head.block.close(residual, a), 0)
        goal, valid = rows.take(batch.last, 1), rows.valid(0)
        n = valid.sum().clamp(min=1)
        distance = (F.smooth_l1_loss(out, goal, reduction="none").mean(-1) * valid).sum() / n
        loss, same = soft_loss(self.context.head(out), self.context.head(goal), valid)
        numbers = {"match_0": same, "distance": float(distance.detach()), "tokens": float(loss.detach())}
        return REGRESSION * distance + TOKENS * loss, numbers
